//! The account ports. Hidden messages are not part of an account in this store: pages of a
//! [conversation](crate::conversation) read them, so they are stored there.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use godwit_domain::account::{AccountCommand, AccountOutcome, AccountPart, Name};
use godwit_domain::model::{Concealed, Device, Handle, Scheduled, SearchPrefix, Star, Subject, User};
use godwit_domain::ports::{
    AccountStore, BlockStore, DeviceStore, Part, PersonalStore, Result, SeqRange, UserStore,
};
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use crate::CassandraStore;
use crate::account::Outside;

#[async_trait]
impl AccountStore for CassandraStore {
    async fn change_account(&self, user: UserId, command: AccountCommand) -> Result<AccountOutcome> {
        let membership = match &command {
            AccountCommand::Hide { conversation, .. }
            | AccountCommand::ChangeSettings { conversation, .. } => Some(*conversation),
            _ => None,
        };
        let pass = self.gate.enter(membership.map(|id| Part::Membership(user, id))).await?;
        let changed = async {
            let outside = match (membership, command.parts().first()) {
                (Some(id), Some(AccountPart::Hidden { seq, counted_to, .. })) => {
                    self.hiding(user, id, *seq, *counted_to).await?
                }
                (Some(id), _) => {
                    let write = self.inbox.doubting(user, id, None);
                    Outside { write: Some(Box::new(write)), ..Outside::default() }
                }
                (None, _) => Outside::default(),
            };
            self.accounts.change(user, command, outside).await
        };
        pass.leave(changed.await).await
    }
}

impl CassandraStore {
    async fn hiding(
        &self,
        user: UserId,
        conversation: ConversationId,
        seq: Seq,
        counted_to: usize,
    ) -> Result<Outside> {
        let first = self.hidden.first(user, conversation, counted_to).await?;
        let (hidden, conversations) = (self.hidden.clone(), self.conversations.clone());
        let write = move |_| -> BoxFuture<'static, Result<()>> {
            let (hidden, conversations) = (hidden.clone(), conversations.clone());
            Box::pin(async move {
                hidden.hide(user, conversation, seq).await?;
                conversations.conceal(conversation, user, Concealed::hiding(seq)).await
            })
        };
        let hidden = (first.contains(&seq), first.len());
        Ok(Outside { hidden, write: Some(Box::new(write)), ..Outside::default() })
    }
}

#[async_trait]
impl UserStore for CassandraStore {
    async fn user(&self, id: UserId) -> Result<Option<User>> {
        self.accounts.user(id).await
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>> {
        self.accounts.users(ids).await
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>> {
        self.accounts.user_by_name(&Name::Handle(handle.clone())).await
    }

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>> {
        self.accounts.user_by_name(&Name::Subject(subject.clone())).await
    }

    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>> {
        self.accounts.search_users(prefix, after, limit).await
    }

    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>> {
        self.accounts.list_users(after, limit).await
    }
}

#[async_trait]
impl DeviceStore for CassandraStore {
    async fn device(&self, id: DeviceId) -> Result<Option<Device>> {
        self.accounts.device(id).await
    }

    async fn device_owner(&self, id: DeviceId) -> Result<Option<UserId>> {
        self.accounts.device_owner(id).await
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>> {
        self.accounts.devices_of(user).await
    }
}

#[async_trait]
impl BlockStore for CassandraStore {
    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool)> {
        self.accounts.blocks_between(a, b).await
    }

    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>> {
        self.accounts.blocked_among(user, others).await
    }

    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>> {
        self.accounts.blockers_among(user, others).await
    }

    async fn blocked_by(&self, user: UserId, after: Option<UserId>, limit: usize) -> Result<Vec<UserId>> {
        self.accounts.blocked_by(user, after, limit).await
    }
}

#[async_trait]
impl PersonalStore for CassandraStore {
    async fn hidden(&self, user: UserId, conversation: ConversationId, range: SeqRange) -> Result<Vec<Seq>> {
        self.hidden.within(user, conversation, range).await
    }

    async fn hidden_from(&self, conversation: ConversationId, seq: Seq, limit: usize) -> Result<Vec<UserId>> {
        self.hidden.from(conversation, seq, limit).await
    }

    async fn stars(&self, user: UserId, before: Option<MessageId>, limit: usize) -> Result<Vec<Star>> {
        self.accounts.stars(user, before, limit).await
    }

    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>> {
        self.accounts.scheduled(user).await
    }

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>> {
        self.accounts.scheduled_one(user, id).await
    }

    async fn due_scheduled(&self, now: Timestamp, limit: usize) -> Result<Vec<(UserId, ScheduledId)>> {
        self.accounts.due_scheduled(now, limit).await
    }
}
