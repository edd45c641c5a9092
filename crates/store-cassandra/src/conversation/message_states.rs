//! Message states, stored beside the log.
//!
//! A state carries the last entry that it includes as the timestamp, so a late write changes nothing. It is in
//! the same bucket as its message, so the states of a page are found by the same range.

use std::collections::HashMap;

use godwit_domain::model::MessageState;
use godwit_domain::ports::{HistoryEnd, SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;

use super::buckets;
use super::rows::Class;
use crate::cql::{Cql, Read, Write};
use crate::records::{StoredState, from_json, to_json};
use crate::values::int;

#[derive(Debug)]
pub(super) struct Statements {
    forward: Read,
    backward: Read,
    of: Read,
    write: Write,
    is_in_bucket: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_bucket = "SELECT seq, body FROM message_states WHERE conversation_id = ? AND bucket = ?";
        Ok(Self {
            forward: cql.prepare_read(&format!("{of_bucket} AND seq > ? AND seq < ? LIMIT ?")).await?,
            backward: cql
                .prepare_read(&format!("{of_bucket} AND seq > ? AND seq < ? ORDER BY seq DESC LIMIT ?"))
                .await?,
            of: cql.prepare_read(&format!("{of_bucket} AND seq IN ?")).await?,
            write: cql
                .prepare_write(
                    "UPDATE message_states USING TIMESTAMP ? SET body = ? \
                     WHERE conversation_id = ? AND bucket = ? AND seq = ?",
                )
                .await?,
            is_in_bucket: cql
                .prepare_read(
                    "SELECT seq FROM log WHERE conversation_id = ? AND bucket = ? AND class = ? AND seq = ?",
                )
                .await?,
        })
    }
}

/// States by the seq of their messages. A message without one is unchanged.
pub(super) type FoundStates = HashMap<Seq, MessageState>;

#[derive(Debug, Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl States<'_> {
    /// The states of the messages on a page of the log. Only messages have states, so the first `limit` states
    /// from one end of the range cover the first `limit` messages.
    pub(super) async fn page(
        self,
        id: ConversationId,
        bucket: u64,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<FoundStates, StoreError> {
        let statement = match end {
            HistoryEnd::Oldest => &self.statements.forward,
            HistoryEnd::Newest => &self.statements.backward,
        };
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        let values = (int(id.get()), int(bucket), int(range.after.get()), int(range.before.get()), limit);
        found(id, self.cql.rows("read message states", statement, values).await?)
    }

    /// The states of messages in one bucket. The caller passes no more than one query accepts.
    pub(super) async fn of(
        self,
        id: ConversationId,
        bucket: u64,
        seqs: Vec<i64>,
    ) -> Result<FoundStates, StoreError> {
        let values = (int(id.get()), int(bucket), seqs);
        found(id, self.cql.rows("read message states", &self.statements.of, values).await?)
    }

    pub(super) async fn write(
        self,
        id: ConversationId,
        seq: Seq,
        state: &MessageState,
    ) -> Result<(), StoreError> {
        let bucket = self.bucket_of(id, seq).await?;
        let body = to_json(&StoredState::from(state));
        let values = (int(state.through.get()), body, int(id.get()), int(bucket), int(seq.get()));
        self.cql.write("write a message state", &self.statements.write, values).await
    }

    /// The bucket of a message. Only the first messages of a bucket need a query.
    async fn bucket_of(self, id: ConversationId, seq: Seq) -> Result<u64, StoreError> {
        let (first, last) = (buckets::first_with(seq), buckets::of_append(seq));
        if first == last {
            return Ok(last);
        }
        let values = (int(id.get()), int(last), Class::Shown.number(), int(seq.get()));
        let row: Option<(i64,)> =
            self.cql.row("find a message", &self.statements.is_in_bucket, values).await?;
        Ok(if row.is_some() { last } else { first })
    }
}

fn found(id: ConversationId, rows: Vec<(i64, String)>) -> Result<FoundStates, StoreError> {
    let state = |(seq, body): (i64, String)| {
        let seq = Seq::new(seq.cast_unsigned());
        let stored: StoredState = from_json("message_states", || format!("{id}/{seq}"), &body)?;
        Ok((seq, stored.into()))
    };
    rows.into_iter().map(state).collect()
}
