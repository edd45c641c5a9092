//! The replies of threads, numbered in order.

use godwit_domain::ports::StoreError;
use godwit_domain::projection::ThreadReply;
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;

use crate::cql::{Cql, Read, Write};
use crate::values::int;

/// Replies per partition.
const BUCKET_REPLIES: u32 = 4_096;

#[derive(Debug)]
pub(super) struct Statements {
    write: Write,
    after: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            write: cql
                .prepare_write(
                    "INSERT INTO replies (conversation_id, root, bucket, number, seq) VALUES (?, ?, ?, ?, ?)",
                )
                .await?,
            after: cql
                .prepare_read(
                    "SELECT number, seq FROM replies WHERE conversation_id = ? AND root = ? AND bucket = ? AND number > ? \
                     LIMIT ?",
                )
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Threads<'_> {
    pub(super) async fn write(self, id: ConversationId, reply: ThreadReply) -> Result<(), StoreError> {
        let ThreadReply { root, number, seq } = reply;
        let (bucket, number) = (i64::from(number / BUCKET_REPLIES), i64::from(number));
        let values = (int(id.get()), int(root.get()), bucket, number, int(seq.get()));
        self.cql.write("write a reply", &self.statements.write, values).await
    }

    pub(crate) async fn after(
        self,
        id: ConversationId,
        root: Seq,
        after: u32,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let mut replies = Vec::new();
        let mut bucket = after.saturating_add(1) / BUCKET_REPLIES;
        while replies.len() < limit {
            let left = i32::try_from(limit - replies.len()).unwrap_or(i32::MAX);
            let values = (int(id.get()), int(root.get()), i64::from(bucket), i64::from(after), left);
            let rows: Vec<(i64, i64)> =
                self.cql.rows("read a thread", &self.statements.after, values).await?;
            // Replies are numbered without gaps.
            let is_full =
                rows.last().is_some_and(|(number, _)| (number + 1) % i64::from(BUCKET_REPLIES) == 0);
            replies.extend(rows.into_iter().map(|(_, seq)| Seq::new(seq.cast_unsigned())));
            if !is_full {
                break;
            }
            bucket += 1;
        }
        Ok(replies)
    }
}
