//! Tests on Cassandra, each in a year of its own.

use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::WallClock;

use super::*;
use crate::options::Options;
use crate::schema;
use crate::test_keyspace::keyspace;

const YEAR_MS: i64 = 366 * 24 * 60 * 60_000;
const KIND: DueKind = DueKind::Expiry;

struct Stage {
    due: Due,
    /// The beginning of the test's year.
    begin: Timestamp,
    _cassandra: Shared,
}

impl Stage {
    /// A test in this year after 1970, long before any other test.
    async fn in_year(year: i64) -> Self {
        let cassandra = Cassandra::shared().unwrap();
        let keyspace = keyspace(&cassandra).await;
        let options = Options::patient(cassandra.contact_points(), keyspace);
        let cql = Arc::new(Cql::new(schema::prepare(&options).await.unwrap(), &options));
        let due = Due::new(cql, Arc::new(WallClock)).await.unwrap();
        Self { due, begin: Timestamp::from_millis(year * YEAR_MS), _cassandra: cassandra }
    }

    fn item(&self, after_ms: i64, item: u64) -> DueItem {
        DueItem { at: self.begin.plus_millis(after_ms), owner: 7, item }
    }

    async fn due(&self, after_ms: i64, limit: usize) -> Vec<DueItem> {
        let now = self.begin.plus_millis(after_ms);
        let mut due = self.due.due(KIND, now, 1_000).await.unwrap();
        due.retain(|item| item.at >= self.begin);
        due.truncate(limit);
        due
    }

    /// The slots of the test's year that are in the index.
    async fn slots(&self) -> Vec<Indexed> {
        let mut slots =
            self.due.slots(KIND, (i64::MIN, i8::MIN), self.begin.plus_millis(YEAR_MS - 1)).await.unwrap();
        slots.retain(|(slot, _)| slot.slot >= slot_at(self.begin));
        slots
    }
}

#[tokio::test]
async fn due_items_are_returned_in_order_until_they_are_removed() {
    let stage = Stage::in_year(1).await;
    // In several slots and many shards, out of order.
    let items: Vec<DueItem> =
        (0..60).map(|number| stage.item((number * 37 % 60) * 100_000, number.cast_unsigned())).collect();
    for item in &items {
        stage.due.put(KIND, *item, 1).await.unwrap();
    }
    let mut expected = items;
    expected.sort_unstable();
    assert_eq!(stage.due(60 * 100_000, 100).await, expected);
    assert_eq!(stage.due(59 * 100_000 - 1, 100).await, expected[..59]);
    assert_eq!(stage.due(60 * 100_000, 7).await, expected[..7]);
    assert_eq!(stage.due.due(KIND, stage.begin, 0).await.unwrap(), []);
    for item in &expected[..30] {
        stage.due.remove(KIND, *item, 2).await.unwrap();
        stage.due.put(KIND, *item, 1).await.unwrap();
    }
    assert_eq!(stage.due(60 * 100_000, 100).await, expected[30..], "what was done is not due again");
    stage.due.put(KIND, expected[0], 3).await.unwrap();
    assert_eq!(stage.due(60 * 100_000, 1).await, expected[..1], "unless that is newer");
}

#[tokio::test]
async fn a_long_empty_slot_is_not_read_any_more() {
    let stage = Stage::in_year(3).await;
    let (done, left) = (stage.item(0, 1), stage.item(SLOT_MS, 2));
    for item in [done, left] {
        stage.due.put(KIND, item, 1).await.unwrap();
    }
    stage.due.remove(KIND, done, 2).await.unwrap();
    assert_eq!(stage.slots().await.len(), 2);
    assert_eq!(stage.due(SLOT_MS + OVER_MS, 10).await, [left]);
    assert_eq!(stage.slots().await.len(), 2, "not so soon");
    assert_eq!(stage.due(2 * SLOT_MS + LEAVES_MS, 10).await, [left]);
    assert_eq!(stage.slots().await.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [Slot::of(KIND, left)]);
    // The slot comes back.
    let late = DueItem { item: 1, ..stage.item(5, 1) };
    stage.due.put(KIND, late, 1).await.unwrap();
    assert_eq!(stage.due(YEAR_MS - 1, 10).await, [late, left]);
}

#[tokio::test]
async fn an_item_written_while_its_slot_is_removed_is_found() {
    let stage = Stage::in_year(5).await;
    let (first, second) = (stage.item(0, 1), stage.item(1, 1));
    stage.due.put(KIND, first, 1).await.unwrap();
    stage.due.remove(KIND, first, 2).await.unwrap();
    let (slot, version) = stage.slots().await[0];
    assert_eq!(slot, Slot::of(KIND, second), "they share it");
    // A process has found the slot empty, and removes it only now.
    stage.due.put(KIND, second, 1).await.unwrap();
    stage.due.leave(slot, version).await;
    assert_eq!(stage.due(YEAR_MS - 1, 10).await, [second]);
    // The slot is removed before the next item is written.
    stage.due.remove(KIND, second, 2).await.unwrap();
    let (slot, version) = stage.slots().await[0];
    stage.due.leave(slot, version).await;
    stage.due.put(KIND, second, 3).await.unwrap();
    assert_eq!(stage.due(YEAR_MS - 1, 10).await, [second]);
}
