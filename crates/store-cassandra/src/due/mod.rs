//! The index of due items: messages that disappear, and scheduled messages.
//!
//! ```text
//! due        (kind, slot, shard)   at, owner, item    the items, in order
//! due_slots  (kind)                slot, shard        the partitions of `due` that may have items
//! ```
//!
//! A slot is ten minutes of time, divided into shards to keep partitions small. A search for due items reads
//! only the slots in `due_slots`, the earliest first. So it reads no empty slots, even after a long downtime
//! and with items far apart. Items are deleted when they are done, and their tombstones are read until the slot
//! is over. A slot that is empty long after its end is removed from `due_slots`, and never read again.
//!
//! An item must not be written to a slot that has just been removed. So the item is written before the slot,
//! and a slot that may be removed gets a new version with each item: it is removed only if it still has the
//! version at which it was found empty. A slot that is not over for long is never removed, and each process
//! writes it once.

#[cfg(test)]
mod on_cassandra;

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::ports::{Clock, StoreError};
use godwit_protocol::Timestamp;
use quick_cache::sync::Cache;
use scylla::errors::PrepareError;
use scylla::value::CqlTimestamp;
use uuid::Uuid;

use crate::cql::{Conditional, Cql, Outcome, Read, Write, unavailable};
use crate::pause::pause;
use crate::values::{int, row_limit, time};

const SLOT_MS: i64 = 10 * 60_000;
const SHARDS: u64 = 16;
/// A slot may be removed this long after its end. From then on each write gives it a new version.
const OVER_MS: i64 = 60 * 60_000;
/// A slot is removed this long after its end. The difference to `OVER_MS` is much larger than the skew of
/// clocks.
const LEAVES_MS: i64 = 2 * OVER_MS;
/// Slots that this process has written and remembers.
const SLOTS_KNOWN_MAX: usize = 4_096;
/// Slots in one query, and partitions of items read concurrently.
const SLOTS_READ: i32 = 256;
const READS_AT_ONCE_MAX: usize = 32;
/// Attempts to write a slot while other processes remove it, or while Cassandra does not answer.
const INDEX_ATTEMPTS_MAX: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DueKind {
    /// The owner is a conversation, the item a seq in its log.
    Expiry = 0,
    /// The owner is a user, the item a scheduled message.
    Scheduled = 1,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DueItem {
    pub(crate) at: Timestamp,
    pub(crate) owner: u64,
    pub(crate) item: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Slot {
    kind: DueKind,
    slot: i64,
    shard: i8,
}

impl Slot {
    const fn of(kind: DueKind, due: DueItem) -> Self {
        // Ids differ least in their lowest bits, so the bits are mixed.
        let mixed =
            due.owner.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ due.item.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        Self { kind, slot: slot_at(due.at), shard: ((mixed >> 32) % SHARDS) as i8 }
    }

    /// Whether the slot ended at least `ms` milliseconds ago.
    const fn is_over_for(self, ms: i64, now: Timestamp) -> bool {
        (self.slot + 1) * SLOT_MS + ms <= now.as_millis()
    }

    const fn kind(self) -> i8 {
        self.kind as i8
    }
}

const fn slot_at(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(SLOT_MS)
}

#[derive(Debug)]
pub(crate) struct Due {
    cql: Arc<Cql>,
    clock: Arc<dyn Clock>,
    statements: Statements,
    known: Cache<Slot, ()>,
}

#[derive(Debug)]
struct Statements {
    put: Write,
    remove: Write,
    read: Read,
    slots: Read,
    enter: Conditional,
    change: Conditional,
    leave: Conditional,
}

impl Statements {
    async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_slot = "WHERE kind = ? AND slot = ? AND shard = ?";
        Ok(Self {
            put: cql
                .prepare_write(
                    "INSERT INTO due (kind, slot, shard, at, owner, item) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
                )
                .await?,
            remove: cql
                .prepare_write(&format!(
                    "DELETE FROM due USING TIMESTAMP ? {of_slot} AND at = ? AND owner = ? AND item = ?"
                ))
                .await?,
            read: cql
                .prepare_read(&format!("SELECT at, owner, item FROM due {of_slot} AND at <= ? LIMIT ?"))
                .await?,
            slots: cql
                .prepare_read(
                    "SELECT slot, shard, version FROM due_slots \
                     WHERE kind = ? AND (slot, shard) > (?, ?) AND (slot) <= (?) LIMIT ?",
                )
                .await?,
            enter: cql
                .prepare_conditional(
                    "INSERT INTO due_slots (kind, slot, shard, version) VALUES (?, ?, ?, ?) IF NOT EXISTS",
                )
                .await?,
            change: cql
                .prepare_conditional(&format!("UPDATE due_slots SET version = ? {of_slot} IF EXISTS"))
                .await?,
            leave: cql
                .prepare_conditional(&format!("DELETE FROM due_slots {of_slot} IF version = ?"))
                .await?,
        })
    }
}

/// A slot of the index, and its version.
type Indexed = (Slot, Uuid);

impl Due {
    pub(crate) async fn new(cql: Arc<Cql>, clock: Arc<dyn Clock>) -> Result<Self, PrepareError> {
        let statements = Statements::prepare(&cql).await?;
        Ok(Self { cql, clock, statements, known: Cache::new(SLOTS_KNOWN_MAX) })
    }

    /// Writes an item, unless it was written or removed with a higher version.
    pub(crate) async fn put(&self, kind: DueKind, due: DueItem, version: u64) -> Result<(), StoreError> {
        let place = Slot::of(kind, due);
        let values = (
            place.kind(),
            place.slot,
            place.shard,
            time(due.at),
            int(due.owner),
            int(due.item),
            int(version),
        );
        self.cql.write("store a due item", &self.statements.put, values).await?;
        self.enter(place).await
    }

    /// Removes an item, unless it was written with a higher version.
    pub(crate) async fn remove(&self, kind: DueKind, due: DueItem, version: u64) -> Result<(), StoreError> {
        let place = Slot::of(kind, due);
        let values = (
            int(version),
            place.kind(),
            place.slot,
            place.shard,
            time(due.at),
            int(due.owner),
            int(due.item),
        );
        self.cql.write("remove a due item", &self.statements.remove, values).await
    }

    /// The items due at a time, the earliest first.
    pub(crate) async fn due(
        &self,
        kind: DueKind,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<DueItem>, StoreError> {
        let Some(rows) = row_limit(limit) else { return Ok(Vec::new()) };
        let mut due = Vec::new();
        let mut after = (i64::MIN, i8::MIN);
        loop {
            let slots = self.slots(kind, after, now).await?;
            let Some((last, _)) = slots.last() else { break };
            after = (last.slot, last.shard);
            let is_last = slots.len() < SLOTS_READ as usize;
            let read = slots.into_iter().map(|indexed| self.read(indexed, now, rows));
            let mut read = std::pin::pin!(stream::iter(read).buffered(READS_AT_ONCE_MAX));
            let mut enough_at = None;
            while let Some((slot, items)) = read.try_next().await? {
                if enough_at.is_some_and(|enough| slot > enough) {
                    break;
                }
                due.extend(items);
                if due.len() >= limit && enough_at.is_none() {
                    // The other shards of this slot may have items that are due as early.
                    enough_at = Some(slot);
                }
            }
            if is_last || enough_at.is_some_and(|enough| enough < after.0) {
                break;
            }
        }
        due.sort_unstable();
        due.truncate(limit);
        Ok(due)
    }

    async fn slots(
        &self,
        kind: DueKind,
        (slot, shard): (i64, i8),
        now: Timestamp,
    ) -> Result<Vec<Indexed>, StoreError> {
        let values = (kind as i8, slot, shard, slot_at(now), SLOTS_READ);
        let rows: Vec<(i64, i8, Uuid)> =
            self.cql.rows("find due slots", &self.statements.slots, values).await?;
        Ok(rows.into_iter().map(|(slot, shard, version)| (Slot { kind, slot, shard }, version)).collect())
    }

    async fn read(
        &self,
        (place, version): Indexed,
        now: Timestamp,
        limit: i32,
    ) -> Result<(i64, Vec<DueItem>), StoreError> {
        let values = (place.kind(), place.slot, place.shard, time(now), limit);
        let rows: Vec<(CqlTimestamp, i64, i64)> =
            self.cql.rows("find due items", &self.statements.read, values).await?;
        if rows.is_empty() && place.is_over_for(LEAVES_MS, now.min(self.clock.now())) {
            self.leave(place, version).await;
        }
        let item = |(CqlTimestamp(at), owner, item): (CqlTimestamp, i64, i64)| DueItem {
            at: Timestamp::from_millis(at),
            owner: owner.cast_unsigned(),
            item: item.cast_unsigned(),
        };
        Ok((place.slot, rows.into_iter().map(item).collect()))
    }

    async fn enter(&self, place: Slot) -> Result<(), StoreError> {
        let may_leave = place.is_over_for(OVER_MS, self.clock.now());
        if !may_leave && self.known.get(&place).is_some() {
            return Ok(());
        }
        let mut unknown = None;
        for attempt in 0..INDEX_ATTEMPTS_MAX {
            pause(attempt).await;
            match self.try_enter(place, may_leave).await {
                Outcome::Applied => {
                    if !may_leave {
                        self.known.insert(place, ());
                    }
                    return Ok(());
                }
                // The slot was removed between the two statements.
                Outcome::NotApplied => {}
                Outcome::Unknown(error) => unknown = Some(error),
            }
        }
        Err(unknown.unwrap_or_else(|| unavailable("store a due item", "its slot keeps being removed")))
    }

    /// Writes the slot. A slot that may be removed gets a new version.
    async fn try_enter(&self, place: Slot, may_leave: bool) -> Outcome {
        let version = Uuid::from_u128(rand::random());
        let values = (place.kind(), place.slot, place.shard, version);
        match self.cql.conditional("write a due slot", &self.statements.enter, values).await {
            Outcome::NotApplied if may_leave => {
                let values = (version, place.kind(), place.slot, place.shard);
                self.cql.conditional("write a due slot", &self.statements.change, values).await
            }
            Outcome::NotApplied => Outcome::Applied,
            outcome => outcome,
        }
    }

    /// Removes a slot. If that fails, the next search tries again.
    async fn leave(&self, place: Slot, version: Uuid) {
        let values = (place.kind(), place.slot, place.shard, version);
        if let Outcome::Unknown(error) =
            self.cql.conditional("remove an empty slot", &self.statements.leave, values).await
        {
            tracing::debug!(%error, "could not skip an empty slot");
        }
    }
}
