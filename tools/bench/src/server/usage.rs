//! Resource usage of processes, from `/proc`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use rustix::param::{clock_ticks_per_second, page_size};

/// Totals since the start of the process, except for the memory, which is the current value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// In user and system mode, of all threads.
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_bytes: u64,
}

/// The usage of server and generator at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// `None` for a server on another machine.
    pub(crate) server: Option<Usage>,
    pub(crate) generator: Usage,
    /// The number of fsyncs of the server, if it reports it.
    pub(crate) fsyncs: Option<u64>,
    pub(crate) disks: Disks,
}

/// The activity of all disks since boot, of all processes. The kernel's counters per process are too coarse: they count
/// touched pages, and a page can be large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Disks {
    pub(crate) written_bytes: u64,
    /// Flush requests. One can serve several fsyncs.
    pub(crate) flushes: u64,
}

impl Usage {
    /// `None` if there is no such process.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let read = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let ticks = cpu_ticks(&read("stat")?)?;
        Some(Self {
            cpu_seconds: ticks as f64 / clock_ticks_per_second() as f64,
            resident_bytes: resident_pages(&read("statm")?)? * page_size() as u64,
        })
    }

    pub(crate) fn of_this_program() -> Self {
        Self::of(std::process::id()).unwrap_or_default()
    }
}

impl Disks {
    pub(crate) fn now() -> Self {
        let stats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        // Skips partitions and combined devices.
        Self::of(&stats, |name| Path::new("/sys/block").join(name).join("device").exists())
    }

    fn of(stats: &str, is_disk: impl Fn(&str) -> bool) -> Self {
        const NAME: usize = 2;
        const SECTORS_WRITTEN: usize = 9;
        const FLUSHES: usize = 18;
        const SECTOR_BYTES: u64 = 512;
        let mut all = Self::default();
        for line in stats.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let number = |place: usize| fields.get(place).and_then(|field| field.parse().ok()).unwrap_or(0);
            if fields.get(NAME).is_some_and(|name| is_disk(name)) {
                all.written_bytes += number(SECTORS_WRITTEN) * SECTOR_BYTES;
                all.flushes += number(FLUSHES);
            }
        }
        all
    }
}

/// The size of a folder on disk. Files that are removed meanwhile do not count.
pub(crate) fn disk_bytes(folder: &Path) -> anyhow::Result<u64> {
    const BLOCK_BYTES: u64 = 512;
    let wrong = || format!("{} cannot be read", folder.display());
    let mut bytes = 0;
    for entry in fs::read_dir(folder).with_context(wrong)? {
        let entry = entry.with_context(wrong)?;
        bytes += match entry.metadata() {
            Ok(file) if file.is_dir() => disk_bytes(&entry.path())?,
            Ok(file) => file.blocks() * BLOCK_BYTES,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(wrong),
        };
    }
    Ok(bytes)
}

fn cpu_ticks(stat: &str) -> Option<u64> {
    // The program name in parentheses may contain anything; only numbers follow it.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut times = numbers.split_whitespace().skip(11).map_while(|number| number.parse::<u64>().ok());
    Some(times.next()? + times.next()?)
}

fn resident_pages(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_any_name_is_parsed() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4 1 2 3 4 250 50 9 9 20 0 3 0 1 2 3";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(resident_pages("100 42 3 4"), Some(42));
        assert!(Usage::of_this_program().resident_bytes > 100_000);
        assert_eq!(Usage::of(u32::MAX), None);
    }

    #[test]
    fn disks_are_counted_without_partitions() {
        let stats = "254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 42 803\n\
            254 1 vda1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 0\n\
            254 16 vdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 8 9\n\
            7 0 loop0 1 2";
        let found = Disks::of(stats, |name| ["vda", "vdb", "loop0"].contains(&name));
        assert_eq!(found, Disks { written_bytes: 14 * 512, flushes: 50 });
    }

    #[test]
    fn the_size_of_a_folder_is_that_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), [7; 100_000]).unwrap();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }
}
