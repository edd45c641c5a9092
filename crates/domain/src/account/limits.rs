//! How often a user may do something: daily allowances, and the number of reserved handles.
//!
//! An allowance is a token bucket that refills continuously: 100 a day refill at one every 14.4 minutes. The profile stores
//! the time at which the bucket is full again ([`Spent`]), so the limit holds on every node and across restarts.

use godwit_protocol::Timestamp;
use godwit_protocol::limits::{FORMER_HANDLE_DAYS, FORMER_HANDLES_MAX, PROFILE_CHANGES_PER_DAY_MAX};

use super::UserChange;
use crate::model::{Spent, User};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// A limit of one user that is full again after a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Former handles that stay reserved.
    Handles,
    /// Changes of the parts of the profile that others see.
    Profile,
    /// People added to groups and channels.
    Members,
    /// People added or written to who have never written to the user.
    Strangers,
    /// Groups and channels created.
    Groups,
}

/// Amounts to add to [`Spent`], each in milliseconds until it has recovered. A negative amount refunds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    pub at: Timestamp,
    pub members_ms: i64,
    pub strangers_ms: i64,
    pub groups_ms: i64,
}

impl Limit {
    /// The limit as a text for the user. `per_day_max` is the operator's value of a limit that has one.
    pub(crate) fn reason(self, per_day_max: u32) -> String {
        let (max, what) = match self {
            Self::Handles => {
                return format!("at most {FORMER_HANDLES_MAX} handles in {FORMER_HANDLE_DAYS} days");
            }
            Self::Profile => (PROFILE_CHANGES_PER_DAY_MAX, "changes of the profile"),
            Self::Members => (per_day_max, "people added"),
            Self::Strangers => (per_day_max, "people added or written to who have not written to you"),
            Self::Groups => (per_day_max, "groups and channels made"),
        };
        format!("at most {max} {what} a day")
    }
}

impl Spending {
    pub(crate) const fn is_nothing(self) -> bool {
        self.members_ms == 0 && self.strangers_ms == 0 && self.groups_ms == 0
    }

    pub(super) fn apply(self, spent: &mut Spent) {
        spend(&mut spent.members, self.at, self.members_ms);
        spend(&mut spent.strangers, self.at, self.strangers_ms);
        spend(&mut spent.groups, self.at, self.groups_ms);
    }
}

/// The milliseconds in which `count` of `per_day_max` recover; 0 if there is no limit.
pub(crate) fn recovery_ms(count: usize, per_day_max: u32) -> i64 {
    match per_day_max {
        0 => 0,
        max => i64::try_from(count).unwrap_or(i64::from(u32::MAX)) * DAY_MS / i64::from(max),
    }
}

/// Spends one change of the profile.
pub(super) fn spend_profile_change(spent: &mut Spent, at: Timestamp) {
    spend(&mut spent.profile, at, recovery_ms(1, PROFILE_CHANGES_PER_DAY_MAX));
}

/// The time until which a handle that is given up at `at` stays reserved.
pub(crate) const fn reserved_until(at: Timestamp) -> Timestamp {
    at.plus_millis(FORMER_HANDLE_DAYS as i64 * DAY_MS)
}

/// The limit that a change exceeds, and the time from which it does not. Of several, the one that takes longest to recover.
pub(super) fn exceeded(change: &UserChange, before: &User, after: &User) -> Option<(Limit, Timestamp)> {
    let handles = change.asked_at.and_then(|at| first_free_handle(before, after, at));
    let handles = handles.map(|until| (Limit::Handles, until));
    handles.or_else(|| {
        let spending = change.spending.map(|spending| spending.at);
        let allowances = [
            (Limit::Profile, change.asked_at, before.spent.profile, after.spent.profile),
            (Limit::Members, spending, before.spent.members, after.spent.members),
            (Limit::Strangers, spending, before.spent.strangers, after.spent.strangers),
            (Limit::Groups, spending, before.spent.groups, after.spent.groups),
        ];
        let spent = allowances.into_iter().filter(|(.., before, after)| after > before);
        let over = spent.filter_map(|(limit, at, _, full_at)| {
            let enough_at = full_at.plus_millis(-DAY_MS);
            (enough_at > at?).then_some((limit, enough_at))
        });
        over.max_by_key(|(_, until)| *until)
    })
}

/// When the user may take a new handle, if they hold too many now. They can take back their own at any time.
fn first_free_handle(before: &User, after: &User, at: Timestamp) -> Option<Timestamp> {
    if before.holds(&after.handle, Some(at)) {
        return None;
    }
    let kept: Vec<Timestamp> = before.kept_handles(at).map(|former| former.kept_until).collect();
    kept.iter().min().copied().filter(|_| kept.len() >= FORMER_HANDLES_MAX)
}

fn spend(until: &mut Timestamp, at: Timestamp, ms: i64) {
    if ms != 0 {
        *until = (*until).max(at).plus_millis(ms);
    }
}
