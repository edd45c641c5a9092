//! Which partitions of the recent conversations are in use.
//!
//! They are numbered by epochs. Writers use the newest that they know; when it has become too full another one is begun, and
//! the one before the last is cleared. What makes that safe without asking for the epoch with every message: a writer may
//! be behind by one, and knows how old its knowledge is.
//!
//! - Writers write to the current epoch or to the one before, readers read these and the one before them.
//! - A writer whose knowledge is older than [`EpochTerms::valid`] when its write has been made looks again, and writes
//!   again if it was too far behind.
//! - An epoch is cleared when two newer ones have begun, the second of them so long ago ([`EpochTerms::age_min`], by the
//!   clearing node's own monotonic clock) that no writer still takes it for current.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use quick_cache::sync::Cache;
use scylla::errors::PrepareError;
use tokio::time::Instant;

use crate::cql::{Conditional, Cql, Outcome, Read};
use crate::values::int;

/// Users whose epochs are kept in memory.
const USERS_CACHED_MAX: usize = 100_000;

/// How long knowledge lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochTerms {
    pub valid: Duration,
    /// Several times as long.
    pub age_min: Duration,
}

impl Default for EpochTerms {
    fn default() -> Self {
        Self { valid: Duration::from_secs(5), age_min: Duration::from_secs(20) }
    }
}

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
    /// It was current then.
    read_at: Instant,
    first_seen_at: Instant,
}

impl Known {
    pub(super) fn read(self) -> RangeInclusive<u64> {
        self.epoch.saturating_sub(2)..=self.epoch
    }

    /// The one that nobody writes to any more, if that is so.
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

    /// The epoch as it is now.
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

    /// Writes to an epoch that readers will look at.
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

    /// Whether everybody who still writes knows of this epoch.
    pub(super) fn is_settled(&self, known: Known) -> bool {
        known.first_seen_at.elapsed() >= self.terms.age_min
    }

    /// Begins the next one. When it cannot be said whether that was so, whoever comes next finds out.
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
