//! Daily allowances: how many people a user may add or begin to write to, groups create and profile changes make in a day.
//!
//! An allowance is a token bucket that refills continuously: 100 a day refill at one every 14.4 minutes. The user's profile
//! stores the time at which the bucket is full again, so the limit holds on every node and across restarts. A use case takes
//! its amount atomically before it acts, and gives back what it did not need. Concurrent calls are therefore counted
//! together.

use std::sync::Arc;

use godwit_protocol::limits::PROFILE_CHANGES_PER_DAY_MAX;
use godwit_protocol::{Timestamp, UserId};
use thiserror::Error;

use crate::model::Spent;
use crate::ports::{Clock, Spending, Store, StoreError, UpdateUser, UserChange};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Daily limits for one user; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddingPolicy {
    /// People added to groups and channels.
    pub members_per_day_max: u32,
    /// The part of `members` who have never written to the user, and people with whom the user opens a conversation.
    pub strangers_per_day_max: u32,
    /// Groups and channels created.
    pub groups_per_day_max: u32,
}

impl AddingPolicy {
    pub const UNLIMITED: Self =
        Self { members_per_day_max: 0, strangers_per_day_max: 0, groups_per_day_max: 0 };
}

impl Default for AddingPolicy {
    fn default() -> Self {
        Self { members_per_day_max: 5_000, strangers_per_day_max: 1_000, groups_per_day_max: 200 }
    }
}

#[derive(Debug)]
pub struct Allowances {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) policy: AddingPolicy,
}

/// Amounts that a use case takes from the allowances of a user, or gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amounts {
    pub(crate) members: usize,
    pub(crate) strangers: usize,
    pub(crate) groups: usize,
    pub(crate) profile: usize,
}

#[derive(Debug, Error)]
pub(crate) enum Overspent {
    #[error("at most {max} {what} a day")]
    Over { what: &'static str, max: u32, retry_after_secs: u32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Allowances {
    /// Takes the amounts, or returns the time at which there is enough.
    pub(crate) async fn spend(&self, user: UserId, amounts: Amounts) -> Result<(), Overspent> {
        let now = self.clock.now();
        let spending = self.spending(amounts, now, 1);
        if spending.is_nothing() {
            return Ok(());
        }
        let Some(spent) = self.apply(user, spending).await? else { return Ok(()) };
        let Some(over) = self.over(amounts, spent, now) else { return Ok(()) };
        self.apply(user, self.spending(amounts, now, -1)).await?;
        Err(over)
    }

    /// Gives back amounts that were taken and not needed.
    pub(crate) async fn give_back(&self, user: UserId, amounts: Amounts) -> Result<(), StoreError> {
        let spending = self.spending(amounts, self.clock.now(), -1);
        if !spending.is_nothing() {
            self.apply(user, spending).await?;
        }
        Ok(())
    }

    pub(crate) const fn counts_strangers(&self) -> bool {
        self.policy.strangers_per_day_max > 0
    }

    async fn apply(&self, user: UserId, spending: Spending) -> Result<Option<Spent>, StoreError> {
        let change = UserChange { spending: Some(spending), ..UserChange::default() };
        match self.store.update_user(user, change, None).await? {
            UpdateUser::Updated(user, _) => Ok(Some(user.spent)),
            UpdateUser::NotFound | UpdateUser::HandleTaken => Ok(None),
        }
    }

    fn spending(&self, amounts: Amounts, at: Timestamp, sign: i64) -> Spending {
        let ms = |count: usize, max: u32| match max {
            0 => 0,
            max => sign * i64::try_from(count).unwrap_or(i64::from(u32::MAX)) * DAY_MS / i64::from(max),
        };
        Spending {
            at,
            members_ms: ms(amounts.members, self.policy.members_per_day_max),
            strangers_ms: ms(amounts.strangers, self.policy.strangers_per_day_max),
            groups_ms: ms(amounts.groups, self.policy.groups_per_day_max),
            profile_ms: ms(amounts.profile, PROFILE_CHANGES_PER_DAY_MAX),
        }
    }

    /// The allowance that takes longest to refill.
    fn over(&self, amounts: Amounts, spent: Spent, now: Timestamp) -> Option<Overspent> {
        let parts = [
            (amounts.members, spent.members, "people added", self.policy.members_per_day_max),
            (
                amounts.strangers,
                spent.strangers,
                "people added or written to who have not written to you",
                self.policy.strangers_per_day_max,
            ),
            (amounts.groups, spent.groups, "groups and channels made", self.policy.groups_per_day_max),
            (amounts.profile, spent.profile, "changes of the profile", PROFILE_CHANGES_PER_DAY_MAX),
        ];
        let over = parts.into_iter().filter(|(count, ..)| *count > 0);
        let over = over.map(|(_, until, what, max)| (until.millis_since(now) - DAY_MS, what, max));
        let (missing_ms, what, max) = over.filter(|(missing_ms, ..)| *missing_ms > 0).max()?;
        let retry_after_secs = u32::try_from((missing_ms + 999) / 1_000).unwrap_or(u32::MAX);
        Some(Overspent::Over { what, max, retry_after_secs })
    }
}

impl Amounts {
    /// The remaining amounts.
    pub(crate) const fn minus(self, used: Self) -> Self {
        Self {
            members: self.members.saturating_sub(used.members),
            strangers: self.strangers.saturating_sub(used.strangers),
            groups: self.groups.saturating_sub(used.groups),
            profile: self.profile.saturating_sub(used.profile),
        }
    }
}
