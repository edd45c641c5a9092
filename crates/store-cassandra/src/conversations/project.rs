//! What follows from entries of the log, and the watermark that says how far that has been written.
//!
//! Every write here can be repeated without harm. After an append all of them are done before it is acknowledged; after a
//! crash in between, whoever loads the conversation does them again from the watermark on. The watermark itself may lag
//! behind, so it is written now and then, by a task of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::{AccountEntry, Change, Cursor, Entry};
use godwit_domain::ports::{CursorMove, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;

use super::buckets::BucketStart;
use super::cursors;
use crate::cql::{Cql, Write};
use crate::inbox::Inbox;
use crate::values::int;

/// Writes of one projection that are under way at once.
const WRITES_AT_ONCE_MAX: usize = 128;
/// How long a watermark may lag behind; it bounds what is projected again after a crash.
pub(super) const WATERMARK_INTERVAL: Duration = Duration::from_millis(500);
/// Watermarks that wait to be written. Past it the oldest of them are just forgotten: that costs work after a crash,
/// nothing else.
const WATERMARKS_WAITING_MAX: usize = 16_384;

#[derive(Debug)]
pub(super) struct Statements {
    client_id: Write,
    message_id: Write,
    bucket: Write,
    watermark: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            client_id: cql
                .prepare_write("INSERT INTO client_ids (conversation_id, sender_id, client_id, seq) VALUES (?, ?, ?, ?)")
                .await?,
            message_id: cql
                .prepare_write("INSERT INTO message_ids (message_id, conversation_id, seq) VALUES (?, ?, ?)")
                .await?,
            bucket: cql
                .prepare_write(
                    "INSERT INTO log_buckets (conversation_id, bucket, first_seq, first_id) VALUES (?, ?, ?, ?)",
                )
                .await?,
            watermark: cql
                .prepare_write("UPDATE log_buckets USING TIMESTAMP ? SET projected = ? WHERE conversation_id = ?")
                .await?,
        })
    }
}

/// Entries that are in the log, with all that is to follow from them.
#[derive(Debug)]
pub(super) struct Projection {
    pub(super) conversation: ConversationId,
    /// The bucket that they begin.
    pub(super) begun: Option<BucketStart>,
    pub(super) entries: Vec<Entry>,
    pub(super) cursors: Vec<CursorMove>,
    pub(super) members: Vec<UserId>,
    pub(super) list_for: Vec<UserId>,
    /// When something was last said, or the conversation made.
    pub(super) activity_at: Timestamp,
}

impl Projection {
    /// The senders, read up to their own last messages.
    pub(super) fn senders(conversation: ConversationId, entries: &[Entry]) -> Vec<CursorMove> {
        let mut last = HashMap::new();
        for entry in entries {
            if let Change::Message(message) = &entry.change {
                let cursor = Cursor::at(entry.seq, entry.ordinal);
                let user_id = message.sender_id;
                last.insert(user_id, CursorMove { conversation, user_id, cursor, at: entry.at() });
            }
        }
        last.into_values().collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Projector<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
    pub(super) cursors: &'a cursors::Statements,
    pub(super) inbox: &'a Arc<Inbox>,
}

impl Projector<'_> {
    pub(super) async fn begin_bucket(self, id: ConversationId, start: BucketStart) -> Result<(), StoreError> {
        let values = (int(id.get()), int(start.bucket), int(start.seq.get()), int(start.id));
        self.cql.write("index a bucket", &self.statements.bucket, values).await
    }

    pub(super) async fn raise_watermark(self, id: ConversationId, seq: Seq) -> Result<(), StoreError> {
        let values = (int(seq.get()), int(seq.get()), int(id.get()));
        self.cql.write("raise a watermark", &self.statements.watermark, values).await
    }

    /// Writes what follows from the entries, and gives back what it wrote to account logs.
    pub(super) async fn project(
        self,
        projection: &Projection,
    ) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let Projection { conversation, entries, cursors, members, activity_at, .. } = projection;
        let mut writes: Vec<BoxFuture<'_, Result<(), StoreError>>> = Vec::new();
        for entry in entries {
            if let Change::Message(message) = &entry.change {
                let (id, seq) = (int(conversation.get()), int(entry.seq.get()));
                let client_id = (id, int(message.sender_id.get()), message.client_id.as_str(), seq);
                writes
                    .push(self.cql.write("index a client id", &self.statements.client_id, client_id).boxed());
                let message_id = (int(message.id.get()), id, seq);
                writes
                    .push(self.cql.write("index a message", &self.statements.message_id, message_id).boxed());
            }
        }
        writes.extend(projection.begun.map(|start| self.begin_bucket(*conversation, start).boxed()));
        for by in cursors {
            writes
                .push(cursors::write(self.cql, self.cursors, *by, cursors::Passed::both(by.cursor)).boxed());
        }
        let says_something = entries.iter().any(|entry| entry.message().is_some());
        for user in members.iter().filter(|_| says_something) {
            writes.push(self.inbox.follow(*user, *conversation, *activity_at).boxed());
        }
        stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect::<()>().await?;
        // Afterwards: who is told of the conversation finds it.
        let at = entries.last().map_or(*activity_at, Entry::at);
        let lists = projection.list_for.iter().copied().map(|user| async move {
            let listed = self.inbox.list(user, *conversation, *activity_at, at).await?;
            Ok(listed.map(|entry| (user, entry)))
        });
        stream::iter(lists)
            .buffered(WRITES_AT_ONCE_MAX)
            .try_filter_map(|listed| async move { Ok(listed) })
            .try_collect()
            .await
    }
}

/// Conversations whose watermarks are to be written.
#[derive(Debug, Default)]
pub(super) struct Watermarks {
    waiting: Mutex<HashMap<ConversationId, Seq>>,
}

impl Watermarks {
    /// Everything up to here has been projected.
    pub(super) fn raise(&self, id: ConversationId, seq: Seq) {
        let mut waiting = self.lock();
        if waiting.len() < WATERMARKS_WAITING_MAX || waiting.contains_key(&id) {
            let mark = waiting.entry(id).or_default();
            *mark = seq.max(*mark);
        }
    }

    pub(super) async fn write(&self, projector: Projector<'_>) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.lock());
        let writes = waiting.into_iter().map(|(id, seq)| projector.raise_watermark(id, seq));
        stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, Seq>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
