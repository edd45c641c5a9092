//! Makes conversations: exactly one per pair or key, even if several nodes make it at once, and completely,
//! even if the node crashes midway.
//!
//! The row of the pair or the key is agreed on first and contains everything that the rest needs. The rest is
//! idempotent. A caller that finds the row without a watermark does the rest again.

mod keys;

use std::sync::Arc;

use godwit_domain::model::{
    AccountEntry, Change, ClientId, Conversation, ConversationState, Created, Details, Entry, Head, Kind,
    UserPair,
};
use godwit_domain::ports::{Made, NewConversation, Part, StoreError};
use godwit_domain::projection::Fold;
use godwit_protocol::conversations::ConversationKind;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::DeserializeRow;
use scylla::errors::PrepareError;
use scylla::value::CqlTimestamp;

use super::Conversations;
use super::append::{Appended, NewEntries};
use super::buckets::BucketStart;
use super::project::{Projection, fan_out_after};
use super::rows::body_of;
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, unavailable};
use crate::inbox::Activity;
use crate::records::{StoredChange, corrupt, from_json};
use crate::transfer::Pass;
use crate::values::{int, time};

pub(super) const FIRST: Seq = Seq::new(1);
const OPERATION: &str = "make a conversation";

#[derive(Debug)]
pub(super) struct Statements {
    pairs: Rows,
    keys: Rows,
}

/// The statements of a table of claims, `directs` or `creations`.
#[derive(Debug)]
struct Rows {
    find: Read,
    find_serial: SerialRead,
    claim: Conditional,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            pairs: Rows::prepare(cql, "directs", ["low", "high"]).await?,
            keys: Rows::prepare(cql, "creations", ["user_id", "key"]).await?,
        })
    }
}

impl Rows {
    async fn prepare(cql: &Cql, table: &str, [first, second]: [&str; 2]) -> Result<Self, PrepareError> {
        let find = format!(
            "SELECT conversation_id, created_at, entry_id, created FROM {table} \
             WHERE {first} = ? AND {second} = ?"
        );
        let claim = format!(
            "INSERT INTO {table} ({first}, {second}, conversation_id, created_at, entry_id, created) \
             VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS"
        );
        Ok(Self {
            find: cql.prepare_read(&find).await?,
            find_serial: cql.prepare_serial_read(&find).await?,
            claim: cql.prepare_conditional(&claim).await?,
        })
    }
}

/// The property that makes a conversation unique.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Unique {
    Pair(UserPair),
    Key(UserId, ClientId),
}

impl Unique {
    fn creation(&self) -> Option<Part> {
        match self {
            Self::Pair(_) => None,
            Self::Key(by, key) => Some(Part::Creation(*by, key.clone())),
        }
    }
}

/// The content of a claim.
#[derive(Debug, Clone, Copy)]
struct Claimed<'a> {
    id: ConversationId,
    created_at: Timestamp,
    /// The first entry of its log.
    created: &'a Entry,
}

#[derive(Debug, DeserializeRow)]
struct Row {
    conversation_id: i64,
    created_at: CqlTimestamp,
    entry_id: i64,
    created: Option<String>,
}

impl Conversations {
    pub(crate) async fn open_direct(
        &self,
        pair: UserPair,
        new: NewConversation,
        pass: &Pass<'_>,
    ) -> Result<Made, StoreError> {
        self.make_once(Unique::Pair(pair), new, pass).await
    }

    pub(crate) async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        let unique = Unique::Pair(pair);
        let Some(row) = self.find(&unique).await? else { return Ok(None) };
        let id = row.id();
        if !self.is_finished(id).await? {
            let pass = self.gate.enter([]).await?;
            let made = self.make(Some(&unique), row.into_new()?, &pass).await;
            pass.leave(made).await?;
        }
        Ok(Some(id))
    }

    pub(crate) async fn create(
        &self,
        new: NewConversation,
        key: Option<&ClientId>,
        pass: &Pass<'_>,
    ) -> Result<Made, StoreError> {
        if let Some(key) = key {
            let unique = Unique::Key(new.conversation.created_by, key.clone());
            return self.make_once(unique, new, pass).await;
        }
        let id = new.conversation.id;
        if self.is_finished(id).await? {
            return Ok(Made { id, made: None });
        }
        let (appended, notes) = self.make(None, new, pass).await?;
        Ok(Made { id, made: (appended || !notes.is_empty()).then_some(notes) })
    }

    async fn make_once(
        &self,
        unique: Unique,
        new: NewConversation,
        pass: &Pass<'_>,
    ) -> Result<Made, StoreError> {
        let _guard = self.uniques_in_use.lock(unique.clone()).await;
        if let Some(row) = self.find(&unique).await? {
            let id = row.id();
            if !self.is_finished(id).await? {
                self.make(Some(&unique), row.into_new()?, pass).await?;
            }
            return Ok(Made { id, made: None });
        }
        let id = new.conversation.id;
        match self.claim(&unique, &new).await {
            Outcome::Applied => {}
            Outcome::NotApplied => return self.claimed(&unique, new, pass, None).await,
            Outcome::Unknown(error) => {
                tracing::debug!(%id, %error, "reading back a new conversation");
                return self.claimed(&unique, new, pass, Some(error)).await;
            }
        }
        Ok(Made { id, made: Some(self.make(Some(&unique), new, pass).await?.1) })
    }

    /// Another caller was faster, or the outcome of the claim is unknown: reads the claim back and finishes
    /// what it says.
    async fn claimed(
        &self,
        unique: &Unique,
        new: NewConversation,
        pass: &Pass<'_>,
        error: Option<StoreError>,
    ) -> Result<Made, StoreError> {
        let Some(row) = self.find_serial(OPERATION, unique).await? else {
            return Err(error.unwrap_or_else(|| unavailable(OPERATION, "it was not found after it was made")));
        };
        let first = row.into_new()?;
        let id = first.conversation.id;
        if id == new.conversation.id {
            return Ok(Made { id, made: Some(self.make(Some(unique), new, pass).await?.1) });
        }
        self.make(Some(unique), first, pass).await?;
        Ok(Made { id, made: None })
    }

    pub(super) async fn claim(&self, unique: &Unique, new: &NewConversation) -> Outcome {
        let NewConversation { conversation, created, .. } = new;
        let claimed = Claimed { id: conversation.id, created_at: conversation.created_at, created };
        self.claim_row(unique, claimed).await
    }

    async fn claim_row(&self, unique: &Unique, claimed: Claimed<'_>) -> Outcome {
        let Claimed { id, created_at, created } = claimed;
        let (id, at) = (int(id.get()), time(created_at));
        let (entry_id, created) = (int(created.id), body_of(&created.change));
        match unique {
            Unique::Pair(pair) => {
                let (low, high) = (int(pair.low().get()), int(pair.high().get()));
                let row = (low, high, id, at, entry_id, created);
                self.cql.conditional(OPERATION, &self.making.pairs.claim, row).await
            }
            Unique::Key(user, key) => {
                let row = (int(user.get()), key.as_str(), id, at, entry_id, created);
                self.cql.conditional(OPERATION, &self.making.keys.claim, row).await
            }
        }
    }

    async fn find(&self, unique: &Unique) -> Result<Option<Row>, StoreError> {
        const OPERATION: &str = "find a conversation";
        match unique {
            Unique::Pair(pair) => {
                let values = (int(pair.low().get()), int(pair.high().get()));
                self.cql.row(OPERATION, &self.making.pairs.find, values).await
            }
            Unique::Key(user, key) => {
                self.cql.row(OPERATION, &self.making.keys.find, (int(user.get()), key.as_str())).await
            }
        }
    }

    async fn find_serial(&self, operation: &'static str, unique: &Unique) -> Result<Option<Row>, StoreError> {
        match unique {
            Unique::Pair(pair) => {
                let values = (int(pair.low().get()), int(pair.high().get()));
                self.cql.serial_row(operation, &self.making.pairs.find_serial, values).await
            }
            Unique::Key(user, key) => {
                let values = (int(user.get()), key.as_str());
                self.cql.serial_row(operation, &self.making.keys.find_serial, values).await
            }
        }
    }

    async fn is_finished(&self, id: ConversationId) -> Result<bool, StoreError> {
        Ok(self.marking().read(id).await?.projected.is_some())
    }

    /// Makes everything but the claim. Returns whether this call began the log, and the notes written to
    /// account logs.
    async fn make(
        &self,
        unique: Option<&Unique>,
        new: NewConversation,
        pass: &Pass<'_>,
    ) -> Result<(bool, Vec<(UserId, AccountEntry)>), StoreError> {
        let NewConversation { conversation, created, effects } = new;
        // Until here the conversation is invisible.
        let creation = unique.and_then(Unique::creation);
        pass.mark([Part::Conversation(conversation.id)].into_iter().chain(creation)).await?;
        self.about().make(&conversation).await?;
        let appended = self.log().append(NewEntries {
            conversation: conversation.id,
            expected_head: Seq::ZERO,
            entries: std::slice::from_ref(&created),
            head: &effects.head,
        });
        // If another caller was faster, it may have crashed after the append, so the projection runs in any
        // case.
        let appended = appended.await? != Appended::No;
        let fan_out = fan_out_after(&effects);
        let projection = Projection {
            conversation: conversation.id,
            begun: Some(BucketStart::new(0, &created)),
            activity: Activity::of(&effects.head, conversation.created_at),
            fan_out,
            entries: std::slice::from_ref(&created),
            effects: &effects,
        };
        let notes = self.project(&projection).await?;
        // Written at once and not in a batch: until then every reader repeats all this.
        self.marking().raise(conversation.id, FIRST).await?;
        Ok((appended, notes))
    }
}

impl Row {
    const fn id(&self) -> ConversationId {
        ConversationId::new(self.conversation_id.cast_unsigned())
    }

    /// The conversation that the claim describes.
    fn into_new(self) -> Result<NewConversation, StoreError> {
        let (id, created_at) = (self.id(), Timestamp::from_millis(self.created_at.0));
        let invalid = |reason: &str| corrupt("directs or creations", id.to_string(), reason);
        let created = self.created.ok_or_else(|| invalid("it has no first entry"))?;
        let stored: StoredChange = from_json("directs or creations", || id.to_string(), &created)?;
        let Change::Created(created) = Change::from(stored) else {
            return Err(invalid("it is not the beginning of a conversation"));
        };
        let kind = kind_of(&created).ok_or_else(|| invalid("a direct conversation has two members"))?;
        let conversation = Conversation { id, kind, created_by: created.by, created_at };
        Ok(beginning(conversation, self.entry_id.cast_unsigned(), *created))
    }
}

fn kind_of(created: &Created) -> Option<Kind> {
    match (created.kind, &*created.member_ids) {
        (ConversationKind::Direct, [a, b]) => UserPair::new(*a, *b).map(Kind::Direct),
        (ConversationKind::Direct, _) => None,
        (ConversationKind::Group, _) => Some(Kind::Group),
        (ConversationKind::Channel, _) => Some(Kind::Channel),
    }
}

/// A conversation with its first entry, and the effects of that.
fn beginning(conversation: Conversation, entry_id: u64, created: Created) -> NewConversation {
    let details = Arc::new(Details::new(conversation.created_at, created.permissions));
    let nothing = ConversationState { conversation, details, head: Head::empty(), members: Vec::new() };
    let mut fold = Fold::new(&nothing);
    let created: Entry = fold.next_entry(entry_id, Change::Created(Box::new(created)));
    fold.apply(&created);
    let effects = fold.finish();
    NewConversation { conversation: nothing.conversation, created, effects }
}
