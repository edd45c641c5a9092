//! Messages that users have hidden for themselves. There may be many, and pages of a conversation read them, so
//! they have tables of their own.

use std::sync::Arc;

use godwit_domain::ports::{SeqRange, StoreError};
use godwit_protocol::{ConversationId, Seq, UserId};
use scylla::errors::PrepareError;

use crate::cql::{Cql, Read, Write};
use crate::values::{int, row_limit};

#[derive(Debug)]
pub(crate) struct Hidden {
    cql: Arc<Cql>,
    within: Read,
    first: Read,
    hide: Write,
    hide_from: Write,
    from: Read,
}

impl Hidden {
    pub(crate) async fn new(cql: Arc<Cql>) -> Result<Self, PrepareError> {
        let hidden = "SELECT seq FROM hidden WHERE user_id = ? AND conversation_id = ?";
        Ok(Self {
            within: cql.prepare_read(&format!("{hidden} AND seq > ? AND seq < ?")).await?,
            first: cql.prepare_read(&format!("{hidden} LIMIT ?")).await?,
            hide: cql
                .prepare_write("INSERT INTO hidden (user_id, conversation_id, seq) VALUES (?, ?, ?)")
                .await?,
            hide_from: cql
                .prepare_write("INSERT INTO hidden_from (conversation_id, seq, user_id) VALUES (?, ?, ?)")
                .await?,
            from: cql
                .prepare_read("SELECT user_id FROM hidden_from WHERE conversation_id = ? AND seq = ? LIMIT ?")
                .await?,
            cql,
        })
    }

    /// The first hidden messages of a user in a conversation. Concurrent calls that hide messages may not see
    /// each other.
    pub(crate) async fn first(
        &self,
        user: UserId,
        conversation: ConversationId,
        limit: usize,
    ) -> Result<Vec<Seq>, StoreError> {
        let values =
            (int(user.get()), int(conversation.get()), i32::try_from(limit).unwrap_or(i32::MAX).max(1));
        let rows: Vec<(i64,)> = self.cql.rows("count hidden messages", &self.first, values).await?;
        Ok(rows.into_iter().map(|(seq,)| Seq::new(seq.cast_unsigned())).collect())
    }

    pub(crate) async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
    ) -> Result<(), StoreError> {
        let (user, id, seq) = (int(user.get()), int(conversation.get()), int(seq.get()));
        // The row by message is written first, because the limit counts the rows by user.
        self.cql.write("hide a message", &self.hide_from, (id, seq, user)).await?;
        self.cql.write("hide a message", &self.hide, (user, id, seq)).await
    }

    pub(crate) async fn from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        let values = (int(conversation.get()), int(seq.get()), limit);
        let rows: Vec<(i64,)> =
            self.cql.rows("read which users have hidden a message", &self.from, values).await?;
        Ok(rows.into_iter().map(|(user,)| UserId::new(user.cast_unsigned())).collect())
    }

    pub(crate) async fn within(
        &self,
        user: UserId,
        conversation: ConversationId,
        range: SeqRange,
    ) -> Result<Vec<Seq>, StoreError> {
        let (after, before) = (int(range.after.get()), int(range.before.get()));
        let values = (int(user.get()), int(conversation.get()), after, before);
        let rows: Vec<(i64,)> = self.cql.rows("read hidden messages", &self.within, values).await?;
        Ok(rows.into_iter().map(|(seq,)| Seq::new(seq.cast_unsigned())).collect())
    }
}
