//! A file of the journal.
//!
//! ```text
//! magic 8 │ number 8 │ salt 8 │ needed_from 8 │ follows 8 │ checksum 8 │ record │ record │ …
//! ```
//!
//! A file is filled with zeros before its first use, and reused when its rows are in tables on disk. A sync then writes only
//! the bytes of the record. With a file that grows, each sync would also write the new file size, and wait for other metadata
//! of the file system.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::record::{self, Record};
use crate::engine::sync_folder;

/// Bytes of a segment. One that a single record does not fit in grows to its size.
pub(super) const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;
/// Size of the header.
pub(super) const HEADER_BYTES: u64 = 48;
const MAGIC: &[u8; 8] = b"godwit.1";
pub(super) const EXTENSION: &str = "journal";
/// Bytes per write when a file is filled with zeros.
const ZEROS: usize = 256 * 1024;

/// What a segment says about itself and about the segments before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Segments are numbered in the order of their use.
    pub(super) number: u64,
    /// Seed of every checksum. Differs for each use of a file.
    pub(super) salt: u64,
    /// The number of the first segment that must be replayed.
    pub(super) needed_from: u64,
    /// The `seqno` of the last record before this segment.
    pub(super) follows: u64,
}

impl Header {
    fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(MAGIC);
        let numbers = [self.number, self.salt, self.needed_from, self.follows];
        for (place, number) in bytes[8..40].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = xxh3_64(&bytes[..40]);
        bytes[40..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None` if the file is not in use, or a crash interrupted the write of the header.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(40)?;
        let numbers = header.strip_prefix(MAGIC)?.as_chunks().0;
        let [number, salt, needed_from, follows] = *numbers else { return None };
        let is_whole = *rest.first_chunk()? == xxh3_64(header).to_le_bytes();
        is_whole.then_some(Self {
            number: u64::from_le_bytes(number),
            salt: u64::from_le_bytes(salt),
            needed_from: u64::from_le_bytes(needed_from),
            follows: u64::from_le_bytes(follows),
        })
    }
}

/// A file without regard to its contents.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

impl Slot {
    /// Creates a file of zeros, durably.
    pub(super) fn create(folder: &Path, name: u64) -> io::Result<Self> {
        let path = folder.join(format!("{name}.{EXTENSION}"));
        let created = Self::create_at(&path).and_then(|file| sync_folder(folder).map(|()| file));
        match created {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => {
                // On a full disk it would take the room that is left, and so would the next attempt. It has no rows.
                let _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    fn create_at(path: &Path) -> io::Result<File> {
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        let zeros = vec![0; ZEROS];
        for _ in 0..SEGMENT_BYTES / ZEROS as u64 {
            file.write_all(&zeros)?;
        }
        file.sync_all()?;
        Ok(file)
    }

    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(&path)?;
        Ok(Self { path, file })
    }

    pub(super) fn header(&mut self) -> io::Result<Option<Header>> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
        self.file.rewind()?;
        (&self.file).take(HEADER_BYTES).read_to_end(&mut bytes)?;
        Ok(Header::decode(&bytes))
    }

    /// All records up to the first that is not whole.
    pub(super) fn records(&mut self, header: &Header) -> io::Result<Vec<Record>> {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(HEADER_BYTES))?;
        self.file.read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        let next = || {
            let (record, length) = record::decode(rest, header.salt)?;
            rest = &rest[length..];
            Some(record)
        };
        Ok(std::iter::from_fn(next).collect())
    }

    pub(super) fn remove(self) -> io::Result<()> {
        drop(self.file);
        fs::remove_file(self.path)
    }
}

/// The file that the journal appends to.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) slot: Slot,
    pub(super) header: Header,
    end: u64,
}

impl Segment {
    /// Writes the header, which the first record makes durable.
    pub(super) fn begin(mut slot: Slot, header: Header) -> io::Result<Self> {
        slot.file.rewind()?;
        slot.file.write_all(&header.encode())?;
        Ok(Self { slot, header, end: HEADER_BYTES })
    }

    /// An empty segment takes a record of any size.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.end == HEADER_BYTES || self.end + bytes as u64 <= SEGMENT_BYTES
    }

    pub(super) fn is_half_full(&self) -> bool {
        self.end > SEGMENT_BYTES / 2
    }

    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.slot.file.write_all(record)?;
        self.end += record.len() as u64;
        self.sync()
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.slot.file.sync_data()
    }
}
