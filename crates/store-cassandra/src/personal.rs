//! What is between a user and the server: messages deleted for oneself, starred and scheduled ones.
//!
//! The last two are in the [account](crate::accounts). Messages that are hidden are many, and asked for by the pages of a
//! conversation, so they have a table of their own.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Concealed, Scheduled, Star};
use godwit_domain::ports::{
    Listed, Part, PersonalStore, ReplaceScheduled, ScheduleOutcome, SeqRange, StoreError,
};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;

use crate::CassandraStore;
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

    /// Whether there is room for it, or it is hidden already. Those who hide at the same moment may come over the limit
    /// together.
    async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        max: usize,
    ) -> Result<bool, StoreError> {
        let (user, id, seq) = (int(user.get()), int(conversation.get()), int(seq.get()));
        let counted = i32::try_from(max).unwrap_or(i32::MAX).max(1);
        let hidden: Vec<(i64,)> =
            self.cql.rows("count hidden messages", &self.first, (user, id, counted)).await?;
        if hidden.len() >= max && !hidden.contains(&(seq,)) {
            return Ok(false);
        }
        // The one by which it is found for others comes first: the limit counts the other.
        self.cql.write("hide a message", &self.hide_from, (id, seq, user)).await?;
        self.cql.write("hide a message", &self.hide, (user, id, seq)).await?;
        Ok(true)
    }

    async fn from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        let values = (int(conversation.get()), int(seq.get()), limit);
        let rows: Vec<(i64,)> = self.cql.rows("read who has hidden", &self.from, values).await?;
        Ok(rows.into_iter().map(|(user,)| UserId::new(user.cast_unsigned())).collect())
    }

    async fn within(
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

#[async_trait]
impl PersonalStore for CassandraStore {
    async fn hide(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let pass = self.gate.enter([Part::Membership(user, conversation)]).await?;
        let hidden = async {
            if !self.hidden.hide(user, conversation, seq, max).await? {
                return Ok(Listed::Full);
            }
            let concealed = Concealed { hidden_to: seq, ..Concealed::default() };
            self.conversations.conceal(conversation, user, concealed).await?;
            let mut written = self.accounts.note(user, vec![note]).await?;
            Ok(written.pop().map_or(Listed::Unchanged, Listed::Added))
        };
        pass.leave(hidden.await).await
    }

    async fn hidden(
        &self,
        user: UserId,
        conversation: ConversationId,
        range: SeqRange,
    ) -> Result<Vec<Seq>, StoreError> {
        self.hidden.within(user, conversation, range).await
    }

    async fn hidden_from(
        &self,
        conversation: ConversationId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        self.hidden.from(conversation, seq, limit).await
    }

    async fn star(
        &self,
        user: UserId,
        star: Star,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.star(user, star, max, note).await).await
    }

    async fn unstar(
        &self,
        user: UserId,
        message: MessageId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.unstar(user, message, note).await).await
    }

    async fn stars(
        &self,
        user: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Star>, StoreError> {
        self.accounts.stars(user, before, limit).await
    }

    async fn schedule(
        &self,
        scheduled: Scheduled,
        max: usize,
        note: AccountNote,
    ) -> Result<ScheduleOutcome, StoreError> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.schedule(&self.due, scheduled, max, note).await).await
    }

    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>, StoreError> {
        self.accounts.scheduled(user).await
    }

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>, StoreError> {
        self.accounts.scheduled_one(user, id).await
    }

    async fn replace_scheduled(
        &self,
        expected: Scheduled,
        with: Option<Scheduled>,
        note: Option<AccountNote>,
    ) -> Result<ReplaceScheduled, StoreError> {
        let pass = self.gate.enter([]).await?;
        let replaced = self.accounts.replace_scheduled(&self.due, expected, with, note).await;
        pass.leave(replaced).await
    }

    async fn due_scheduled(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(UserId, ScheduledId)>, StoreError> {
        self.accounts.due_scheduled(&self.due, now, limit).await
    }
}
