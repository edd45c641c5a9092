//! Watermarks: how far each log has been projected, and where its buckets begin.
//!
//! A watermark may lag behind the projection, so a background task writes them in batches.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;

use super::buckets::BucketStart;
use crate::cql::{Cql, Read, Write};
use crate::values::int;

/// How long a watermark may lag. It bounds the entries that are projected again after a crash.
pub(super) const WATERMARK_INTERVAL: Duration = Duration::from_millis(500);
/// Watermarks that wait to be written. At more, further ones are dropped, which costs nothing but work after a crash.
const WATERMARKS_WAITING_MAX: usize = 16_384;
/// Watermarks written concurrently.
const WRITES_AT_ONCE_MAX: usize = 128;

#[derive(Debug)]
pub(super) struct Statements {
    read: Read,
    raise: Write,
    begin_bucket: Write,
    fan_out_on_read: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            read: cql
                .prepare_read(
                    "SELECT bucket, projected, fanned_out_on_read FROM log_buckets WHERE conversation_id = ? LIMIT 1",
                )
                .await?,
            raise: cql
                .prepare_write("UPDATE log_buckets USING TIMESTAMP ? SET projected = ? WHERE conversation_id = ?")
                .await?,
            begin_bucket: cql
                .prepare_write(
                    "INSERT INTO log_buckets (conversation_id, bucket, first_seq, first_id) VALUES (?, ?, ?, ?)",
                )
                .await?,
            fan_out_on_read: cql
                .prepare_write("UPDATE log_buckets SET fanned_out_on_read = true WHERE conversation_id = ?")
                .await?,
        })
    }
}

/// The watermark of a log, and hints, as they were read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    /// The last bucket known.
    pub(super) bucket: u64,
    /// `None` when nothing has been projected.
    pub(super) projected: Option<Seq>,
    pub(super) fanned_out_on_read: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Marking<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Marking<'_> {
    pub(super) async fn read(self, id: ConversationId) -> Result<Marks, StoreError> {
        let row: Option<(Option<i64>, Option<i64>, Option<bool>)> =
            self.cql.row("load a watermark", &self.statements.read, (int(id.get()),)).await?;
        let (bucket, projected, fanned_out_on_read) = row.unwrap_or_default();
        Ok(Marks {
            bucket: bucket.map_or(0, i64::cast_unsigned),
            projected: projected.map(|seq| Seq::new(seq.cast_unsigned())),
            fanned_out_on_read: fanned_out_on_read.unwrap_or(false),
        })
    }

    pub(super) async fn raise(self, id: ConversationId, seq: Seq) -> Result<(), StoreError> {
        let values = (int(seq.get()), int(seq.get()), int(id.get()));
        self.cql.write("raise a watermark", &self.statements.raise, values).await
    }

    pub(super) async fn begin_bucket(self, id: ConversationId, start: BucketStart) -> Result<(), StoreError> {
        let values = (int(id.get()), int(start.bucket), int(start.seq.get()), int(start.id));
        self.cql.write("index a bucket", &self.statements.begin_bucket, values).await
    }

    /// Notes that the conversation is fanned out on read, which it stays for ever.
    pub(super) async fn fan_out_on_read(self, id: ConversationId) -> Result<(), StoreError> {
        self.cql.write("note a large conversation", &self.statements.fan_out_on_read, (int(id.get()),)).await
    }
}

/// The watermarks that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Watermarks {
    waiting: Mutex<HashMap<ConversationId, Seq>>,
}

impl Watermarks {
    /// Notes that everything through this entry has been projected.
    pub(super) fn raise(&self, id: ConversationId, seq: Seq) {
        let mut waiting = self.lock();
        if waiting.len() < WATERMARKS_WAITING_MAX || waiting.contains_key(&id) {
            let mark = waiting.entry(id).or_default();
            *mark = seq.max(*mark);
        }
    }

    pub(super) async fn write(&self, marking: Marking<'_>) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.lock());
        let writes = waiting.into_iter().map(|(id, seq)| marking.raise(id, seq));
        stream::iter(writes).buffer_unordered(WRITES_AT_ONCE_MAX).try_collect().await
    }

    /// As if the node had died before it wrote them.
    #[cfg(test)]
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ConversationId, Seq>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
