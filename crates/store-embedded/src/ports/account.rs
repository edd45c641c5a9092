//! The account ports.

use std::collections::BTreeSet;

use async_trait::async_trait;
use godwit_domain::account::{AccountCommand, AccountOutcome};
use godwit_domain::model::{Device, Handle, Scheduled, SearchPrefix, Star, Subject, User};
use godwit_domain::ports::{
    AccountStore, BlockStore, DeviceStore, PersonalStore, Result, SeqRange, UserStore,
};
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use crate::account::change::change;
use crate::account::{blocks, devices, names, people, scheduled, stars, users};
use crate::engine::Direction;
use crate::keys;
use crate::read::Read;
use crate::txn::Txn;
use crate::{EmbeddedStore, due};

#[async_trait]
impl AccountStore for EmbeddedStore {
    async fn change_account(&self, user: UserId, command: AccountCommand) -> Result<AccountOutcome> {
        let operation = command.name();
        let is_content = command.stores_content();
        let write = move |txn: &mut Txn<'_>| change(txn, user, &command);
        if is_content {
            self.write_content(operation, write).await
        } else {
            self.write(operation, write).await
        }
    }
}

#[async_trait]
impl UserStore for EmbeddedStore {
    async fn user(&self, id: UserId) -> Result<Option<User>> {
        users::user(&self.engine.view(), id)
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>> {
        let view = self.engine.view();
        let ids: BTreeSet<UserId> = ids.iter().copied().collect();
        ids.into_iter().filter_map(|id| users::user(&view, id).transpose()).collect()
    }

    async fn disabled_among(&self, ids: &[UserId]) -> Result<Vec<UserId>> {
        let view = self.engine.view();
        let is_disabled = |id| users::with_record(&view, id, |record| record.disabled_at.is_some());
        let found = ids.iter().map(|id| Ok(is_disabled(*id)?.unwrap_or(false).then_some(*id)));
        found.filter_map(Result::transpose).collect()
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>> {
        // The owner may have given the handle up.
        let owner = names::owner(&self.engine.view(), &keys::handle(handle))?;
        Ok(owner.filter(|user| user.handle == *handle))
    }

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>> {
        names::owner(&self.engine.view(), &keys::subject(subject))
    }

    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>> {
        people::search(&self.engine.view(), prefix, after, limit)
    }

    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>> {
        let rows = self.engine.view().page(&keys::users_after(after), Direction::Forward, limit)?;
        rows.iter().map(users::decode).collect()
    }
}

#[async_trait]
impl DeviceStore for EmbeddedStore {
    async fn device(&self, id: DeviceId) -> Result<Option<Device>> {
        devices::device(&self.engine.view(), id)
    }

    async fn device_owner(&self, id: DeviceId) -> Result<Option<UserId>> {
        Ok(devices::device(&self.engine.view(), id)?.map(|device| device.user_id))
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>> {
        devices::devices_of(&self.engine.view(), user)
    }
}

#[async_trait]
impl BlockStore for EmbeddedStore {
    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool)> {
        let view = self.engine.view();
        Ok((view.contains(&keys::block(a, b))?, view.contains(&keys::block(b, a))?))
    }

    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>> {
        let any = keys::blocks_after(user, None);
        blocks::among(&self.engine.view(), &any, others, |other| keys::block(user, other))
    }

    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>> {
        blocks::among(&self.engine.view(), &keys::blockers(user), others, |other| keys::blocker(user, other))
    }

    async fn blocked_by(&self, user: UserId, after: Option<UserId>, limit: usize) -> Result<Vec<UserId>> {
        let rows = self.engine.view().page(&keys::blocks_after(user, after), Direction::Forward, limit)?;
        rows.iter().map(|(key, _)| keys::last_id("blocks", key).map(UserId::new)).collect()
    }
}

#[async_trait]
impl PersonalStore for EmbeddedStore {
    async fn hidden_from(&self, conversation: ConversationId, seq: Seq, limit: usize) -> Result<Vec<UserId>> {
        let range = keys::all_hidden_from(conversation, seq);
        let rows = self.engine.view().page(&range, Direction::Forward, limit)?;
        rows.iter().map(|(key, _)| keys::last_id("hidden messages", key).map(UserId::new)).collect()
    }

    async fn hidden(&self, user: UserId, conversation: ConversationId, range: SeqRange) -> Result<Vec<Seq>> {
        let view = self.engine.view();
        // Most users have hidden nothing, and the lookup of one row is much cheaper than a scan of none.
        if !view.contains(&keys::hidden_count(user, conversation))? {
            return Ok(Vec::new());
        }
        let rows = view.all(&keys::all_hidden(user, conversation, range))?;
        rows.iter().map(|(key, _)| keys::last_id("hidden messages", key).map(Seq::new)).collect()
    }

    async fn stars(&self, user: UserId, before: Option<MessageId>, limit: usize) -> Result<Vec<Star>> {
        stars::stars(&self.engine.view(), user, before, limit)
    }

    async fn scheduled(&self, user: UserId) -> Result<Vec<Scheduled>> {
        scheduled::all(&self.engine.view(), user)
    }

    async fn scheduled_one(&self, user: UserId, id: ScheduledId) -> Result<Option<Scheduled>> {
        scheduled::one(&self.engine.view(), user, id)
    }

    async fn due_scheduled(&self, now: Timestamp, limit: usize) -> Result<Vec<(UserId, ScheduledId)>> {
        due::scheduled(&self.engine.view(), now, limit)
    }
}
