//! The ports for accounts: changes of an account; reads of users, devices and blocks.

use async_trait::async_trait;
use godwit_protocol::{DeviceId, Timestamp, UserId};

use super::StoreError;
use crate::account::{
    AccountCommand, AccountOutcome, BlockOutcome, CreateDevice, CreateUser, Rotation, UpdateUser, UserChange,
};
use crate::model::{AccountEntry, AccountNote, Device, Handle, SearchPrefix, Subject, User};

/// The single write path of accounts. The methods of [`UserStore`], [`DeviceStore`], [`BlockStore`] and
/// [`PersonalStore`](super::PersonalStore) that change an account are provided on top of it: a store implements this method
/// and the reads.
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Lets the [command decide](AccountCommand::decide) on the current state of the account, and writes the effects
    /// atomically. Concurrent commands about one account are serialized: each is decided on the effects of those before it.
    /// If the account has changed since it was read, the store decides again. A command may therefore be decided several
    /// times, and the last decision counts.
    ///
    /// One rule spans all accounts: [names](crate::account::Name) are unique. Of concurrent commands that take the same
    /// name, one succeeds. The count of hidden messages is allowed to miss concurrent hides, so it may exceed its bound
    /// slightly.
    async fn change_account(
        &self,
        user: UserId,
        command: AccountCommand,
    ) -> Result<AccountOutcome, StoreError>;
}

#[async_trait]
pub trait UserStore: AccountStore {
    /// Creates a user. Handle and subject are unique, and a handle that another user [holds](User::holds) at the time of
    /// creation is taken: of concurrent calls with the same name, one is `Created`. If both names are taken, the answer is
    /// `SubjectTaken`, so that two concurrent first requests of one user end with the same user.
    async fn create_user(&self, user: User) -> Result<CreateUser, StoreError> {
        let (id, user) = (user.id, Box::new(user));
        Ok(self.change_account(id, AccountCommand::CreateUser { user }).await?.into())
    }

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// The users with these ids, without ids that do not exist, in any order.
    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError>;

    /// The subset of the users whose accounts are disabled, in any order. Every message causes this read.
    async fn disabled_among(&self, ids: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let users = self.users(ids).await?;
        Ok(users.into_iter().filter(|user| user.disabled_at.is_some()).map(|user| user.id).collect())
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>, StoreError>;

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>, StoreError>;

    /// Changes one user atomically, with the uniqueness of the handle, and writes the note with it. Concurrent changes of
    /// different fields are all kept. A user who gives up a handle still [holds](User::holds) it for as long as the profile
    /// says; handles that nobody holds are free. A change beyond a [`Limit`](super::Limit) is `TooOften`. Idempotent, except
    /// for spending, and that the note is written each time.
    async fn update_user(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError> {
        let command = AccountCommand::UpdateUser { change: Box::new(change), note };
        Ok(self.change_account(id, command).await?.into())
    }

    /// Users with an id after `after` who are not disabled and have a search word that begins with `prefix`, each once,
    /// sorted by id.
    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError>;

    /// All users with an id after `after`, sorted by id. For the operator.
    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError>;
}

#[async_trait]
pub trait DeviceStore: AccountStore {
    /// Adds a device with its note, and checks the bound atomically: revoked devices do not count towards `devices_max`.
    /// Devices of the application have a key that is unique per user: a revoked device with the same key is replaced, and of
    /// concurrent calls with the same key one is `Created`.
    async fn create_device(
        &self,
        device: Device,
        note: AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, StoreError> {
        let user = device.user_id;
        let command = AccountCommand::CreateDevice { device, note, devices_max };
        Ok(self.change_account(user, command).await?.into())
    }

    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError>;

    /// The user of a device. The device itself may be gone by now.
    async fn device_owner(&self, id: DeviceId) -> Result<Option<UserId>, StoreError>;

    /// The devices of a user, sorted by id, including revoked ones.
    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError>;

    /// Moves a device from `generation` to a later one and makes `now` the time of its last activity, atomically: of
    /// concurrent calls with the same generation, one is `Rotated` and the others are `Reused`. Devices of the application
    /// have no generations: `NotFound`.
    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Rotation, StoreError> {
        let Some(user) = self.device_owner(id).await? else { return Ok(Rotation::NotFound) };
        let command = AccountCommand::RotateSession { device: id, generation, next, refresh_expires_at, now };
        Ok(self.change_account(user, command).await?.into())
    }

    /// Removes a device, with its note. `None` if there was none. Idempotent. A device of the application stays and is
    /// marked as revoked at `note.at`, because its tokens remain valid.
    async fn remove_device(
        &self,
        id: DeviceId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let command = AccountCommand::RemoveDevice { device: id, note };
        Ok(self.change_account(note.user_id, command).await?.into())
    }
}

#[async_trait]
pub trait BlockStore: AccountStore {
    /// Adds a user to the block list, and checks the bound atomically. A user who is on the list already is `WasBlocked`,
    /// even if the list is full. Idempotent.
    async fn block(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
        blocks_max: usize,
    ) -> Result<BlockOutcome, StoreError> {
        let command = AccountCommand::Block { blocked, note, blocks_max };
        Ok(self.change_account(user, command).await?.into())
    }

    /// Removes a user from the block list. `None` if the user was not on it. Idempotent.
    async fn unblock(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        Ok(self.change_account(user, AccountCommand::Unblock { blocked, note }).await?.into())
    }

    /// Whether `a` blocks `b`, and whether `b` blocks `a`.
    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool), StoreError>;

    /// Whether either of the two blocks the other.
    async fn is_blocked(&self, a: UserId, b: UserId) -> Result<bool, StoreError> {
        Ok(self.blocks_between(a, b).await? != (false, false))
    }

    /// The subset of the others whom the user blocks, in any order.
    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// The subset of the others who block the user, in any order. Every page of a group causes this call, so it must cost a
    /// single read if nobody blocks the user, however many others there are.
    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// The users whom a user blocks, with an id after `after`, sorted by id.
    async fn blocked_by(
        &self,
        user: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError>;
}
