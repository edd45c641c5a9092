//! Compares the engine with a model, with options so small that it flushes and merges all the time.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// Memtables and the journal are full after a few commits.
const SMALL: Options = Options {
    cache_bytes: 1024 * 1024,
    memtable_bytes_max: 256 * 1024,
    journal_bytes_max: 8 * 1024 * 1024,
    free_disk_bytes_min: 0,
    queue_requests_max: 1,
    group_requests_max: 1,
    group_bytes_max: 1,
};
const KEYS: u64 = 600;

type Model = BTreeMap<(Table, u64), Vec<u8>>;

fn key(table: Table, number: u64) -> Key {
    Key { table, bytes: number.to_be_bytes().into() }
}

/// The rows of commit `number`, the same in every process. Every row contains the number of its commit.
fn batch(number: u64) -> Vec<(Table, u64, Option<Vec<u8>>)> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        // xorshift
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut rows = BTreeMap::new();
    for _ in 0..1 + next() % 20 {
        let table = Table::ALL[next() as usize % Table::COUNT];
        // The rows of this table are so small that only a full journal makes the engine flush it.
        let repeated = if table == Table::State { 1 } else { 1 + next() as usize % 1_000 };
        let value = (next() % 4 > 0).then(|| number.to_be_bytes().repeat(repeated));
        rows.insert((table, next() % KEYS), value);
    }
    rows.into_iter().map(|((table, number), value)| (table, number, value)).collect()
}

fn commit(engine: &Engine, number: u64) {
    let rows =
        batch(number).into_iter().map(|(table, number, value)| (key(table, number), value.map(Into::into)));
    engine.commit(rows).unwrap();
}

fn apply(model: &mut Model, number: u64) {
    for (table, number, value) in batch(number) {
        match value {
            Some(value) => model.insert((table, number), value),
            None => model.remove(&(table, number)),
        };
    }
}

fn read(view: &View) -> Model {
    let mut found = Model::new();
    for table in Table::ALL {
        let all = KeyRange { table, start: [].into(), end: [0xff; 9].into() };
        for (key, value) in view.page(&all, Direction::Forward, usize::MAX).unwrap() {
            assert_eq!(view.get(&Key { table, bytes: key.clone() }).unwrap(), Some(value.clone()));
            found.insert((table, u64::from_be_bytes((&*key).try_into().unwrap())), value.to_vec());
        }
    }
    found
}

#[test]
fn commits_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let (mut model, mut number) = (Model::new(), 0);
    for round in 0..8 {
        let engine = Engine::open(folder.path(), &SMALL).unwrap();
        assert_eq!(read(&engine.view()), model, "round {round}");
        for _ in 0..400 {
            number += 1;
            commit(&engine, number);
            apply(&mut model, number);
        }
        let view = engine.view();
        let before = model.clone();
        for _ in 0..100 {
            number += 1;
            commit(&engine, number);
            apply(&mut model, number);
        }
        assert_eq!(read(&view), before, "a view stays what it was");
        drop(view);
        assert_eq!(read(&engine.view()), model);
        if round % 3 == 0 {
            engine.flush().unwrap();
        }
    }
    assert!(Engine::open(folder.path(), &SMALL).unwrap().table_bytes() > 0, "tables were written");
}

/// A scan reads every table, so few are better.
#[test]
fn a_small_tree_is_merged_into_one_table() {
    const LOOKS_MAX: usize = 15_000;
    let place = Table::State.place();
    let folder = tempfile::tempdir().unwrap();
    for round in 0..3_u64 {
        let engine = Engine::open(folder.path(), &SMALL).unwrap();
        // All rounds write the same keys, so that the key ranges of the tables overlap.
        let rows = (0..100).map(|number| (key(Table::State, number), Some(round.to_be_bytes().into())));
        engine.commit(rows).unwrap();
        engine.flush().unwrap();
        let is_merged = || engine.maintenance.trees.backlog(place) == (0, 0);
        for _ in 0..LOOKS_MAX {
            if is_merged() {
                break;
            }
            engine.maintenance.check().unwrap();
            thread::sleep(WAIT_STEP);
        }
        assert!(is_merged(), "round {round}: {:?}", engine.maintenance.trees.backlog(place));
        assert_eq!(read(&engine.view()).len(), 100);
    }
}

/// Enough rows that the filter and the index of a merged table have many partitions.
#[test]
fn rows_of_large_tables_are_found_and_the_tables_need_little_memory() {
    const ROWS: u64 = 60_000;
    const FILTER_BYTES_MIN: usize = 16 * 1024;
    const KEPT_BYTES_MAX: usize = 4 * 1024;
    let place = Table::Index.place();
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), &SMALL).unwrap();
    // Every second number, unsorted.
    let numbers: Vec<u64> = (0..ROWS).map(|number| number * 7_919 % ROWS * 2).collect();
    for some in numbers.chunks(500) {
        let row = |number: &u64| (key(Table::Index, *number), Some(number.to_be_bytes().repeat(8).into()));
        engine.commit(some.iter().map(row)).unwrap();
    }
    engine.flush().unwrap();
    while engine.maintenance.trees.merged(place).is_empty() {
        engine.maintenance.check().unwrap();
        thread::sleep(WAIT_STEP);
    }
    check_every_second_row(&engine, ROWS);
    drop(engine);

    let engine = Engine::open(folder.path(), &SMALL).unwrap();
    let merged = engine.maintenance.trees.merged(place);
    assert!(merged.iter().any(|(filter, _)| *filter > FILTER_BYTES_MIN), "{merged:?}");
    assert!(merged.iter().all(|(_, kept)| *kept < KEPT_BYTES_MAX), "{merged:?}");
    check_every_second_row(&engine, ROWS);
}

fn check_every_second_row(engine: &Engine, rows: u64) {
    let view = engine.view();
    for number in 0..rows * 2 {
        let found = view.get(&key(Table::Index, number)).unwrap();
        assert_eq!(found.is_some(), number % 2 == 0, "{number}");
    }
    for number in (0..rows * 2).step_by(997) {
        let bound = |number: u64| number.to_be_bytes().into();
        let after = KeyRange { table: Table::Index, start: bound(number), end: bound(u64::MAX) };
        let before = KeyRange { table: Table::Index, start: bound(0), end: bound(number) };
        let numbers = |range: &KeyRange, direction| {
            let page = view.page(range, direction, 3).unwrap();
            page.iter().map(|(key, _)| u64::from_be_bytes((&**key).try_into().unwrap())).collect::<Vec<_>>()
        };
        let next: Vec<u64> = (number..rows * 2).filter(|number| number % 2 == 0).take(3).collect();
        let last: Vec<u64> = (0..number).rev().filter(|number| number % 2 == 0).take(3).collect();
        assert_eq!(
            (numbers(&after, Direction::Forward), numbers(&before, Direction::Backward)),
            (next, last)
        );
    }
}

/// The file that a tree writes last is `/dev/full`, as on a disk that is full.
#[cfg(target_os = "linux")]
struct FullDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl FullDisk {
    /// From the version after so many others.
    fn of(engine: &Engine, table: Table, after: u64) -> Self {
        let file = engine.version_file(table, after);
        std::os::unix::fs::symlink("/dev/full", &file).unwrap();
        Self(file)
    }

    fn make_room(self) {
        std::fs::remove_file(self.0).unwrap();
    }
}

#[cfg(target_os = "linux")]
fn until(engine: &Engine, what: &str, is_true: impl Fn() -> bool) {
    const LOOKS_MAX: usize = 15_000;
    for _ in 0..LOOKS_MAX {
        engine.maintenance.check().unwrap();
        if is_true() {
            return;
        }
        thread::sleep(WAIT_STEP);
    }
    panic!("waited too long until {what}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_flush_without_room_is_repeated_and_leaves_nothing_behind() {
    const COMMITS_MAX: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), &SMALL).unwrap();
    let disk = FullDisk::of(&engine, Table::Index, 0);
    let (mut model, mut number) = (Model::new(), 0);
    let mut commit_one = |model: &mut Model| {
        number += 1;
        commit(&engine, number);
        apply(model, number);
        assert!(number < COMMITS_MAX, "the full disk is not noticed");
    };
    while !engine.is_stuck() {
        commit_one(&mut model);
    }
    // Some commits may be on their way. They do not wait, although there are as many memtables as there may be.
    for _ in 0..1_000 {
        commit_one(&mut model);
    }
    assert_eq!(read(&engine.view()), model);
    assert!(matches!(engine.flush(), Err(EngineError::NoRoom(_))));
    disk.make_room();
    until(&engine, "tables are written", || !engine.is_stuck());
    commit_one(&mut model);
    engine.flush().unwrap();
    assert_eq!(read(&engine.view()), model);
    let (files, tables) = engine.maintenance.trees.files_and_tables(Table::Index.place());
    assert_eq!(files, tables, "no attempt left a file");
    drop(engine);
    assert_eq!(read(&Engine::open(folder.path(), &SMALL).unwrap().view()), model);
}

#[cfg(target_os = "linux")]
#[test]
fn a_merge_without_room_is_repeated_and_leaves_nothing_behind() {
    let (table, place) = (Table::State, Table::State.place());
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), &SMALL).unwrap();
    // The same keys, so that there is something to merge.
    let write = |round: u64| {
        let rows = (0..100).map(|number| (key(table, number), Some(round.to_be_bytes().into())));
        engine.commit(rows).unwrap();
        engine.flush().unwrap();
    };
    let is_merged = || engine.maintenance.trees.backlog(place) == (0, 0);
    write(1);
    until(&engine, "the first table is merged", is_merged);
    // There is room for the flush, and none for the merge after it.
    let disk = FullDisk::of(&engine, table, 1);
    write(2);
    until(&engine, "the merge has failed", || engine.maintenance.merge_lacks_room());
    assert!(!engine.is_stuck(), "few merges are due, so commits continue");
    assert_eq!(read(&engine.view()).len(), 100);
    let view = engine.view();
    disk.make_room();
    until(&engine, "it is merged", is_merged);
    until(&engine, "the merge is over", || !engine.maintenance.merge_lacks_room());
    let (files, tables) = engine.maintenance.trees.files_and_tables(place);
    assert_eq!(files, tables, "no attempt left a file");
    assert_eq!(read(&view), read(&engine.view()));
    drop(view);
    write(3);
    drop(engine);
    let model = read(&Engine::open(folder.path(), &SMALL).unwrap().view());
    assert!(model.len() == 100 && model.values().all(|value| **value == 3_u64.to_be_bytes()));
}

/// Each commit writes its number into a row of every table, so a reader must find the same number in all of them.
#[test]
fn readers_never_see_half_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path(), &SMALL).unwrap();
    let is_over = AtomicBool::new(false);
    let padding = [7; 2_000];
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut looks, mut last) = (0_u64, None);
                    while !is_over.load(Ordering::Relaxed) {
                        let view = engine.view();
                        let seen = Table::ALL.map(|table| view.get(&key(table, 0)).unwrap());
                        assert!(seen.iter().all(|value| *value == seen[0]), "half of a commit");
                        let seen =
                            seen[0].as_deref().map(|value| u64::from_be_bytes(*value.first_chunk().unwrap()));
                        assert!(seen >= last, "a view went back");
                        (last, looks) = (seen, looks + 1);
                    }
                    looks
                })
            })
            .collect();
        for number in 0..3_000_u64 {
            let value = [&number.to_be_bytes()[..], &padding].concat();
            engine
                .commit(Table::ALL.map(|table| (key(table, 0), Some(value.clone().into()))).into_iter())
                .unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 100));
    });
}

/// The variables that tell the second process, which runs this test again, the data folder and the next commit.
const FOLDER: &str = "GODWIT_TEST_KILL_FOLDER";
const NEXT: &str = "GODWIT_TEST_KILL_NEXT";
const ROUNDS: u64 = 10;

#[test]
fn a_process_that_is_killed_while_tables_are_written_loses_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let next = std::env::var(NEXT).unwrap().parse().unwrap();
        return commit_until_killed(Path::new(&folder), next);
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut model, mut done) = (Model::new(), 0);
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "--test-threads=1"])
            .arg("engine::tests::a_process_that_is_killed_while_tables_are_written_loses_nothing")
            .env(FOLDER, folder.path())
            .env(NEXT, (done + 1).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut numbers = lines.map_while(Result::ok).filter_map(|line| line.parse::<u64>().ok());
        // Enough commits that tables are flushed and merged, and another number in each round.
        let acknowledged = numbers.by_ref().take(300 + 37 * round as usize).last().expect("it commits");
        child.kill().unwrap();
        let acknowledged = numbers.last().unwrap_or(acknowledged);
        child.wait().unwrap();
        while done < acknowledged {
            done += 1;
            apply(&mut model, done);
        }
        let engine = Engine::open(folder.path(), &SMALL).unwrap();
        let found = read(&engine.view());
        if found != model {
            // One more commit may have become durable before its number was printed.
            done += 1;
            apply(&mut model, done);
            assert_eq!(found, model, "round {round}, after commit {acknowledged}");
        }
    }
}

fn commit_until_killed(folder: &Path, next: u64) {
    let engine = Engine::open(folder, &SMALL).unwrap();
    let mut stdout = std::io::stdout();
    for number in next.. {
        commit(&engine, number);
        writeln!(stdout, "{number}").unwrap();
        stdout.flush().unwrap();
    }
}
