//! Changes of a profile.

use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::{ConversationId, Timestamp};

use super::limits::{self, Spending};
use crate::model::{Avatar, DisplayName, FormerHandle, Handle, Phone, Spent, User};

/// The new values of a user; `None` keeps a value as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    pub handle: Option<Handle>,
    /// The time at which the users themselves ask for the change, which then counts towards their [`Limit`](super::Limit)s. A
    /// former handle stays reserved from this time on, and handles that are reserved for other users at this time are taken.
    /// `None` for changes by the operator and for copies from another store: no limits and no reserved handles.
    pub asked_at: Option<Timestamp>,
    pub display_name: Option<DisplayName>,
    pub avatar: Option<Option<Avatar>>,
    pub phone: Option<Option<Phone>>,
    pub password_hash: Option<String>,
    pub presence_visible: Option<bool>,
    pub read_receipts: Option<bool>,
    pub may_be_added_by: Option<MayBeAddedBy>,
    /// A group that the user has left for good (`true`), or may be added to again (`false`).
    pub refused_group: Option<(ConversationId, bool)>,
    pub refused_groups: Option<Vec<ConversationId>>,
    pub former_handles: Option<Vec<FormerHandle>>,
    pub spending: Option<Spending>,
    pub spent: Option<Spent>,
    pub last_seen_at: Option<Timestamp>,
    pub disabled_at: Option<Option<Timestamp>>,
}

impl UserChange {
    /// Applies the change to `user`.
    pub fn apply(self, user: &mut User) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        let seen_before = self.asked_at.map(|at| (at, user.to_public()));
        if let Some(handle) = self.handle {
            user.rename(handle, self.asked_at);
        }
        set(&mut user.display_name, self.display_name);
        set(&mut user.avatar, self.avatar);
        set(&mut user.phone, self.phone);
        set(&mut user.password_hash, self.password_hash.map(Some));
        set(&mut user.presence_visible, self.presence_visible);
        set(&mut user.read_receipts, self.read_receipts);
        set(&mut user.may_be_added_by, self.may_be_added_by);
        match self.refused_group {
            Some((group, true)) => user.refuse_group(group),
            Some((group, false)) => user.refused_groups.retain(|refused| *refused != group),
            None => {}
        }
        set(&mut user.refused_groups, self.refused_groups);
        set(&mut user.former_handles, self.former_handles);
        if let Some(spending) = self.spending {
            spending.apply(&mut user.spent);
        }
        set(&mut user.spent, self.spent);
        set(&mut user.last_seen_at, self.last_seen_at.map(Some));
        set(&mut user.disabled_at, self.disabled_at);
        if let Some((at, _)) = seen_before.filter(|(_, before)| user.to_public() != *before) {
            limits::spend_profile_change(&mut user.spent, at);
        }
    }
}
