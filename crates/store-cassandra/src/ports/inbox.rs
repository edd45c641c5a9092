//! The inbox port, with the account log.

use async_trait::async_trait;
use futures_util::try_join;
use godwit_domain::model::{AccountEntry, AccountNote, Settings};
use godwit_domain::ports::{ActivityPosition, ChangedRow, InboxRow, InboxStore, Part, Result, UnorderedRow};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use crate::CassandraStore;
use crate::account::Section;

const EVER: Timestamp = Timestamp::from_millis(0);
/// Conversations that other calls may pin while a page of pinned ones is read.
const PINNED_MEANWHILE_MAX: usize = 64;

#[async_trait]
impl InboxStore for CassandraStore {
    async fn inbox(
        &self,
        user: UserId,
        archived: bool,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<InboxRow>> {
        let recent = self.inbox.recent(user).await?;
        self.inbox.sections(user, &recent, &[Section::unpinned(archived)], EVER, after, limit).await
    }

    async fn pinned(&self, user: UserId) -> Result<Vec<InboxRow>> {
        let (pinned, recent) = try_join!(self.accounts.pinned(user), self.inbox.recent(user))?;
        let limit = pinned + PINNED_MEANWHILE_MAX;
        self.inbox.sections(user, &recent, &Section::ALL_PINNED, EVER, None, limit).await
    }

    async fn fanned_out_on_read(&self, user: UserId) -> Result<Vec<UnorderedRow>> {
        self.inbox.apart(user).await
    }

    async fn changed_since(
        &self,
        user: UserId,
        floor: Timestamp,
        after: Option<ActivityPosition>,
        limit: usize,
    ) -> Result<Vec<ChangedRow>> {
        self.inbox.changed(user, floor, after, limit).await
    }

    async fn settings(&self, user: UserId, conversation: ConversationId) -> Result<Settings> {
        let mut memberships = self.accounts.memberships(user, &[conversation]).await?;
        Ok(memberships.remove(&conversation).map(|membership| membership.settings).unwrap_or_default())
    }

    async fn clear(
        &self,
        user: UserId,
        conversation: ConversationId,
        cleared: Seq,
        ordinal: u64,
        note: AccountNote,
    ) -> Result<AccountEntry> {
        let pass = self.gate.enter([Part::Membership(user, conversation)]).await?;
        pass.leave(self.conversations.clear(user, conversation, cleared, ordinal, note).await).await
    }

    async fn account_log(&self, user: UserId, after: u64, limit: usize) -> Result<Option<Vec<AccountEntry>>> {
        self.accounts.account_log(user, after, limit).await
    }

    async fn account_head(&self, user: UserId) -> Result<u64> {
        self.accounts.account_head(user).await
    }
}
