use std::ops::Bound;

use async_trait::async_trait;
use godwit_domain::model::{Device, Handle, SearchPrefix, Subject, User};
use godwit_domain::ports::{BlockStore, DeviceStore, StoreError, UserStore};
use godwit_protocol::{DeviceId, UserId};

use super::{ModelStore, State};

#[async_trait]
impl UserStore for ModelStore {
    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        Ok(self.state().users.get(&id).cloned())
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError> {
        Ok(self.state().users.values().filter(|u| ids.contains(&u.id)).cloned().collect())
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>, StoreError> {
        Ok(self.state().user_by_handle(handle).cloned())
    }

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>, StoreError> {
        Ok(self.state().user_by_subject(subject).cloned())
    }

    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError> {
        let found = |user: &&User| user.is_in_search_for(prefix);
        Ok(self.state().users_after(after).filter(found).take(limit).cloned().collect())
    }

    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError> {
        Ok(self.state().users_after(after).take(limit).cloned().collect())
    }
}

#[async_trait]
impl DeviceStore for ModelStore {
    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        Ok(self.state().devices.get(&id).cloned())
    }

    async fn device_owner(&self, id: DeviceId) -> Result<Option<UserId>, StoreError> {
        Ok(self.state().devices.get(&id).map(|device| device.user_id))
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError> {
        Ok(self.state().devices_of(user).cloned().collect())
    }
}

#[async_trait]
impl BlockStore for ModelStore {
    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool), StoreError> {
        let blocks = &self.state().blocks;
        Ok((blocks.contains(&(a, b)), blocks.contains(&(b, a))))
    }

    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let blocks = &self.state().blocks;
        Ok(others.iter().copied().filter(|other| blocks.contains(&(user, *other))).collect())
    }

    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let blocks = &self.state().blocks;
        Ok(others.iter().copied().filter(|other| blocks.contains(&(*other, user))).collect())
    }

    async fn blocked_by(
        &self,
        user: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError> {
        let state = self.state();
        let blocked = state.blocks.iter().filter(|(by, _)| *by == user).map(|(_, blocked)| *blocked);
        Ok(blocked.filter(|id| after.is_none_or(|after| *id > after)).take(limit).collect())
    }
}

impl State {
    fn user_by_handle(&self, handle: &Handle) -> Option<&User> {
        self.users.values().find(|user| user.handle == *handle)
    }

    fn user_by_subject(&self, subject: &Subject) -> Option<&User> {
        self.users.values().find(|user| user.subject.as_ref() == Some(subject))
    }

    fn users_after(&self, after: Option<UserId>) -> impl Iterator<Item = &User> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.users.range((from, Bound::Unbounded)).map(|(_, user)| user)
    }

    pub(super) fn devices_of(&self, user: UserId) -> impl Iterator<Item = &Device> {
        self.devices.values().filter(move |device| device.user_id == user)
    }
}
