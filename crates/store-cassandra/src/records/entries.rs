//! Entries of the log other than messages.

use godwit_domain::model::{Change, Created, JoiningTerms, ReactionChange};
use godwit_protocol::conversations::{ConversationKind, HistoryVisibility, Permissions, Role};
use godwit_protocol::{InviteId, Seq, UserId};
use godwit_records::records;

use super::details::{StoredDetailsChange, StoredFanOut, StoredInvite};
use super::message_states::StoredCount;
use super::messages::{StoredMentions, StoredTarget};

records! {
    /// A message has a record of its own, with values in other columns.
    #[serde(rename_all = "snake_case")]
    pub(crate) enum StoredChange for Change except Message(_) {
        Created(created: Box<StoredCreated>),
        Edited {
            by: UserId,
            target: StoredTarget,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            text: Option<Box<str>>,
            #[serde(default)]
            mentions: StoredMentions,
        },
        Deleted { by: UserId, target: StoredTarget },
        Expired { targets: Vec<StoredTarget> },
        Reacted { target: StoredTarget, changes: Vec<StoredReactionChange>, counts: Vec<StoredCount> },
        MembersAdded { by: UserId, user_ids: Vec<UserId>, terms: StoredTerms },
        MemberJoined {
            user_id: UserId,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            invite: Option<InviteId>,
            terms: StoredTerms,
        },
        MemberLeft { user_id: UserId },
        MemberRemoved { by: UserId, user_id: UserId },
        MemberBanned { by: UserId, user_id: UserId, was_member: bool },
        MemberUnbanned { by: UserId, user_id: UserId },
        RoleChanged { by: UserId, user_id: UserId, role: Role },
        OwnershipTransferred { by: UserId, user_id: UserId },
        DetailsChanged { by: UserId, change: Box<StoredDetailsChange> },
        Pinned { by: UserId, target: StoredTarget },
        Unpinned { by: UserId, target: StoredTarget },
        InviteCreated { invite: Box<StoredInvite> },
        InviteRevoked { by: UserId, invite_id: InviteId },
        ConversationDeleted { by: UserId },
    }

    pub(crate) struct StoredCreated for Created {
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

    pub(crate) struct StoredReactionChange for ReactionChange {
        user_id: UserId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Box<str>>,
    }

    pub(crate) struct StoredTerms for JoiningTerms {
        visible_from: Seq,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        crosses_to: Option<StoredFanOut>,
    }
}
