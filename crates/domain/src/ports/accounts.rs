//! Users, devices and blocks.

use async_trait::async_trait;
use godwit_protocol::accounts::MayBeAddedBy;
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};

use super::StoreError;
use crate::model::{
    AccountEntry, AccountNote, Avatar, Device, DisplayName, FormerHandle, Handle, Phone, SearchPrefix, Spent,
    Subject, User,
};

#[async_trait]
pub trait UserStore: Send + Sync {
    /// Makes a user. Handle and subject are unique, and a handle that another user [holds](User::holds) at the time of
    /// creation is taken: of concurrent calls with the same one, one is `Created`. When both
    /// are taken the answer is `SubjectTaken`, so that two first sights of one user end with that user.
    async fn create_user(&self, user: User) -> Result<CreateUser, StoreError>;

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// The users that exist of those asked for, in any order.
    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>, StoreError>;

    /// Those of the users whose accounts are disabled, in any order. It is asked with every message.
    async fn disabled_among(&self, ids: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let users = self.users(ids).await?;
        Ok(users.into_iter().filter(|user| user.disabled_at.is_some()).map(|user| user.id).collect())
    }

    async fn user_by_handle(&self, handle: &Handle) -> Result<Option<User>, StoreError>;

    async fn user_by_subject(&self, subject: &Subject) -> Result<Option<User>, StoreError>;

    /// Changes one user atomically, with the handle's uniqueness, and writes the note with it. Concurrent changes of
    /// different fields all stay. Who has given up a handle still [holds](User::holds) it as long as the profile says; the
    /// others that nobody holds are free. Idempotent (the note is written each time).
    async fn update_user(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<UpdateUser, StoreError>;

    /// Users who are not disabled and have a search word that begins with `prefix`, each once, in the order of their
    /// ids, those after `after`.
    async fn search_users(
        &self,
        prefix: &SearchPrefix,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<User>, StoreError>;

    /// All users in the order of their ids, those after `after`. For the operator.
    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError>;
}

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateUser {
    Created,
    HandleTaken,
    /// Somebody made the user of this subject first: here they are.
    SubjectTaken(User),
}

/// What to change of a user; `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    pub handle: Option<Handle>,
    /// When the user is renamed: the former handle is kept from then on, and what others keep then is taken. Without it
    /// nothing is kept, and nothing that others keep counts: for whoever copies users from another store.
    pub renamed_at: Option<Timestamp>,
    pub display_name: Option<DisplayName>,
    pub avatar: Option<Option<Avatar>>,
    pub phone: Option<Option<Phone>>,
    pub password_hash: Option<String>,
    pub presence_visible: Option<bool>,
    pub read_receipts: Option<bool>,
    pub may_be_added_by: Option<MayBeAddedBy>,
    /// A group that the user has left for good, or not any more.
    pub refused_group: Option<(ConversationId, bool)>,
    pub refused_groups: Option<Vec<ConversationId>>,
    pub former_handles: Option<Vec<FormerHandle>>,
    pub spending: Option<Spending>,
    pub spent: Option<Spent>,
    pub last_seen_at: Option<Timestamp>,
    pub disabled_at: Option<Option<Timestamp>>,
}

/// What is added to [`Spent`], each in milliseconds until it has come back; less than nothing gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    pub at: Timestamp,
    pub members_ms: i64,
    pub strangers_ms: i64,
    pub groups_ms: i64,
    pub profile_ms: i64,
}

impl Spending {
    pub(crate) const fn is_nothing(self) -> bool {
        self.members_ms == 0 && self.strangers_ms == 0 && self.groups_ms == 0 && self.profile_ms == 0
    }

    fn apply(self, spent: &mut Spent) {
        let add = |until: &mut Timestamp, ms: i64| {
            if ms != 0 {
                *until = (*until).max(self.at).plus_millis(ms);
            }
        };
        add(&mut spent.members, self.members_ms);
        add(&mut spent.strangers, self.strangers_ms);
        add(&mut spent.groups, self.groups_ms);
        add(&mut spent.profile, self.profile_ms);
    }
}

impl UserChange {
    /// The user after the change.
    pub fn apply(self, user: &mut User) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        if let Some(handle) = self.handle {
            user.rename(handle, self.renamed_at);
        }
        set(&mut user.display_name, self.display_name);
        set(&mut user.avatar, self.avatar);
        set(&mut user.phone, self.phone);
        set(&mut user.password_hash, self.password_hash.map(Some));
        set(&mut user.presence_visible, self.presence_visible);
        set(&mut user.read_receipts, self.read_receipts);
        set(&mut user.may_be_added_by, self.may_be_added_by);
        match self.refused_group {
            Some((group, true)) => user.refuse_group(group),
            Some((group, false)) => user.refused_groups.retain(|refused| *refused != group),
            None => {}
        }
        set(&mut user.refused_groups, self.refused_groups);
        set(&mut user.former_handles, self.former_handles);
        if let Some(spending) = self.spending {
            spending.apply(&mut user.spent);
        }
        set(&mut user.spent, self.spent);
        set(&mut user.last_seen_at, self.last_seen_at.map(Some));
        set(&mut user.disabled_at, self.disabled_at);
    }
}

#[expect(clippy::large_enum_variant, reason = "an answer that is looked at once and not kept")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateUser {
    Updated(User, Option<AccountEntry>),
    HandleTaken,
    /// Said also when the handle is taken.
    NotFound,
}

#[async_trait]
pub trait DeviceStore: Send + Sync {
    /// Adds a device with its note, atomically with its bound: revoked devices do not count towards `devices_max`.
    /// Devices of the application have a key that is unique for the user: a revoked one with the same key is replaced,
    /// of concurrent calls with the same key one is `Created`.
    async fn create_device(
        &self,
        device: Device,
        note: AccountNote,
        devices_max: usize,
    ) -> Result<CreateDevice, StoreError>;

    async fn device(&self, id: DeviceId) -> Result<Option<Device>, StoreError>;

    /// The devices of a user, in the order of their ids, revoked ones included.
    async fn devices_of(&self, user: UserId) -> Result<Vec<Device>, StoreError>;

    /// Moves a device from `generation` to a later one and makes `now` the time of its last activity, atomically: of
    /// concurrent calls with the same generation one is `Rotated`, the others are `Reused`. Devices of the application
    /// have no generations: `NotFound`.
    async fn rotate_session(
        &self,
        id: DeviceId,
        generation: u32,
        next: u32,
        refresh_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Rotation, StoreError>;

    /// Removes a device with its note. `None` when there was none. Idempotent. A device of the application stays, marked
    /// as revoked at `note.at`, because its tokens live on.
    async fn remove_device(
        &self,
        id: DeviceId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateDevice {
    Created(AccountEntry),
    /// The user has `devices_max` devices already.
    TooMany,
    /// The application's device with this key is there already, and not revoked. Said also when there are `devices_max`.
    KeyTaken(Device),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// The device as it is now.
    Rotated(Device),
    /// The device is past this generation.
    Reused(Device),
    NotFound,
}

#[async_trait]
pub trait BlockStore: Send + Sync {
    /// Adds to the list of a user, atomically with its bound. Who is on the list is `WasBlocked`, also when it is full.
    /// Idempotent.
    async fn block(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
        blocks_max: usize,
    ) -> Result<BlockOutcome, StoreError>;

    /// `None` when it was so already. Idempotent.
    async fn unblock(
        &self,
        user: UserId,
        blocked: UserId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError>;

    /// Whether `a` blocks `b`, and whether `b` blocks `a`.
    async fn blocks_between(&self, a: UserId, b: UserId) -> Result<(bool, bool), StoreError>;

    /// Whether one of the two blocks the other.
    async fn is_blocked(&self, a: UserId, b: UserId) -> Result<bool, StoreError> {
        Ok(self.blocks_between(a, b).await? != (false, false))
    }

    /// Those of the others whom the user blocks, in any order.
    async fn blocked_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// Those of the others who block the user, in any order. It must cost one read where nobody does, however many the
    /// others are: it is asked with every page of a group.
    async fn blockers_among(&self, user: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError>;

    /// Whom a user blocks, in the order of ids, those after `after`.
    async fn blocked_by(
        &self,
        user: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<UserId>, StoreError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockOutcome {
    Blocked(AccountEntry),
    WasBlocked,
    Full,
}
