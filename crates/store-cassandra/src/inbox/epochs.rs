//! Epochs: the partitions of the recent conversations that are in use.
//!
//! Partitions are numbered by epochs. A writer uses the newest epoch that it knows. A full epoch is followed by
//! a new one, and the epoch two before the full one is cleared. This is safe without reading the epoch for
//! every message, because a writer may be behind by one epoch and knows the age of its knowledge:
//!
//! - A writer writes to the current epoch or the one before. A reader reads these and the one before them.
//! - If a writer's knowledge is older than [`EpochTerms::valid`] after its write, it reads the epoch again, and
//!   repeats the write if it was too far behind.
//! - An epoch is cleared when two newer ones have begun, and the second of them is older than
//!   [`EpochTerms::age_min`] by the monotonic clock of the clearing node, so that no writer still takes the
//!   epoch for current.

use std::ops::RangeInclusive;
use std::sync::Arc;

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use quick_cache::sync::Cache;
use scylla::errors::PrepareError;
use tokio::time::Instant;

use crate::cql::{Conditional, Cql, Outcome, Read};
use crate::options::EpochTerms;
use crate::values::int;

/// Users whose epochs are cached.
const USERS_CACHED_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Epochs {
    cql: Arc<Cql>,
    terms: EpochTerms,
    known: Cache<UserId, Known>,
    read: Read,
    begin_first: Conditional,
    begin: Conditional,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) epoch: u64,
    /// The time of the read, at which the epoch was current.
    read_at: Instant,
    first_seen_at: Instant,
}

impl Known {
    pub(super) fn read(self) -> RangeInclusive<u64> {
        self.epoch.saturating_sub(2)..=self.epoch
    }

    /// The epoch that nobody writes to any more, if there is one.
    pub(super) fn cleared(self) -> Option<u64> {
        self.epoch.checked_sub(2)
    }

    fn may_be_written(self, epoch: u64) -> bool {
        epoch + 1 >= self.epoch
    }
}

impl Epochs {
    pub(super) async fn new(cql: Arc<Cql>, terms: EpochTerms) -> Result<Self, PrepareError> {
        Ok(Self {
            read: cql.prepare_read("SELECT epoch FROM inbox_epochs WHERE user_id = ?").await?,
            begin_first: cql
                .prepare_conditional("INSERT INTO inbox_epochs (user_id, epoch) VALUES (?, ?) IF NOT EXISTS")
                .await?,
            begin: cql
                .prepare_conditional("UPDATE inbox_epochs SET epoch = ? WHERE user_id = ? IF epoch = ?")
                .await?,
            known: Cache::new(USERS_CACHED_MAX),
            terms,
            cql,
        })
    }

    /// Reads the present epoch.
    pub(super) async fn current(&self, user: UserId) -> Result<Known, StoreError> {
        let read_at = Instant::now();
        let row: Option<(i64,)> = self.cql.row("read an epoch", &self.read, (int(user.get()),)).await?;
        let epoch = row.map_or(0, |(epoch,)| epoch.cast_unsigned());
        let before = self.known.get(&user).filter(|known| known.epoch == epoch);
        let known =
            Known { epoch, read_at, first_seen_at: before.map_or(read_at, |known| known.first_seen_at) };
        self.known.insert(user, known);
        Ok(known)
    }

    /// Writes to an epoch that readers will read.
    pub(super) async fn write<F>(&self, user: UserId, write: impl Fn(u64) -> F) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        let mut known =
            match self.known.get(&user).filter(|known| known.read_at.elapsed() <= self.terms.valid) {
                Some(known) => known,
                None => self.current(user).await?,
            };
        loop {
            let epoch = known.epoch;
            write(epoch).await?;
            if known.read_at.elapsed() <= self.terms.valid {
                return Ok(());
            }
            known = self.current(user).await?;
            if known.may_be_written(epoch) {
                return Ok(());
            }
        }
    }

    /// Whether every writer knows this epoch by now.
    pub(super) fn is_settled(&self, known: Known) -> bool {
        known.first_seen_at.elapsed() >= self.terms.age_min
    }

    /// Begins the next epoch. If the outcome is unknown, the next caller finds out.
    pub(super) async fn begin_next(&self, user: UserId, known: Known) -> Result<(), StoreError> {
        let (user_id, now, next) = (int(user.get()), int(known.epoch), int(known.epoch + 1));
        let outcome = if known.epoch == 0 {
            self.cql.conditional("begin an epoch", &self.begin_first, (user_id, next)).await
        } else {
            self.cql.conditional("begin an epoch", &self.begin, (next, user_id, now)).await
        };
        match outcome {
            Outcome::Applied | Outcome::NotApplied => Ok(()),
            Outcome::Unknown(error) => Err(error),
        }
    }
}
