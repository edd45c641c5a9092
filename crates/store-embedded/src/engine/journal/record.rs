//! The encoding of one commit.
//!
//! ```text
//! record: checksum 8 │ bytes of all rows 4 │ count of rows 4 │ seqno 8 │ rows
//! row:    table 1 (highest bit: the row is removed) │ bytes of the key 2 │ bytes of the value 4 │ key │ value
//! ```
//!
//! Numbers are little-endian. The checksum covers everything after it, seeded with the salt of the segment, so a record left by
//! an earlier use of the file never passes for a record of this one.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::engine::Bytes;
use crate::engine::key::{Key, Table};

pub(super) const HEADER_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;
const REMOVED: u8 = 0x80;

/// A row to write, or to remove if it has no value.
pub(in crate::engine) type RowWrite = (Key, Option<Bytes>);

/// Rows that were written together.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) struct Record {
    pub(in crate::engine) seqno: u64,
    pub(in crate::engine) rows: Vec<RowWrite>,
}

/// Replaces the contents of the buffer with the encoded record.
pub(super) fn encode(buffer: &mut Vec<u8>, salt: u64, seqno: u64, rows: &[RowWrite]) {
    buffer.clear();
    buffer.resize(HEADER_BYTES, 0);
    for (key, value) in rows {
        let removed = if value.is_none() { REMOVED } else { 0 };
        let value: &[u8] = value.as_deref().unwrap_or_default();
        buffer.push(key.table.number() | removed);
        buffer.extend((key.bytes.len() as u16).to_le_bytes());
        buffer.extend((value.len() as u32).to_le_bytes());
        buffer.extend_from_slice(&key.bytes);
        buffer.extend_from_slice(value);
    }
    let body_bytes = (buffer.len() - HEADER_BYTES) as u32;
    buffer[8..12].copy_from_slice(&body_bytes.to_le_bytes());
    buffer[12..16].copy_from_slice(&(rows.len() as u32).to_le_bytes());
    buffer[16..24].copy_from_slice(&seqno.to_le_bytes());
    let checksum = xxh3_64_with_seed(&buffer[CHECKSUM_BYTES..], salt);
    buffer[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Decodes the record at the beginning of some bytes, and returns its length. `None` where no whole record is: the segment
/// ends there.
pub(super) fn decode(bytes: &[u8], salt: u64) -> Option<(Record, usize)> {
    let mut header = Reader(bytes);
    let checksum = header.u64()?;
    let body_bytes = header.u32()? as usize;
    let count = header.u32()?;
    let seqno = header.u64()?;
    let end = HEADER_BYTES.checked_add(body_bytes)?;
    if xxh3_64_with_seed(bytes.get(CHECKSUM_BYTES..end)?, salt) != checksum {
        return None;
    }
    let mut body = Reader(&bytes[HEADER_BYTES..end]);
    let rows = (0..count).map(|_| body.row()).collect::<Option<_>>()?;
    Some((Record { seqno, rows }, end))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn row(&mut self) -> Option<RowWrite> {
        let [tag] = self.array()?;
        let table = Table::from_number(tag & !REMOVED)?;
        let (key, value) = (u16::from_le_bytes(self.array()?), self.u32()?);
        let key = Key { table, bytes: self.take(usize::from(key))?.into() };
        let value = self.take(value as usize)?;
        Some((key, (tag & REMOVED == 0).then(|| value.into())))
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}
