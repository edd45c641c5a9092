//! A transaction reads its own writes and those of its group on top of the stored rows.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::Options;
use crate::engine::{Bytes, Direction, Engine};
use crate::keys::{Key, KeyRange, Table};
use crate::read::Read;
use crate::txn::{Overlay, Txn};

type Model = BTreeMap<u8, u8>;

#[derive(Debug, Clone)]
struct Step {
    writes: Vec<(u8, Option<u8>)>,
    is_kept: bool,
}

fn writes(count: usize) -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
    proptest::collection::vec((0..12u8, proptest::option::weighted(0.6, any::<u8>())), 0..count)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (writes(8), any::<bool>()).prop_map(|(writes, is_kept)| Step { writes, is_kept });
    proptest::collection::vec(step, 1..5)
}

fn key(byte: u8) -> Key {
    Key { table: Table::State, bytes: [byte].into() }
}

fn apply(model: &mut Model, writes: &[(u8, Option<u8>)]) {
    for (key, value) in writes {
        match value {
            Some(value) => model.insert(*key, *value),
            None => model.remove(key),
        };
    }
}

fn write(txn: &mut Txn<'_>, writes: &[(u8, Option<u8>)]) {
    for (byte, value) in writes {
        match value {
            Some(value) => txn.put(key(*byte), [*value].into()),
            None => txn.remove(key(*byte)),
        }
    }
}

fn check(txn: &Txn<'_>, model: &Model) -> Result<(), TestCaseError> {
    for byte in 0..12 {
        prop_assert_eq!(txn.bytes(&key(byte)).unwrap().map(|bytes| bytes[0]), model.get(&byte).copied());
    }
    for (start, end) in [(0, 12), (3, 9), (5, 5), (9, 3)] {
        let range = KeyRange { table: Table::State, start: [start].into(), end: [end].into() };
        for limit in [0, 1, 2, 5, usize::MAX] {
            let rows = |direction| -> Vec<(u8, u8)> {
                let rows: Vec<(Bytes, Bytes)> = txn.page(&range, direction, limit).unwrap();
                rows.iter().map(|(key, value)| (key[0], value[0])).collect()
            };
            let inside = || {
                model.iter().filter(|(key, _)| (start..end).contains(*key)).map(|(key, value)| (*key, *value))
            };
            prop_assert_eq!(rows(Direction::Forward), inside().take(limit).collect::<Vec<_>>());
            prop_assert_eq!(rows(Direction::Backward), inside().rev().take(limit).collect::<Vec<_>>());
        }
    }
    Ok(())
}

#[test]
fn a_transaction_reads_earlier_writes_and_rolls_back_when_refused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(&folder.path().join("engine"), &Options::default()).unwrap();
    let stored = RefCell::new(Model::new());
    proptest!(ProptestConfig::with_cases(64), |(base in writes(12), steps in steps())| {
        engine.commit(base.iter().map(|(byte, value)| (key(*byte), value.map(|value| [value].into())))).unwrap();
        apply(&mut stored.borrow_mut(), &base);
        let view = engine.view();
        let (mut overlay, mut model) = (Overlay::new(0), stored.borrow().clone());
        for step in steps {
            let bytes_before = overlay.bytes();
            let mut txn = Txn::new(&view, &mut overlay);
            check(&txn, &model)?;
            write(&mut txn, &step.writes);
            let mut after = model.clone();
            apply(&mut after, &step.writes);
            check(&txn, &after)?;
            if step.is_kept {
                txn.keep();
                model = after;
            } else {
                drop(txn);
                prop_assert_eq!(overlay.bytes(), bytes_before);
            }
        }
        check(&Txn::new(&view, &mut overlay), &model)?;
        // The same reads from the engine, after the group is committed.
        engine.commit(overlay.into_rows()).unwrap();
        check(&Txn::new(&engine.view(), &mut Overlay::new(0)), &model)?;
        stored.replace(model);
    });
}
