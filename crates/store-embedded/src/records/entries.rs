//! Entries of the log.

use godwit_domain::model::{Change, Created, Entry, JoiningTerms, ReactionChange, ReactionCount, Target};
use godwit_domain::ports::StoreError;
use godwit_protocol::{InviteId, MessageId, Seq, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use super::details::{DetailsChangeRecord, InviteRecord, PermissionsRecord};
use super::message_states::CountsRecord;
use super::messages::{MentionsRecord, MessageRecord, TargetRecord};
use super::words::{ConversationKindRecord, FanOutRecord, HistoryRecord, RoleRecord};
use crate::keys;

/// Entries that were appended together. The key contains the seq of the last one, and whether they are shown.
#[derive(Serialize)]
pub(crate) struct ChunkRecord<'a>(Vec<EntryRecord<'a>>);

/// Iterates over the entries of a chunk. Content that is not used is not copied.
pub(crate) struct ChunkReader<'a> {
    key: &'a [u8],
    last: Seq,
    shown: bool,
    left: usize,
    rest: &'a [u8],
}

/// An entry that borrows from its row.
pub(crate) struct StoredEntry<'a> {
    seq: Seq,
    shown: bool,
    record: EntryRecord<'a>,
}

#[derive(Serialize, Deserialize)]
struct EntryRecord<'a> {
    /// The distance to the last entry of the chunk.
    before_last: u64,
    id: u64,
    /// The number of entries through this one that are not messages: the difference of seq and ordinal, which
    /// stays small.
    others: u64,
    #[serde(borrow)]
    change: ChangeRecord<'a>,
}

#[derive(Serialize, Deserialize)]
enum ChangeRecord<'a> {
    #[serde(borrow)]
    Message(MessageRecord<'a>),
    Created(Box<CreatedRecord>),
    Edited {
        by: UserId,
        target: TargetRecord,
        text: Option<Box<str>>,
        mentions: MentionsRecord,
    },
    Deleted {
        by: UserId,
        target: TargetRecord,
    },
    Expired {
        targets: Vec<TargetRecord>,
    },
    Reacted {
        target: TargetRecord,
        changes: Vec<ReactionChangeRecord>,
        counts: CountsRecord,
    },
    MembersAdded {
        by: UserId,
        user_ids: Vec<UserId>,
        terms: TermsRecord,
    },
    MemberJoined {
        user_id: UserId,
        invite: Option<InviteId>,
        terms: TermsRecord,
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
        role: RoleRecord,
    },
    OwnershipTransferred {
        by: UserId,
        user_id: UserId,
    },
    DetailsChanged {
        by: UserId,
        change: Box<DetailsChangeRecord>,
    },
    Pinned {
        by: UserId,
        target: TargetRecord,
    },
    Unpinned {
        by: UserId,
        target: TargetRecord,
    },
    InviteCreated {
        invite: Box<InviteRecord>,
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
struct CreatedRecord {
    by: UserId,
    kind: ConversationKindRecord,
    member_ids: Vec<UserId>,
    name: Box<str>,
    description: Option<Box<str>>,
    image: Option<Box<str>>,
    permissions: PermissionsRecord,
    history: HistoryRecord,
    fan_out: FanOutRecord,
}

#[derive(Serialize, Deserialize)]
struct ReactionChangeRecord {
    user_id: UserId,
    from: Option<Box<str>>,
    to: Option<Box<str>>,
}

#[derive(Serialize, Deserialize)]
struct TermsRecord {
    visible_from: Seq,
    crosses_to: Option<FanOutRecord>,
}

impl Record for ChunkRecord<'_> {
    const TABLE: &'static str = "log";
}

impl<'a> ChunkRecord<'a> {
    /// `entries` are in the order of the log, and `last` is the seq of the last one.
    pub(crate) fn new(entries: impl IntoIterator<Item = &'a Entry>, last: Seq) -> Self {
        let record = |entry: &'a Entry| EntryRecord {
            before_last: last.get().saturating_sub(entry.seq.get()),
            id: entry.id,
            others: entry.seq.get().saturating_sub(entry.ordinal),
            change: (&entry.change).into(),
        };
        Self(entries.into_iter().map(record).collect())
    }
}

impl<'a> ChunkReader<'a> {
    pub(crate) fn new(key: &'a [u8], value: &'a [u8], shown: bool) -> Result<Self, StoreError> {
        let last = Seq::new(keys::last_id(ChunkRecord::TABLE, key)?);
        let (left, rest) = ChunkRecord::decode_part(key, ChunkRecord::content(key, value)?)?;
        Ok(Self { key, last, shown, left, rest })
    }

    /// The seq of the last entry.
    pub(crate) const fn last_seq(&self) -> Seq {
        self.last
    }
}

impl<'a> Iterator for ChunkReader<'a> {
    type Item = Result<StoredEntry<'a>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(left) = self.left.checked_sub(1) else {
            let rest = std::mem::take(&mut self.rest);
            return ChunkRecord::check_end(self.key, rest).err().map(Err);
        };
        match ChunkRecord::decode_part::<EntryRecord<'_>>(self.key, self.rest) {
            Ok((record, rest)) => {
                (self.left, self.rest) = (left, rest);
                let seq = Seq::new(self.last.get().saturating_sub(record.before_last));
                Some(Ok(StoredEntry { seq, shown: self.shown, record }))
            }
            Err(error) => {
                (self.left, self.rest) = (0, &[]);
                Some(Err(error))
            }
        }
    }
}

impl StoredEntry<'_> {
    pub(crate) const fn seq(&self) -> Seq {
        self.seq
    }
}

impl From<StoredEntry<'_>> for Entry {
    fn from(StoredEntry { seq, shown, record }: StoredEntry<'_>) -> Self {
        let change = record.change.into_change(MessageId::new(record.id));
        Self { seq, id: record.id, ordinal: seq.get().saturating_sub(record.others), shown, change }
    }
}

impl<'a> From<&'a Change> for ChangeRecord<'a> {
    fn from(change: &'a Change) -> Self {
        match change {
            Change::Message(message) => Self::Message(message.into()),
            // Almost all entries are messages, so the others may be copied.
            other => Self::of_other(other.clone()),
        }
    }
}

impl ChangeRecord<'_> {
    fn of_other(change: Change) -> Self {
        match change {
            Change::Message(_) => unreachable!("it is written without a copy"),
            Change::Created(created) => Self::Created(Box::new((*created).into())),
            Change::Edited { by, target, text, mentions } => {
                Self::Edited { by, target: target.into(), text, mentions: mentions.into() }
            }
            Change::Deleted { by, target } => Self::Deleted { by, target: target.into() },
            Change::Expired { targets } => {
                Self::Expired { targets: targets.into_iter().map(Into::into).collect() }
            }
            Change::Reacted { target, changes, counts } => Self::Reacted {
                target: target.into(),
                changes: changes.into_iter().map(Into::into).collect(),
                counts: counts.into_iter().map(Into::into).collect(),
            },
            Change::MembersAdded { by, user_ids, terms } => {
                Self::MembersAdded { by, user_ids, terms: terms.into() }
            }
            Change::MemberJoined { user_id, invite, terms } => {
                Self::MemberJoined { user_id, invite, terms: terms.into() }
            }
            Change::MemberLeft { user_id } => Self::MemberLeft { user_id },
            Change::MemberRemoved { by, user_id } => Self::MemberRemoved { by, user_id },
            Change::MemberBanned { by, user_id, was_member } => {
                Self::MemberBanned { by, user_id, was_member }
            }
            Change::MemberUnbanned { by, user_id } => Self::MemberUnbanned { by, user_id },
            Change::RoleChanged { by, user_id, role } => Self::RoleChanged { by, user_id, role: role.into() },
            Change::OwnershipTransferred { by, user_id } => Self::OwnershipTransferred { by, user_id },
            Change::DetailsChanged { by, change } => {
                Self::DetailsChanged { by, change: Box::new((*change).into()) }
            }
            Change::Pinned { by, target } => Self::Pinned { by, target: target.into() },
            Change::Unpinned { by, target } => Self::Unpinned { by, target: target.into() },
            Change::InviteCreated { invite } => Self::InviteCreated { invite: Box::new((*invite).into()) },
            Change::InviteRevoked { by, invite_id } => Self::InviteRevoked { by, invite_id },
            Change::ConversationDeleted { by } => Self::ConversationDeleted { by },
        }
    }
}

impl ChangeRecord<'_> {
    /// `id` is the id of the entry.
    fn into_change(self, id: MessageId) -> Change {
        match self {
            Self::Message(message) => Change::Message(message.into_message(id)),
            Self::Created(created) => Change::Created(Box::new((*created).into())),
            Self::Edited { by, target, text, mentions } => {
                Change::Edited { by, target: target.into(), text, mentions: mentions.into() }
            }
            Self::Deleted { by, target } => Change::Deleted { by, target: target.into() },
            Self::Expired { targets } => {
                Change::Expired { targets: targets.into_iter().map(Target::from).collect() }
            }
            Self::Reacted { target, changes, counts } => Change::Reacted {
                target: target.into(),
                changes: changes.into_iter().map(ReactionChange::from).collect(),
                counts: counts.into_iter().map(ReactionCount::from).collect(),
            },
            Self::MembersAdded { by, user_ids, terms } => {
                Change::MembersAdded { by, user_ids, terms: terms.into() }
            }
            Self::MemberJoined { user_id, invite, terms } => {
                Change::MemberJoined { user_id, invite, terms: terms.into() }
            }
            Self::MemberLeft { user_id } => Change::MemberLeft { user_id },
            Self::MemberRemoved { by, user_id } => Change::MemberRemoved { by, user_id },
            Self::MemberBanned { by, user_id, was_member } => {
                Change::MemberBanned { by, user_id, was_member }
            }
            Self::MemberUnbanned { by, user_id } => Change::MemberUnbanned { by, user_id },
            Self::RoleChanged { by, user_id, role } => Change::RoleChanged { by, user_id, role: role.into() },
            Self::OwnershipTransferred { by, user_id } => Change::OwnershipTransferred { by, user_id },
            Self::DetailsChanged { by, change } => {
                Change::DetailsChanged { by, change: Box::new((*change).into()) }
            }
            Self::Pinned { by, target } => Change::Pinned { by, target: target.into() },
            Self::Unpinned { by, target } => Change::Unpinned { by, target: target.into() },
            Self::InviteCreated { invite } => Change::InviteCreated { invite: Box::new((*invite).into()) },
            Self::InviteRevoked { by, invite_id } => Change::InviteRevoked { by, invite_id },
            Self::ConversationDeleted { by } => Change::ConversationDeleted { by },
        }
    }
}

impl From<Created> for CreatedRecord {
    fn from(created: Created) -> Self {
        let Created { by, kind, member_ids, name, description, image, permissions, history, fan_out } =
            created;
        Self {
            by,
            kind: kind.into(),
            member_ids,
            name,
            description,
            image,
            permissions: permissions.into(),
            history: history.into(),
            fan_out: fan_out.into(),
        }
    }
}

impl From<CreatedRecord> for Created {
    fn from(record: CreatedRecord) -> Self {
        let CreatedRecord { by, kind, member_ids, name, description, image, permissions, history, fan_out } =
            record;
        Self {
            by,
            kind: kind.into(),
            member_ids,
            name,
            description,
            image,
            permissions: permissions.into(),
            history: history.into(),
            fan_out: fan_out.into(),
        }
    }
}

impl From<ReactionChange> for ReactionChangeRecord {
    fn from(ReactionChange { user_id, from, to }: ReactionChange) -> Self {
        Self { user_id, from, to }
    }
}

impl From<ReactionChangeRecord> for ReactionChange {
    fn from(ReactionChangeRecord { user_id, from, to }: ReactionChangeRecord) -> Self {
        Self { user_id, from, to }
    }
}

impl From<JoiningTerms> for TermsRecord {
    fn from(terms: JoiningTerms) -> Self {
        Self { visible_from: terms.visible_from, crosses_to: terms.crosses_to.map(Into::into) }
    }
}

impl From<TermsRecord> for JoiningTerms {
    fn from(record: TermsRecord) -> Self {
        Self { visible_from: record.visible_from, crosses_to: record.crosses_to.map(Into::into) }
    }
}
