//! What is to happen at a time: messages that disappear, and those that are to be sent.
//!
//! ```text
//! due        (kind, slot, shard)   at, owner, item    what is due, in order
//! due_slots  (kind)                slot, shard        which of these partitions there is something in
//! ```
//!
//! A slot is a stretch of time, and cut into shards so that it does not get large. Whoever looks for what is due reads only
//! slots that are in the index, the earliest first: long after a server was down, and however far apart the times are, no
//! empty slot is read. What is done is deleted, and its tombstones are read until the slot is over; a slot that has
//! been over for long and is empty leaves the index, and is never read again.
//!
//! Nothing may be written to a slot that has just left the index. So a row comes before its slot, and a slot that could leave
//! gets another version when something is written to it: it leaves only at the version at which it was found empty. A slot
//! that is not over for long does not leave at all, and is noted once by each process.

#[cfg(test)]
mod cassandra;

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
/// From then on a slot may leave the index, so who writes to it says so each time.
const OVER_MS: i64 = 60 * 60_000;
/// A slot leaves the index when it has been over for so long. Apart from the other by much more than clocks are.
const LEAVES_MS: i64 = 2 * OVER_MS;
/// Slots that this process has put into the index and remembers.
const SLOTS_KNOWN_MAX: usize = 4_096;
/// Slots of the index that are read at once, and partitions of them that are.
const SLOTS_READ: i32 = 256;
const READS_AT_ONCE_MAX: usize = 32;
/// How often a slot is tried to be put into the index while others take it out, or nobody answers.
const INDEX_ATTEMPTS_MAX: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DueKind {
    /// The owner is a conversation, the item a place in its log.
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
        // Ids differ least in their lowest bits.
        let mixed =
            due.owner.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ due.item.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        Self { kind, slot: slot_at(due.at), shard: ((mixed >> 32) % SHARDS) as i8 }
    }

    /// Whether it has been over for so long.
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

    /// Notes something, unless that was done, or undone, with a higher version.
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
        self.cql.write("note what is due", &self.statements.put, values).await?;
        self.enter(place).await
    }

    /// Takes it away, unless it was noted with a higher version.
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
        self.cql.write("forget what was due", &self.statements.remove, values).await
    }

    /// What was due at a time, the longest due first.
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
                    // Its other shards have some that are as long due.
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
            self.cql.rows("look for what is due", &self.statements.slots, values).await?;
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
            self.cql.rows("look for what is due", &self.statements.read, values).await?;
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
                // It left between the two.
                Outcome::NotApplied => {}
                Outcome::Unknown(error) => unknown = Some(error),
            }
        }
        Err(unknown.unwrap_or_else(|| unavailable("note what is due", "its slot leaves all the time")))
    }

    /// Puts the slot into the index. One that may leave it gets another version.
    async fn try_enter(&self, place: Slot, may_leave: bool) -> Outcome {
        let version = Uuid::from_u128(rand::random());
        let values = (place.kind(), place.slot, place.shard, version);
        match self.cql.conditional("note what is due", &self.statements.enter, values).await {
            Outcome::NotApplied if may_leave => {
                let values = (version, place.kind(), place.slot, place.shard);
                self.cql.conditional("note what is due", &self.statements.change, values).await
            }
            Outcome::NotApplied => Outcome::Applied,
            outcome => outcome,
        }
    }

    /// If it does not leave now it does the next time.
    async fn leave(&self, place: Slot, version: Uuid) {
        let values = (place.kind(), place.slot, place.shard, version);
        if let Outcome::Unknown(error) =
            self.cql.conditional("leave out an empty slot", &self.statements.leave, values).await
        {
            tracing::debug!(%error, "an empty slot was not left out");
        }
    }
}
