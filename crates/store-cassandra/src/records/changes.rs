//! Entries of the log other than messages.

use godwit_domain::model::{Change, Created, FanOut, JoiningTerms, ReactionChange, ReactionCount, Target};
use godwit_protocol::conversations::{ConversationKind, HistoryVisibility, Permissions, Role};
use godwit_protocol::{InviteId, Seq, UserId};
use serde::{Deserialize, Serialize};

use super::details::{StoredDetailsChange, StoredFanOut, StoredInvite};
use super::messages::{StoredMentions, StoredTarget};
use super::states::StoredCount;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredChange {
    Created(Box<StoredCreated>),
    Edited {
        by: UserId,
        target: StoredTarget,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Box<str>>,
        #[serde(default)]
        mentions: StoredMentions,
    },
    Deleted {
        by: UserId,
        target: StoredTarget,
    },
    Expired {
        targets: Vec<StoredTarget>,
    },
    Reacted {
        target: StoredTarget,
        changes: Vec<StoredReactionChange>,
        counts: Vec<StoredCount>,
    },
    MembersAdded {
        by: UserId,
        user_ids: Vec<UserId>,
        terms: StoredTerms,
    },
    MemberJoined {
        user_id: UserId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invite: Option<InviteId>,
        terms: StoredTerms,
    },
    MemberLeft {
        user_id: UserId,
    },
    MemberRemoved {
        by: UserId,
        user_id: UserId,
    },
    MemberBanned {
        by: UserId,
        user_id: UserId,
        was_member: bool,
    },
    MemberUnbanned {
        by: UserId,
        user_id: UserId,
    },
    RoleChanged {
        by: UserId,
        user_id: UserId,
        role: Role,
    },
    OwnershipTransferred {
        by: UserId,
        user_id: UserId,
    },
    DetailsChanged {
        by: UserId,
        change: Box<StoredDetailsChange>,
    },
    Pinned {
        by: UserId,
        target: StoredTarget,
    },
    Unpinned {
        by: UserId,
        target: StoredTarget,
    },
    InviteCreated {
        invite: Box<StoredInvite>,
    },
    InviteRevoked {
        by: UserId,
        invite_id: InviteId,
    },
    ConversationDeleted {
        by: UserId,
    },
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredCreated {
    by: UserId,
    kind: ConversationKind,
    member_ids: Vec<UserId>,
    name: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<Box<str>>,
    permissions: Permissions,
    history: HistoryVisibility,
    fan_out: StoredFanOut,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredReactionChange {
    user_id: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<Box<str>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct StoredTerms {
    visible_from: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crosses_to: Option<StoredFanOut>,
}

impl StoredChange {
    /// `None` for a message, which has a record of its own.
    pub(crate) fn of(change: &Change) -> Option<Self> {
        Some(match change {
            Change::Message(_) => return None,
            Change::Created(created) => Self::Created(Box::new(StoredCreated::from(&**created))),
            Change::Edited { by, target, text, mentions } => Self::Edited {
                by: *by,
                target: (*target).into(),
                text: text.clone(),
                mentions: StoredMentions::from(mentions),
            },
            Change::Deleted { by, target } => Self::Deleted { by: *by, target: (*target).into() },
            Change::Expired { targets } => {
                Self::Expired { targets: targets.iter().map(|target| (*target).into()).collect() }
            }
            Change::Reacted { target, changes, counts } => Self::Reacted {
                target: (*target).into(),
                changes: changes.iter().map(StoredReactionChange::from).collect(),
                counts: counts.iter().map(StoredCount::from).collect(),
            },
            Change::MembersAdded { by, user_ids, terms } => {
                Self::MembersAdded { by: *by, user_ids: user_ids.clone(), terms: (*terms).into() }
            }
            Change::MemberJoined { user_id, invite, terms } => {
                Self::MemberJoined { user_id: *user_id, invite: *invite, terms: (*terms).into() }
            }
            Change::MemberLeft { user_id } => Self::MemberLeft { user_id: *user_id },
            Change::MemberRemoved { by, user_id } => Self::MemberRemoved { by: *by, user_id: *user_id },
            Change::MemberBanned { by, user_id, was_member } => {
                Self::MemberBanned { by: *by, user_id: *user_id, was_member: *was_member }
            }
            Change::MemberUnbanned { by, user_id } => Self::MemberUnbanned { by: *by, user_id: *user_id },
            Change::RoleChanged { by, user_id, role } => {
                Self::RoleChanged { by: *by, user_id: *user_id, role: *role }
            }
            Change::OwnershipTransferred { by, user_id } => {
                Self::OwnershipTransferred { by: *by, user_id: *user_id }
            }
            Change::DetailsChanged { by, change } => {
                Self::DetailsChanged { by: *by, change: Box::new((**change).clone().into()) }
            }
            Change::Pinned { by, target } => Self::Pinned { by: *by, target: (*target).into() },
            Change::Unpinned { by, target } => Self::Unpinned { by: *by, target: (*target).into() },
            Change::InviteCreated { invite } => {
                Self::InviteCreated { invite: Box::new(StoredInvite::from(&**invite)) }
            }
            Change::InviteRevoked { by, invite_id } => Self::InviteRevoked { by: *by, invite_id: *invite_id },
            Change::ConversationDeleted { by } => Self::ConversationDeleted { by: *by },
        })
    }
}

impl From<StoredChange> for Change {
    fn from(stored: StoredChange) -> Self {
        match stored {
            StoredChange::Created(created) => Self::Created(Box::new((*created).into())),
            StoredChange::Edited { by, target, text, mentions } => {
                Self::Edited { by, target: target.into(), text, mentions: mentions.into() }
            }
            StoredChange::Deleted { by, target } => Self::Deleted { by, target: target.into() },
            StoredChange::Expired { targets } => {
                Self::Expired { targets: targets.into_iter().map(Target::from).collect() }
            }
            StoredChange::Reacted { target, changes, counts } => Self::Reacted {
                target: target.into(),
                changes: changes.into_iter().map(ReactionChange::from).collect(),
                counts: counts.into_iter().map(ReactionCount::from).collect(),
            },
            StoredChange::MembersAdded { by, user_ids, terms } => {
                Self::MembersAdded { by, user_ids, terms: terms.into() }
            }
            StoredChange::MemberJoined { user_id, invite, terms } => {
                Self::MemberJoined { user_id, invite, terms: terms.into() }
            }
            StoredChange::MemberLeft { user_id } => Self::MemberLeft { user_id },
            StoredChange::MemberRemoved { by, user_id } => Self::MemberRemoved { by, user_id },
            StoredChange::MemberBanned { by, user_id, was_member } => {
                Self::MemberBanned { by, user_id, was_member }
            }
            StoredChange::MemberUnbanned { by, user_id } => Self::MemberUnbanned { by, user_id },
            StoredChange::RoleChanged { by, user_id, role } => Self::RoleChanged { by, user_id, role },
            StoredChange::OwnershipTransferred { by, user_id } => Self::OwnershipTransferred { by, user_id },
            StoredChange::DetailsChanged { by, change } => {
                Self::DetailsChanged { by, change: Box::new((*change).into()) }
            }
            StoredChange::Pinned { by, target } => Self::Pinned { by, target: target.into() },
            StoredChange::Unpinned { by, target } => Self::Unpinned { by, target: target.into() },
            StoredChange::InviteCreated { invite } => {
                Self::InviteCreated { invite: Box::new((*invite).into()) }
            }
            StoredChange::InviteRevoked { by, invite_id } => Self::InviteRevoked { by, invite_id },
            StoredChange::ConversationDeleted { by } => Self::ConversationDeleted { by },
        }
    }
}

impl From<&Created> for StoredCreated {
    fn from(created: &Created) -> Self {
        let Created { by, kind, member_ids, name, description, image, permissions, history, fan_out } =
            created.clone();
        let fan_out = fan_out.into();
        Self { by, kind, member_ids, name, description, image, permissions, history, fan_out }
    }
}

impl From<StoredCreated> for Created {
    fn from(stored: StoredCreated) -> Self {
        let StoredCreated { by, kind, member_ids, name, description, image, permissions, history, fan_out } =
            stored;
        let fan_out = FanOut::from(fan_out);
        Self { by, kind, member_ids, name, description, image, permissions, history, fan_out }
    }
}

impl From<&ReactionChange> for StoredReactionChange {
    fn from(change: &ReactionChange) -> Self {
        let ReactionChange { user_id, from, to } = change.clone();
        Self { user_id, from, to }
    }
}

impl From<StoredReactionChange> for ReactionChange {
    fn from(StoredReactionChange { user_id, from, to }: StoredReactionChange) -> Self {
        Self { user_id, from, to }
    }
}

impl From<JoiningTerms> for StoredTerms {
    fn from(terms: JoiningTerms) -> Self {
        Self { visible_from: terms.visible_from, crosses_to: terms.crosses_to.map(Into::into) }
    }
}

impl From<StoredTerms> for JoiningTerms {
    fn from(terms: StoredTerms) -> Self {
        Self { visible_from: terms.visible_from, crosses_to: terms.crosses_to.map(Into::into) }
    }
}
