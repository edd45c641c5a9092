//! The transfer port, with the reads and writes that only a transfer needs.

use async_trait::async_trait;
use godwit_domain::model::{ClientId, Concealed};
use godwit_domain::ports::{
    AccountLog, Changed, ConversationStore, Creation, Result, Trail, TransferState, TransferStore,
};
use godwit_protocol::{ConversationId, UserId};

use crate::conversation::trails;
use crate::engine::{Direction, Row};
use crate::keys::{self, ConversationPart};
use crate::read::Read;
use crate::records::{ConversationIdRecord, Record};
use crate::transfer::tracker::{self, Tracker};
use crate::txn::Txn;
use crate::{EmbeddedStore, account};

#[async_trait]
impl TransferStore for EmbeddedStore {
    async fn all_conversations(
        &self,
        after: Option<ConversationId>,
        limit: usize,
    ) -> Result<Vec<ConversationId>> {
        conversations_after(&self.engine.view(), after, limit)
    }

    async fn all_creations(&self, after: Option<&Creation>, limit: usize) -> Result<Vec<Creation>> {
        let range = keys::made_after(after.map(|after| (after.by, &after.key)));
        let creation = |(key, value): &Row| {
            let (by, client_id) = keys::decode_made(key)?;
            let ConversationIdRecord(conversation) = ConversationIdRecord::decode(key, value)?;
            Ok(Creation { by, key: client_id, conversation })
        };
        self.engine.view().page(&range, Direction::Forward, limit)?.iter().map(creation).collect()
    }

    async fn creation(&self, by: UserId, key: &ClientId) -> Result<Option<Creation>> {
        let made = self.made_with(by, key).await?;
        Ok(made.map(|conversation| Creation { by, key: key.clone(), conversation }))
    }

    async fn put_creation(&self, creation: Creation) -> Result<()> {
        let key = keys::made_with(creation.by, &creation.key);
        let record = ConversationIdRecord(creation.conversation);
        let write = move |txn: &mut Txn<'_>| {
            txn.put_record(key, &record);
            Ok(())
        };
        self.write("put a creation", write).await
    }

    async fn trails(&self, id: ConversationId, after: Option<UserId>, limit: usize) -> Result<Vec<Trail>> {
        trails::after(&self.engine.view(), id, after, limit)
    }

    async fn put_trails(&self, id: ConversationId, trails: Vec<Trail>) -> Result<()> {
        self.write("put trails", move |txn| trails::put(txn, id, &trails)).await
    }

    async fn put_concealed(&self, id: ConversationId, user: UserId, concealed: Concealed) -> Result<()> {
        self.write("conceal", move |txn| account::concealed::conceal(txn, id, user, concealed)).await
    }

    async fn account_log_of(&self, user: UserId) -> Result<AccountLog> {
        account::log::whole(&self.engine.view(), user)
    }

    async fn put_account_log(&self, user: UserId, log: AccountLog) -> Result<()> {
        self.write("put an account log", move |txn| account::log::replace(txn, user, &log)).await
    }

    async fn highest_id(&self) -> Result<u64> {
        Ok(self.ids.last())
    }

    async fn begin_ids_after(&self, id: u64) -> Result<()> {
        // The committer writes the last id with every group. So the generator itself is raised: a higher id in
        // the row alone would be overwritten.
        if self.ids.last() < id {
            self.ids.next_after(id)?;
        }
        let last = self.ids.last();
        let write = move |txn: &mut Txn<'_>| {
            txn.put(keys::highest_id(), last.to_be_bytes().into());
            Ok(())
        };
        self.write("set the id after which ids begin", write).await
    }

    async fn transfer_state(&self) -> Result<TransferState> {
        Ok(Tracker::read(&self.engine.view())?.transfer)
    }

    async fn set_transfer_state(&self, from: &TransferState, to: TransferState) -> Result<TransferState> {
        let from = from.clone();
        let now = self
            .write_for_transfer("change the transfer state", move |txn| tracker::set(txn, &from, to))
            .await?;
        if now == TransferState::Not {
            while !self.write_for_transfer("remove the marks of a transfer", tracker::forget_some).await? {}
        }
        Ok(now)
    }

    async fn changed(&self, limit: usize) -> Result<Changed> {
        self.write_for_transfer("list changed parts", move |txn| tracker::changed(txn, limit)).await
    }

    async fn settled(&self, changed: Changed) -> Result<()> {
        self.write_for_transfer("remove marks of copied parts", move |txn| tracker::settle(txn, &changed))
            .await
    }
}

/// Skips from conversation to conversation, past the rows of their members.
fn conversations_after(
    store: &impl Read,
    mut after: Option<ConversationId>,
    limit: usize,
) -> Result<Vec<ConversationId>> {
    let mut found = Vec::new();
    while found.len() < limit {
        let next = store.page(&keys::conversations_after(after), Direction::Forward, 1)?;
        let Some((key, _)) = next.first() else { break };
        let id = keys::conversation_of(key)?;
        if keys::decode_part(key)? == ConversationPart::Conversation {
            found.push(id);
        }
        after = Some(id);
    }
    Ok(found)
}
