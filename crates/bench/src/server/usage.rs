//! What processes use, as `/proc` says.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use rustix::param::{clock_ticks_per_second, page_size};

/// All since the process began, but for the memory, which is now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// In user and in system mode, of all its threads.
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_bytes: u64,
    /// What it made the disk write; the kernel may still hold some of it. Nothing where it may not be read.
    pub(crate) written_bytes: u64,
}

/// The server and this program at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// Nothing for a server elsewhere.
    pub(crate) server: Option<Usage>,
    pub(crate) generator: Usage,
    /// Times that the server has made something durable, if it says.
    pub(crate) fsyncs: Option<u64>,
    /// Times that disks were asked to make something durable, by whomever.
    pub(crate) disk_flushes: Option<u64>,
}

impl Usage {
    /// `None` when there is no such process.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let read = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let ticks = cpu_ticks(&read("stat")?)?;
        Some(Self {
            cpu_seconds: ticks as f64 / clock_ticks_per_second() as f64,
            resident_bytes: resident_pages(&read("statm")?)? * page_size() as u64,
            written_bytes: read("io").and_then(|io| written(&io)).unwrap_or(0),
        })
    }

    pub(crate) fn of_this_program() -> Self {
        Self::of(std::process::id()).unwrap_or_default()
    }
}

/// Of all disks, since the machine began. One can stand for several fsyncs at once.
pub(crate) fn disk_flushes() -> Option<u64> {
    flushes(&fs::read_to_string("/proc/diskstats").ok()?)
}

/// What a folder takes on the disk with all that is in it. Files that go away meanwhile do not count.
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

fn flushes(diskstats: &str) -> Option<u64> {
    const FIELD: usize = 18;
    let of_disks =
        diskstats.lines().filter_map(|line| line.split_whitespace().nth(FIELD)?.parse::<u64>().ok());
    of_disks.fold(None, |sum, count| Some(sum.unwrap_or(0) + count))
}

fn cpu_ticks(stat: &str) -> Option<u64> {
    // The name of the program stands in brackets and may contain anything; what follows is numbers.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut times = numbers.split_whitespace().skip(11).map_while(|number| number.parse::<u64>().ok());
    Some(times.next()? + times.next()?)
}

fn resident_pages(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

fn written(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4 1 2 3 4 250 50 9 9 20 0 3 0 1 2 3";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(resident_pages("100 42 3 4"), Some(42));
        let disks = "254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 42 803\n254 1 vdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 8 9";
        assert_eq!((flushes(disks), flushes("254 0 vda 1 2")), (Some(50), None));
        assert_eq!(written("rchar: 1\nwrite_bytes: 4096\n"), Some(4096));
        assert!(Usage::of_this_program().resident_bytes > 100_000);
        assert_eq!(Usage::of(u32::MAX), None);
    }

    #[test]
    fn a_folder_takes_what_its_files_take() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join("inner/file"), [7; 100_000]).unwrap();
        let bytes = disk_bytes(folder.path()).unwrap();
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
    }
}
