use std::fs;

use tempfile::TempDir;

use super::*;
use crate::engine::key::Key;

const BYTES_MAX: u64 = 16 * SEGMENT_BYTES;

fn row(number: u64, bytes: usize) -> RowWrite {
    let table = Table::ALL[number as usize % Table::COUNT];
    let key = Key { table, bytes: number.to_be_bytes().into() };
    (key, (number % 5 != 4).then(|| vec![number as u8; bytes].into()))
}

fn record(seqno: u64, bytes: usize) -> Record {
    Record { seqno, rows: (seqno..seqno + 3).map(|number| row(number, bytes)).collect() }
}

/// A journal, with the records that were appended to it.
struct Site {
    folder: TempDir,
    written: Vec<Record>,
    reached: Reached,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), written: Vec::new(), reached: Reached::default() }
    }

    fn try_open(&self) -> Result<(Journal, Vec<Record>), EngineError> {
        let mut found = Vec::new();
        let journal = Journal::open(self.folder.path(), BYTES_MAX, |record| found.push(record))?;
        Ok((journal, found))
    }

    fn open(&self) -> (Journal, Vec<Record>) {
        self.try_open().unwrap()
    }

    fn append(&mut self, journal: &mut Journal, bytes: usize) {
        let record = record(self.written.last().map_or(1, |last| last.seqno + 2), bytes);
        journal.append(record.seqno, &record.rows, self.reached).unwrap();
        for (key, _) in &record.rows {
            self.reached[key.table.place()] = record.seqno;
        }
        self.written.push(record);
    }

    /// The segment files, in the order of their use.
    fn segments(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.path()).unwrap().map(|file| file.unwrap().path());
        let mut numbered: Vec<_> = files
            .filter_map(|path| Some((Slot::open(path.clone()).unwrap().header().unwrap()?.number, path)))
            .collect();
        numbered.sort();
        numbered.into_iter().map(|(_, path)| path).collect()
    }
}

#[test]
fn appended_records_are_replayed() {
    let mut site = Site::new();
    for round in 0..5 {
        let (mut journal, found) = site.open();
        assert_eq!(found, site.written, "round {round}");
        for bytes in [0, 1, 100, 300_000, 5_000_000, 7] {
            site.append(&mut journal, bytes);
        }
    }
}

#[test]
fn a_torn_record_ends_the_journal_and_earlier_ones_stay() {
    let mut site = Site::new();
    let (mut journal, _) = site.open();
    (0..4).for_each(|_| site.append(&mut journal, 20));
    let path = site.segments().pop().unwrap();
    let whole = fs::read(&path).unwrap();
    let salt = journal.current.header.salt;
    let mut ends = vec![segment::HEADER_BYTES as usize];
    while let Some((_, length)) = record::decode(&whole[ends[ends.len() - 1]..], salt) {
        ends.push(ends[ends.len() - 1] + length);
    }
    assert_eq!(ends.len(), 5);
    for place in ends[0]..ends[4] {
        let mut torn = whole.clone();
        torn[place] ^= 0x10;
        fs::write(&path, &torn).unwrap();
        let whole_before = ends.iter().filter(|end| **end <= place).count() - 1;
        let found = Slot::open(path.clone()).unwrap().records(&journal.current.header).unwrap();
        assert_eq!(found, site.written[..whole_before], "byte {place}");
    }
    for length in 0..ends[4] {
        fs::write(&path, &whole[..length]).unwrap();
        let (_, found) = Site { folder: copy(&site), ..Site::new() }.open();
        let whole_before = ends.iter().filter(|end| **end <= length).count().saturating_sub(1);
        assert_eq!(found, site.written[..whole_before], "{length} bytes");
    }
}

fn copy(site: &Site) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for path in fs::read_dir(site.folder.path()).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// Simulates a crash after each append by reading a copy. Records that are not in tables must be found, the copy must contain
/// nothing else, and the number of files must stay bounded.
#[test]
fn segments_are_reused_when_their_rows_are_in_tables() {
    let mut site = Site::new();
    let (mut journal, _) = site.open();
    let shelf = journal.shelf();
    let mut persisted = Reached::default();
    for number in 0..60 {
        site.append(&mut journal, 500_000);
        if number % 7 == 6 {
            persisted = site.reached;
            shelf.release(persisted).unwrap();
        }
        let copied = Site { folder: copy(&site), ..Site::new() };
        let (_, found) = copied.open();
        let first = found.first().map_or(u64::MAX, |record| record.seqno);
        let expected: Vec<&Record> = site.written.iter().filter(|record| record.seqno >= first).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "after {number}");
        let oldest = site.written.iter().find(|record| record.seqno > *persisted.iter().min().unwrap());
        assert!(oldest.is_none_or(|oldest| first <= oldest.seqno), "after {number}: {first}");
    }
    assert!(shelf.files() < 10, "{}", shelf.files());
}

#[test]
fn a_missing_or_truncated_segment_is_detected() {
    let mut site = Site::new();
    let (mut journal, _) = site.open();
    (0..12).for_each(|_| site.append(&mut journal, 500_000));
    let segments = site.segments();
    assert!(segments.len() >= 3);
    for (place, path) in segments[..segments.len() - 1].iter().enumerate() {
        let name = path.file_name().unwrap();
        let missing = Site { folder: copy(&site), ..Site::new() };
        fs::remove_file(missing.folder.path().join(name)).unwrap();
        assert!(matches!(missing.try_open(), Err(EngineError::Missing { .. })), "segment {place}");
        let cut = Site { folder: copy(&site), ..Site::new() };
        let bytes = fs::read(path).unwrap();
        fs::write(cut.folder.path().join(name), &bytes[..1_000_000]).unwrap();
        assert!(matches!(cut.try_open(), Err(EngineError::Damaged { .. })), "segment {place}");
    }
}

#[test]
fn after_a_clean_stop_nothing_is_replayed() {
    let mut site = Site::new();
    for _ in 0..4 {
        let (mut journal, found) = site.open();
        assert_eq!(found, []);
        for _ in 0..12 {
            site.append(&mut journal, 500_000);
        }
        journal.close(site.reached).unwrap();
    }
    assert!(site.segments().len() < 12);
}

#[test]
fn a_journal_that_became_too_large_shrinks() {
    let mut site = Site::new();
    let (mut journal, _) = site.open();
    let shelf = journal.shelf();
    assert_eq!(shelf.overdue(), None);
    while shelf.overdue().is_none() {
        site.append(&mut journal, 1_000_000);
    }
    let large = shelf.files();
    shelf.release(site.reached).unwrap();
    assert_eq!(shelf.overdue(), None);
    assert_eq!(shelf.files(), large, "the newest header still names them");
    assert_eq!(site.open().1.last(), site.written.last());
    while shelf.files() == large {
        site.append(&mut journal, 1_000_000);
        shelf.release(site.reached).unwrap();
    }
    assert_eq!(site.open().1.last(), site.written.last());
}

#[cfg(target_os = "linux")]
#[test]
fn a_segment_that_finds_no_room_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("7.{EXTENSION}"));
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let error = Slot::create(folder.path(), 7).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    assert!(path.symlink_metadata().is_err());
    Slot::create(folder.path(), 7).unwrap();
}
