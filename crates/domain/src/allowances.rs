//! Daily allowances: how many people a user may add or begin to write to, and groups create, in a day.
//!
//! A use case takes its amount before it acts, and gives back what it did not need. The [account](crate::account) decides
//! whether there is enough, on the state that it writes, so concurrent calls are counted together.

use std::sync::Arc;

use godwit_protocol::{Timestamp, UserId};
use thiserror::Error;

use crate::account::{Limit, recovery_ms};
use crate::ports::{Clock, Spending, Store, StoreError, UpdateUser, UserChange};

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
}

#[derive(Debug, Error)]
pub(crate) enum Overspent {
    #[error("{reason}")]
    Over { reason: String, retry_after_secs: u32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Allowances {
    /// Takes the amounts, or returns the time at which there is enough.
    pub(crate) async fn spend(&self, user: UserId, amounts: Amounts) -> Result<(), Overspent> {
        match self.apply(user, self.spending(amounts, 1)).await? {
            Some(UpdateUser::TooOften { limit, until }) => Err(self.over(limit, until)),
            _ => Ok(()),
        }
    }

    /// Gives back amounts that were taken and not needed.
    pub(crate) async fn give_back(&self, user: UserId, amounts: Amounts) -> Result<(), StoreError> {
        self.apply(user, self.spending(amounts, -1)).await.map(drop)
    }

    pub(crate) const fn counts_strangers(&self) -> bool {
        self.policy.strangers_per_day_max > 0
    }

    /// The error for a user who has reached a limit until a time.
    pub(crate) fn over(&self, limit: Limit, until: Timestamp) -> Overspent {
        let per_day_max = match limit {
            Limit::Handles | Limit::Profile => 0,
            Limit::Members => self.policy.members_per_day_max,
            Limit::Strangers => self.policy.strangers_per_day_max,
            Limit::Groups => self.policy.groups_per_day_max,
        };
        let wait_ms = until.millis_since(self.clock.now()).max(0);
        let retry_after_secs = u32::try_from((wait_ms + 999) / 1_000).unwrap_or(u32::MAX);
        Overspent::Over { reason: limit.reason(per_day_max), retry_after_secs }
    }

    async fn apply(&self, user: UserId, spending: Spending) -> Result<Option<UpdateUser>, StoreError> {
        if spending.is_nothing() {
            return Ok(None);
        }
        let change = UserChange { spending: Some(spending), ..UserChange::default() };
        self.store.update_user(user, change, None).await.map(Some)
    }

    fn spending(&self, amounts: Amounts, sign: i64) -> Spending {
        Spending {
            at: self.clock.now(),
            members_ms: sign * recovery_ms(amounts.members, self.policy.members_per_day_max),
            strangers_ms: sign * recovery_ms(amounts.strangers, self.policy.strangers_per_day_max),
            groups_ms: sign * recovery_ms(amounts.groups, self.policy.groups_per_day_max),
        }
    }
}

impl Amounts {
    /// The remaining amounts.
    pub(crate) const fn minus(self, used: Self) -> Self {
        Self {
            members: self.members.saturating_sub(used.members),
            strangers: self.strangers.saturating_sub(used.strangers),
            groups: self.groups.saturating_sub(used.groups),
        }
    }
}
