//! Users, their conversations, and what they say. Everything a conversation has follows from its id and the numbers of
//! its messages, so that all of it can be checked when it is read again, however much it was.

use std::fmt::Write as _;

use godwit_domain::model::{
    Change, ClientId, Conversation, Cursor, Entry, Handle, Head, Kind, Message, MessageBody, User, UserPair,
};
use godwit_domain::ports::{Append, AppendOutcome, CreateUser, CursorMove, NewDirect, Store, StoreError};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::conversations::ConversationKind;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::verify::Violation;

const TEXT_BYTES: usize = 200;

/// A direct conversation to which nobody else writes.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    pub(super) id: ConversationId,
    pub(super) pair: UserPair,
    /// After everything that was acknowledged.
    pub(super) head: Head,
}

/// A user whom nobody has met.
pub(super) async fn new_user(store: &dyn Store) -> anyhow::Result<UserId> {
    let id = UserId::new(store.ids().next()?);
    let user = User::new(id, Handle::from_stored(format!("bench{id}")), id.timestamp());
    match store.create_user(user).await? {
        CreateUser::Created => Ok(id),
        CreateUser::HandleTaken | CreateUser::SubjectTaken(_) => {
            Err(Violation::IdTwice { id: id.get() }.into())
        }
    }
}

impl Chat {
    /// The conversation of two users who have none.
    pub(super) async fn open(store: &dyn Store, by: UserId, other: UserId) -> anyhow::Result<Self> {
        let id = ConversationId::new(store.ids().next()?);
        let pair = UserPair::new(by, other).ok_or(Violation::IdTwice { id: by.get() })?;
        let member_ids = vec![pair.low(), pair.high()];
        let change = Change::Created { by, kind: ConversationKind::Direct, member_ids };
        let created = Entry { seq: Seq::new(1), id: store.ids().next()?, ordinal: 0, change };
        let conversation =
            Conversation { id, kind: Kind::Direct(pair), created_by: by, created_at: created.at() };
        let head = Head::empty().after(&created);
        let opened = store.open_direct(pair, NewDirect { conversation, created }).await?;
        if opened.id != id {
            return Err(Violation::IdTwice { id: by.get() }.into());
        }
        Ok(Self { id, pair, head })
    }

    pub(super) async fn new(store: &dyn Store) -> anyhow::Result<Self> {
        let (by, other) = (new_user(store).await?, new_user(store).await?);
        Self::open(store, by, other).await
    }

    /// What comes next in the log: so many messages, from both sides in turn.
    pub(super) fn next(&self, ids: &IdGenerator, messages: usize) -> Result<Append, StoreError> {
        let mut head = self.head.clone();
        let mut entries = Vec::with_capacity(messages);
        let mut cursors: Vec<CursorMove> = Vec::with_capacity(2);
        for _ in 0..messages {
            let entry = self.message_after(&head, ids.next_after(head.id)?);
            let (conversation, user_id) = (self.id, self.sender(entry.ordinal));
            let cursor = Cursor::at(entry.seq, entry.ordinal);
            cursors.retain(|moved| moved.user_id != user_id);
            cursors.push(CursorMove { conversation, user_id, cursor, at: entry.at() });
            head = head.after(&entry);
            entries.push(entry);
        }
        let members = vec![self.pair.low(), self.pair.high()];
        let list_for = if self.head.ordinal == 0 { members.clone() } else { Vec::new() };
        let (conversation, expected_head) = (self.id, self.head.seq);
        Ok(Append { conversation, expected_head, entries, head, cursors, members, list_for })
    }

    /// Takes an append for done if it is.
    pub(super) fn accept(&mut self, head: Head, outcome: &AppendOutcome) -> Result<(), Violation> {
        match outcome {
            AppendOutcome::Appended(_) => {
                self.head = head;
                Ok(())
            }
            AppendOutcome::HeadMoved => {
                Err(Violation::HeadMoved { conversation: self.id, head: self.head.seq })
            }
        }
    }

    /// Says so many things more.
    pub(super) async fn say(&mut self, store: &dyn Store, messages: usize) -> anyhow::Result<()> {
        let append = self.next(store.ids(), messages)?;
        let head = append.head.clone();
        let outcome = store.append(append).await?;
        Ok(self.accept(head, &outcome)?)
    }

    pub(super) fn messages(&self) -> usize {
        self.head.ordinal as usize
    }

    pub(super) fn sender(&self, ordinal: u64) -> UserId {
        if ordinal.is_multiple_of(2) { self.pair.low() } else { self.pair.high() }
    }

    /// As long as the UUIDs that clients choose.
    pub(super) fn client_id(&self, ordinal: u64) -> ClientId {
        ClientId::from_stored(format!("{:016x}-{ordinal:019x}", self.id.get()))
    }

    /// The entry that stands after `head`, once it was given an id.
    pub(super) fn message_after(&self, head: &Head, id: u64) -> Entry {
        let ordinal = head.ordinal + 1;
        let message = Message {
            id: MessageId::new(id),
            sender_id: self.sender(ordinal),
            client_id: self.client_id(ordinal),
            body: MessageBody::Text(words(id).into()),
            reply_to: None,
            forwarded_from: None,
        };
        Entry { seq: head.seq.next(), id, ordinal, change: Change::Message(message) }
    }
}

/// Words rather than one letter, so that compression has no easier task than with real texts.
fn words(seed: u64) -> String {
    let mut state = seed;
    let mut text = String::with_capacity(TEXT_BYTES + 8);
    while text.len() < TEXT_BYTES {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = write!(text, "{:x} ", state >> 40);
    }
    text.truncate(TEXT_BYTES);
    text
}
