//! The transfer port.

use async_trait::async_trait;
use godwit_domain::model::{ClientId, Concealed};
use godwit_domain::ports::{
    AccountLog, Changed, Creation, Part, Result, Trail, TransferState, TransferStore,
};
use godwit_protocol::{ConversationId, UserId};

use crate::CassandraStore;

#[async_trait]
impl TransferStore for CassandraStore {
    async fn all_conversations(
        &self,
        after: Option<ConversationId>,
        limit: usize,
    ) -> Result<Vec<ConversationId>> {
        self.conversations.all(after, limit).await
    }

    async fn all_creations(&self, after: Option<&Creation>, limit: usize) -> Result<Vec<Creation>> {
        self.conversations.all_creations(after, limit).await
    }

    async fn creation(&self, by: UserId, key: &ClientId) -> Result<Option<Creation>> {
        self.conversations.creation(by, key).await
    }

    async fn put_creation(&self, creation: Creation) -> Result<()> {
        let pass = self.gate.enter([Part::Creation(creation.by, creation.key.clone())]).await?;
        pass.leave(self.conversations.put_creation(creation).await).await
    }

    async fn trails(&self, id: ConversationId, after: Option<UserId>, limit: usize) -> Result<Vec<Trail>> {
        self.conversations.trails(id, after, limit).await
    }

    async fn put_trails(&self, id: ConversationId, trails: Vec<Trail>) -> Result<()> {
        let pass = self.gate.enter([Part::Conversation(id)]).await?;
        pass.leave(self.conversations.put_trails(id, trails).await).await
    }

    async fn put_concealed(&self, id: ConversationId, user: UserId, concealed: Concealed) -> Result<()> {
        let pass = self.gate.enter([Part::Membership(user, id)]).await?;
        pass.leave(self.conversations.conceal(id, user, concealed).await).await
    }

    async fn account_log_of(&self, user: UserId) -> Result<AccountLog> {
        self.accounts.whole_log(user).await
    }

    async fn put_account_log(&self, user: UserId, log: AccountLog) -> Result<()> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.accounts.replace_log(user, &log).await).await
    }

    async fn highest_id(&self) -> Result<u64> {
        self.rounds.highest_id().await
    }

    async fn begin_ids_after(&self, id: u64) -> Result<()> {
        let pass = self.gate.enter([]).await?;
        pass.leave(self.lease.begin_ids_after(id).await).await
    }

    async fn transfer_state(&self) -> Result<TransferState> {
        self.rounds.transfer_state().await
    }

    async fn set_transfer_state(&self, from: &TransferState, to: TransferState) -> Result<TransferState> {
        self.rounds.set_transfer_state(from, to).await
    }

    async fn changed(&self, limit: usize) -> Result<Changed> {
        self.rounds.changed(limit).await
    }

    async fn settled(&self, changed: Changed) -> Result<()> {
        self.rounds.settled(changed).await
    }
}
