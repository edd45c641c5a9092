//! Entries of the log.

use godwit_domain::model::{Change, Created, Entry, JoiningTerms, ReactionChange};
use godwit_domain::ports::StoreError;
use godwit_protocol::{InviteId, MessageId, Seq, UserId};
use godwit_records::records;
use serde::{Deserialize, Serialize};

use super::Record;
use super::details::{DetailsChangeRecord, InviteRecord, PermissionsRecord};
use super::message_states::ReactionCountRecord;
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

records! {
    /// `id` is the id of the entry.
    enum ChangeRecord<'a> for Change, into_change(id: MessageId) {
        #[serde(borrow)]
        Message(message: MessageRecord<'a> => message.into_message(id)),
        Created(created: Box<CreatedRecord>),
        Edited { by: UserId, target: TargetRecord, text: Option<Box<str>>, mentions: MentionsRecord },
        Deleted { by: UserId, target: TargetRecord },
        Expired { targets: Vec<TargetRecord> },
        Reacted { target: TargetRecord, changes: Vec<ReactionChangeRecord>, counts: Vec<ReactionCountRecord> },
        MembersAdded { by: UserId, user_ids: Vec<UserId>, terms: TermsRecord },
        MemberJoined { user_id: UserId, invite: Option<InviteId>, terms: TermsRecord },
        MemberLeft { user_id: UserId },
        MemberRemoved { by: UserId, user_id: UserId },
        MemberBanned { by: UserId, user_id: UserId, was_member: bool },
        MemberUnbanned { by: UserId, user_id: UserId },
        RoleChanged { by: UserId, user_id: UserId, role: RoleRecord },
        OwnershipTransferred { by: UserId, user_id: UserId },
        DetailsChanged { by: UserId, change: Box<DetailsChangeRecord> },
        Pinned { by: UserId, target: TargetRecord },
        Unpinned { by: UserId, target: TargetRecord },
        InviteCreated { invite: Box<InviteRecord> },
        InviteRevoked { by: UserId, invite_id: InviteId },
        ConversationDeleted { by: UserId },
    }

    struct CreatedRecord for Created {
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

    struct ReactionChangeRecord for ReactionChange {
        user_id: UserId,
        from: Option<Box<str>>,
        to: Option<Box<str>>,
    }

    struct TermsRecord for JoiningTerms {
        visible_from: Seq,
        crosses_to: Option<FanOutRecord>,
    }
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
