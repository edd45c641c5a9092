//! Users, devices and blocks.

use async_trait::async_trait;
use godwit_domain::model::{AccountEntry, AccountNote, Device, Handle, SearchPrefix, Subject, User};
use godwit_domain::ports::{
    BlockOutcome, BlockStore, CreateDevice, CreateUser, DeviceStore, Rotation, StoreError, UpdateUser,
    UserChange, UserStore,
};
use godwit_protocol::{DeviceId, Timestamp, UserId};

use super::{Fault, Faulty, port};

port! { impl UserStore {
    async fn create_user(&self, user: User) -> CreateUser {
        match self.right.create_user(user).await? {
            CreateUser::HandleTaken if self.has(Fault::HandleIsTakenTwice) => Ok(CreateUser::Created),
            outcome => Ok(outcome),
        }
    }
    async fn user(&self, id: UserId) -> Option<User>;
    async fn users(&self, ids: &[UserId]) -> Vec<User>;
    async fn user_by_handle(&self, handle: &Handle) -> Option<User>;
    async fn user_by_subject(&self, subject: &Subject) -> Option<User>;
    async fn update_user(&self, id: UserId, change: UserChange, note: Option<AccountNote>) -> UpdateUser {
        let outcome = self.right.update_user(id, change, note).await?;
        if outcome == UpdateUser::HandleTaken && self.has(Fault::RefusedUpdateWritesItsNote) {
            self.right.update_user(id, UserChange::default(), note).await?;
        }
        Ok(outcome)
    }
    async fn search_users(&self, prefix: &SearchPrefix, after: Option<UserId>, limit: usize) -> Vec<User> {
        let mut found = self.right.search_users(prefix, after, limit).await?;
        if self.has(Fault::SearchRepeatsUsers) && found.len() < limit {
            found.extend(found.last().cloned());
        }
        Ok(found)
    }
    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Vec<User>;
}}

port! { impl DeviceStore {
    async fn create_device(&self, device: Device, note: AccountNote, devices_max: usize) -> CreateDevice;
    async fn device(&self, id: DeviceId) -> Option<Device>;
    async fn devices_of(&self, user: UserId) -> Vec<Device>;
    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        expires_at: Timestamp,
        now: Timestamp
    ) -> Rotation {
        match self.right.rotate_session(id, generation, next, expires_at, now).await? {
            Rotation::Reused(device) if self.has(Fault::EveryRotationWins) => Ok(Rotation::Rotated(device)),
            outcome => Ok(outcome),
        }
    }
    async fn remove_device(&self, id: DeviceId, note: AccountNote) -> Option<AccountEntry>;
}}

port! { impl BlockStore {
    async fn block(&self, user: UserId, blocked: UserId, note: AccountNote, blocks_max: usize) -> BlockOutcome;
    async fn unblock(&self, user: UserId, blocked: UserId, note: AccountNote) -> Option<AccountEntry>;
    async fn blocks_between(&self, a: UserId, b: UserId) -> (bool, bool) {
        let (forward, back) = self.right.blocks_between(a, b).await?;
        let either = forward || back;
        Ok(if self.has(Fault::BlocksHaveNoDirection) { (either, either) } else { (forward, back) })
    }
    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Vec<UserId>;
    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Vec<UserId>;
    async fn blocked_by(&self, user: UserId, after: Option<UserId>, limit: usize) -> Vec<UserId>;
}}
