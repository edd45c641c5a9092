//! Users, their conversations and messages. The content of a conversation is derived from its id and the numbers of its
//! messages, so that any amount of data can be verified.

use std::fmt::Write as _;
use std::sync::Arc;

use godwit_domain::model::details::default_permissions;
use godwit_domain::model::{
    Change, ClientId, ConversationState, Created, Details, Entry, Handle, Head, Kind, Mentions, Message,
    MessageBody, User, UserPair,
};
use godwit_domain::ports::{Append, AppendOutcome, CreateUser, Store, StoreError};
use godwit_domain::projection::{Effects, Fold, beginning};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::{ConversationId, MessageId, UserId};

use super::verify::Violation;

const TEXT_BYTES: usize = 200;

/// A direct conversation with no other writer.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    pub(super) id: ConversationId,
    pub(super) pair: UserPair,
    /// The state after everything that was acknowledged.
    pub(super) state: ConversationState,
}

/// A new user without conversations.
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
        let pair = UserPair::new(by, other).ok_or(Violation::IdTwice { id: by.get() })?;
        let new = beginning(store.ids(), Kind::Direct(pair), Created::direct(by, pair))?;
        let conversation = new.conversation.clone();
        let id = conversation.id;
        let details = Arc::new(Details::new(conversation.created_at, default_permissions(true)));
        let mut state = ConversationState { conversation, details, head: Head::empty(), members: Vec::new() };
        new.effects.apply_to(&mut state);
        if store.open_direct(pair, new).await?.id != id {
            return Err(Violation::IdTwice { id: by.get() }.into());
        }
        Ok(Self { id, pair, state })
    }

    pub(super) async fn new(store: &dyn Store) -> anyhow::Result<Self> {
        let (by, other) = (new_user(store).await?, new_user(store).await?);
        Self::open(store, by, other).await
    }

    /// The next append: this many messages, from both sides in turn.
    pub(super) fn next(&self, ids: &IdGenerator, messages: usize) -> Result<Append, StoreError> {
        let mut fold = Fold::new(&self.state);
        let mut entries = Vec::with_capacity(messages);
        for _ in 0..messages {
            let entry = self.message_after(fold.head(), ids.next_after(fold.head().id)?);
            fold.apply(&entry);
            entries.push(entry);
        }
        let effects = fold.finish();
        Ok(Append { conversation: self.id, expected_head: self.head().seq, entries, effects })
    }

    pub(super) const fn head(&self) -> &Head {
        &self.state.head
    }

    /// Applies an append that succeeded.
    pub(super) fn accept(&mut self, effects: &Effects, outcome: &AppendOutcome) -> Result<(), Violation> {
        match outcome {
            AppendOutcome::Appended(_) => {
                effects.apply_to(&mut self.state);
                Ok(())
            }
            AppendOutcome::HeadMoved => {
                Err(Violation::HeadMoved { conversation: self.id, head: self.head().seq })
            }
        }
    }

    /// Appends this many more messages.
    pub(super) async fn say(&mut self, store: &dyn Store, messages: usize) -> anyhow::Result<()> {
        let append = self.next(store.ids(), messages)?;
        let effects = append.effects.clone();
        let outcome = store.append(&append).await?;
        Ok(self.accept(&effects, &outcome)?)
    }

    pub(super) fn messages(&self) -> usize {
        self.head().ordinal as usize
    }

    pub(super) fn sender(&self, ordinal: u64) -> UserId {
        if ordinal.is_multiple_of(2) { self.pair.low() } else { self.pair.high() }
    }

    /// As long as the UUIDs of clients.
    pub(super) fn client_id(&self, ordinal: u64) -> ClientId {
        ClientId::from_stored(format!("{:016x}-{ordinal:019x}", self.id.get()))
    }

    /// The entry after `head`, with this id.
    pub(super) fn message_after(&self, head: &Head, id: u64) -> Entry {
        let ordinal = head.ordinal + 1;
        let message = Message {
            id: MessageId::new(id),
            sender_id: self.sender(ordinal),
            client_id: self.client_id(ordinal),
            body: MessageBody::Text(words(id).into()),
            reply: None,
            forwarded_from: None,
            mentions: Mentions::default(),
            expires_at: None,
        };
        Entry { seq: head.seq.next(), id, ordinal, shown: true, change: Change::Message(message) }
    }
}

/// Words rather than a repeated letter, so that the texts compress like real ones.
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
