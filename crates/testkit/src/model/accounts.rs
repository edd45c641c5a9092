use std::ops::Bound;

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Device, Handle, SearchPrefix, Session, Subject, User};
use godwit_domain::ports::{
    BlockOutcome, BlockStore, CreateDevice, CreateUser, DeviceStore, Rotation, StoreError, UpdateUser,
    UserChange, UserStore,
};
use godwit_protocol::{DeviceId, Timestamp, UserId};

use super::{ModelStore, State};

#[async_trait]
impl UserStore for ModelStore {
    async fn create_user(&self, user: User) -> Result<CreateUser, StoreError> {
        let mut state = self.state();
        if let Some(subject) = &user.subject
            && let Some(first) = state.user_by_subject(subject)
        {
            return Ok(CreateUser::SubjectTaken(first.clone()));
        }
        if state.is_handle_held(&user.handle, Some(user.created_at), user.id) {
            return Ok(CreateUser::HandleTaken);
        }
        state.users.insert(user.id, user);
        Ok(CreateUser::Created)
    }

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

    async fn update_user(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError> {
        let mut state = self.state();
        if !state.users.contains_key(&id) {
            return Ok(UpdateUser::NotFound);
        }
        if let Some(handle) = &change.handle
            && state.users.get(&id).is_some_and(|user| user.handle != *handle)
            && state.is_handle_held(handle, change.renamed_at, id)
        {
            return Ok(UpdateUser::HandleTaken);
        }
        let Some(user) = state.users.get_mut(&id) else { return Ok(UpdateUser::NotFound) };
        change.apply(user);
        let user = user.clone();
        Ok(UpdateUser::Updated(user, note.map(|note| state.write_note(note))))
    }

    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError> {
        let found = |user: &&User| {
            user.disabled_at.is_none() && user.search_words().iter().any(|word| word.starts_with(&**prefix))
        };
        Ok(self.state().users_after(after).filter(found).take(limit).cloned().collect())
    }

    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError> {
        Ok(self.state().users_after(after).take(limit).cloned().collect())
    }
}

#[async_trait]
impl DeviceStore for ModelStore {
    async fn create_device(
        &self,
        device: Device,
        note: AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, StoreError> {
        let mut state = self.state();
        let mut replaced = None;
        if let Session::Application { key, .. } = &device.session {
            match state.device_with_key(device.user_id, key) {
                Some(other) if other.revoked_at().is_none() => {
                    return Ok(CreateDevice::KeyTaken(other.clone()));
                }
                other => replaced = other.map(|revoked| revoked.id),
            }
        }
        if state.devices_of(device.user_id).filter(|d| d.revoked_at().is_none()).count() >= devices_max {
            return Ok(CreateDevice::TooMany);
        }
        state.devices.retain(|id, _| Some(*id) != replaced);
        state.devices.insert(device.id, device);
        Ok(CreateDevice::Created(state.write_note(note)))
    }

    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError> {
        Ok(self.state().devices.get(&id).cloned())
    }

    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError> {
        Ok(self.state().devices_of(user).cloned().collect())
    }

    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Rotation, StoreError> {
        let mut state = self.state();
        let Some(device) = state.devices.get_mut(&id) else { return Ok(Rotation::NotFound) };
        match device.session {
            Session::Application { .. } => Ok(Rotation::NotFound),
            Session::Own { generation: current, .. } if current != generation => {
                Ok(Rotation::Reused(device.clone()))
            }
            Session::Own { .. } => {
                device.session = Session::Own { generation: next, refresh_expires_at };
                device.last_active_at = now;
                Ok(Rotation::Rotated(device.clone()))
            }
        }
    }

    async fn remove_device(
        &self,
        id: DeviceId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let mut state = self.state();
        match state.devices.get_mut(&id).map(|device| &mut device.session) {
            None | Some(Session::Application { revoked_at: Some(_), .. }) => return Ok(None),
            Some(Session::Application { revoked_at, .. }) => *revoked_at = Some(note.at),
            Some(Session::Own { .. }) => {
                state.devices.remove(&id);
            }
        }
        Ok(Some(state.write_note(note)))
    }
}

#[async_trait]
impl BlockStore for ModelStore {
    async fn block(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
        blocks_max: usize,
    ) -> Result<BlockOutcome, StoreError> {
        let mut state = self.state();
        if state.blocks.contains(&(user, blocked)) {
            return Ok(BlockOutcome::WasBlocked);
        }
        if state.blocks.iter().filter(|(by, _)| *by == user).count() >= blocks_max {
            return Ok(BlockOutcome::Full);
        }
        state.blocks.insert((user, blocked));
        Ok(BlockOutcome::Blocked(state.write_note(note)))
    }

    async fn unblock(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let mut state = self.state();
        let was_blocked = state.blocks.remove(&(user, blocked));
        Ok(was_blocked.then(|| state.write_note(note)))
    }

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

    fn is_handle_held(&self, handle: &Handle, at: Option<Timestamp>, but_by: UserId) -> bool {
        self.users.values().any(|user| user.id != but_by && user.holds(handle, at))
    }

    fn user_by_subject(&self, subject: &Subject) -> Option<&User> {
        self.users.values().find(|user| user.subject.as_ref() == Some(subject))
    }

    fn users_after(&self, after: Option<UserId>) -> impl Iterator<Item = &User> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.users.range((from, Bound::Unbounded)).map(|(_, user)| user)
    }

    fn devices_of(&self, user: UserId) -> impl Iterator<Item = &Device> {
        self.devices.values().filter(move |device| device.user_id == user)
    }

    fn device_with_key(&self, user: UserId, wanted: &str) -> Option<&Device> {
        let has_key = |device: &&Device| matches!(&device.session, Session::Application { key, .. } if **key == *wanted);
        self.devices_of(user).find(has_key)
    }
}
