//! Copies accounts: changes what differs, and finally replaces the account log, which these changes have added
//! to.

use std::collections::{BTreeMap, BTreeSet};

use godwit_domain::model::{AccountChange, AccountNote, Device, Handle, Scheduled, Session, Star, User};
use godwit_domain::ports::{
    AccountLog, BlockOutcome, CreateDevice, CreateUser, Listed, Part, ReplaceScheduled, Rotation,
    ScheduleOutcome, StoreError, TransferStore, UpdateUser, UserChange,
};
use godwit_protocol::{DeviceId, MessageId, ScheduledId, Timestamp, UserId};

use crate::error::TransferError;
use crate::paging::{PAGE, all};

/// The account of one user, in both stores.
#[derive(Clone, Copy)]
pub(crate) struct Account<'a> {
    pub(crate) source: &'a dyn TransferStore,
    pub(crate) target: &'a dyn TransferStore,
    pub(crate) user: UserId,
}

/// The parts of an account that are compared and copied.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    user: Option<User>,
    devices: Vec<Device>,
    blocked: Vec<UserId>,
    stars: Vec<Star>,
    scheduled: BTreeMap<ScheduledId, Scheduled>,
    log: AccountLog,
}

impl Account<'_> {
    pub(crate) async fn copy(self) -> Result<(), TransferError> {
        self.copy_profile().await?;
        let (wanted, there) = tokio::try_join!(self.contents(self.source), self.contents(self.target))?;
        self.copy_devices(&wanted, &there).await?;
        self.copy_blocks(&wanted, &there).await?;
        self.copy_stars(&wanted, &there).await?;
        self.copy_scheduled(wanted.scheduled, &there.scheduled).await?;
        if self.target.account_log_of(self.user).await? != wanted.log {
            self.target.put_account_log(self.user, wanted.log).await?;
        }
        Ok(())
    }

    pub(crate) async fn is_same(self) -> Result<bool, StoreError> {
        let (wanted, there) = tokio::try_join!(self.contents(self.source), self.contents(self.target))?;
        Ok(wanted == there)
    }

    /// Copies only the profile, so that others can refer to the user.
    pub(crate) async fn copy_profile(self) -> Result<(), TransferError> {
        let Some(user) = self.source.user(self.user).await? else {
            return Err(self.refused("there is no such user"));
        };
        match self.target.user(self.user).await? {
            None => match self.target.create_user(User { former_handles: Vec::new(), ..user.clone() }).await?
            {
                CreateUser::Created if user.former_handles.is_empty() => {}
                CreateUser::Created => self.update(user).await?,
                CreateUser::HandleTaken => {
                    // Created under another handle and then renamed, because a rename may take a handle that
                    // its former owner only keeps reserved.
                    let handle = Handle::for_id(self.user);
                    self.target
                        .create_user(User { handle, former_handles: Vec::new(), ..user.clone() })
                        .await?;
                    self.update(user).await?;
                }
                CreateUser::SubjectTaken(_) => return Err(self.refused("another user has the same subject")),
            },
            Some(there) if there != user => self.update(user).await?,
            Some(_) => {}
        }
        Ok(())
    }

    async fn update(self, user: User) -> Result<(), TransferError> {
        self.keep_handles(&user).await?;
        let change = UserChange {
            handle: Some(user.handle.clone()),
            asked_at: None,
            display_name: Some(user.display_name),
            avatar: Some(user.avatar),
            phone: Some(user.phone),
            password_hash: user.password_hash,
            presence_visible: Some(user.presence_visible),
            read_receipts: Some(user.read_receipts),
            may_be_added_by: Some(user.may_be_added_by),
            refused_group: None,
            refused_groups: Some(user.refused_groups),
            former_handles: Some(user.former_handles),
            spending: None,
            spent: Some(user.spent),
            last_seen_at: user.last_seen_at,
            disabled_at: Some(user.disabled_at),
        };
        if let UpdateUser::HandleTaken = self.target.update_user(self.user, change.clone(), None).await? {
            self.free(&user.handle).await?;
            self.target.update_user(self.user, change, None).await?;
        }
        Ok(())
    }

    /// Frees a handle that belongs to a user copied earlier. In the source that user has another handle by now,
    /// so they have changed and will be copied again. Until then their handle is derived from their id.
    async fn free(self, handle: &Handle) -> Result<(), StoreError> {
        if let Some(former) = self.target.user_by_handle(handle).await? {
            let change = UserChange { handle: Some(Handle::for_id(former.id)), ..UserChange::default() };
            self.target.update_user(former.id, change, None).await?;
        }
        Ok(())
    }

    /// Gives the user each of their former handles in turn, so that it leads to them in the target too. Skips a
    /// former handle that another user has taken.
    async fn keep_handles(self, user: &User) -> Result<(), StoreError> {
        let there = self.target.user(self.user).await?;
        let kept = there.map(|there| there.former_handles).unwrap_or_default();
        for (place, former) in user.former_handles.iter().enumerate() {
            if kept.contains(former) || self.source.user_by_handle(&former.handle).await?.is_some() {
                continue;
            }
            let change = UserChange {
                handle: Some(former.handle.clone()),
                former_handles: Some(user.former_handles[..place].to_vec()),
                ..UserChange::default()
            };
            self.target.update_user(self.user, change, None).await?;
        }
        Ok(())
    }

    async fn copy_devices(self, wanted: &Contents, there: &Contents) -> Result<(), TransferError> {
        let wanted_ids: BTreeSet<DeviceId> = wanted.devices.iter().map(|device| device.id).collect();
        for device in there.devices.iter().filter(|device| !wanted_ids.contains(&device.id)) {
            self.remove_device(device.id, device.last_active_at).await?;
        }
        let there: BTreeMap<DeviceId, &Device> =
            there.devices.iter().map(|device| (device.id, device)).collect();
        for device in &wanted.devices {
            match there.get(&device.id) {
                None => self.add_device(device).await?,
                Some(there) if *there != device => self.advance_device(device, there).await?,
                Some(_) => {}
            }
        }
        Ok(())
    }

    async fn add_device(self, device: &Device) -> Result<(), TransferError> {
        let note = self.note(AccountChange::DeviceAdded(device.id));
        match self.target.create_device(device.clone(), note, usize::MAX).await? {
            CreateDevice::Created(_) => Ok(()),
            CreateDevice::TooMany | CreateDevice::KeyTaken(_) => {
                Err(self.refused("the target has no room for a device"))
            }
        }
    }

    async fn remove_device(self, id: DeviceId, at: Timestamp) -> Result<(), StoreError> {
        let note = AccountNote { at, ..self.note(AccountChange::DeviceRemoved(id)) };
        self.target.remove_device(id, note).await.map(drop)
    }

    /// A device changes in two ways: its own session is rotated, or the session of an application is revoked.
    async fn advance_device(self, device: &Device, there: &Device) -> Result<(), TransferError> {
        match (&device.session, &there.session) {
            (Session::Own { generation, refresh_expires_at }, Session::Own { generation: behind, .. }) => {
                let (end, active) = (*refresh_expires_at, device.last_active_at);
                let rotation = self.target.rotate_session(device.id, *behind, *generation, end, active);
                if !matches!(rotation.await?, Rotation::Rotated(_)) {
                    return Err(self.refused("a session cannot be updated"));
                }
            }
            (Session::Application { revoked_at: Some(at), .. }, _) => {
                self.remove_device(device.id, *at).await?;
            }
            _ => return Err(self.refused("a device has changed its kind")),
        }
        Ok(())
    }

    async fn copy_blocks(self, wanted: &Contents, there: &Contents) -> Result<(), TransferError> {
        let (wanted, there): (BTreeSet<UserId>, BTreeSet<UserId>) =
            (wanted.blocked.iter().copied().collect(), there.blocked.iter().copied().collect());
        for gone in there.difference(&wanted) {
            let note = self.note(AccountChange::UserUnblocked(*gone));
            self.target.unblock(self.user, *gone, note).await?;
        }
        for blocked in wanted.difference(&there) {
            let note = self.note(AccountChange::UserBlocked(*blocked));
            if self.target.block(self.user, *blocked, note, usize::MAX).await? == BlockOutcome::Full {
                return Err(self.refused("the target has no room for a block"));
            }
        }
        Ok(())
    }

    async fn copy_stars(self, wanted: &Contents, there: &Contents) -> Result<(), TransferError> {
        let ids = |stars: &[Star]| stars.iter().map(|star| star.message_id).collect::<BTreeSet<MessageId>>();
        let (wanted_ids, there_ids) = (ids(&wanted.stars), ids(&there.stars));
        for gone in there_ids.difference(&wanted_ids) {
            let note = self.note(AccountChange::MessageUnstarred(*gone));
            self.target.unstar(self.user, *gone, note).await?;
        }
        for star in wanted.stars.iter().filter(|star| !there.stars.contains(star)) {
            if there_ids.contains(&star.message_id) {
                let note = self.note(AccountChange::MessageUnstarred(star.message_id));
                self.target.unstar(self.user, star.message_id, note).await?;
            }
            let note = self.note(AccountChange::MessageStarred(star.message_id));
            if self.target.star(self.user, *star, usize::MAX, note).await? == Listed::Full {
                return Err(self.refused("the target has no room for a star"));
            }
        }
        Ok(())
    }

    async fn copy_scheduled(
        self,
        wanted: BTreeMap<ScheduledId, Scheduled>,
        there: &BTreeMap<ScheduledId, Scheduled>,
    ) -> Result<(), TransferError> {
        // Removed messages first, because a new one may have the same client id.
        for (_, gone) in there.iter().filter(|(id, _)| !wanted.contains_key(id)) {
            self.target.replace_scheduled(gone.clone(), None, None).await?;
        }
        for (id, scheduled) in wanted {
            let outcome = match there.get(&id) {
                Some(there) if *there == scheduled => continue,
                Some(there) => {
                    let replaced = self.target.replace_scheduled(there.clone(), Some(scheduled), None);
                    matches!(replaced.await?, ReplaceScheduled::Replaced(_))
                }
                None => {
                    let note = self.note(AccountChange::ScheduledUpdated(id));
                    let scheduled = self.target.schedule(scheduled, usize::MAX, note);
                    matches!(scheduled.await?, ScheduleOutcome::Scheduled(_))
                }
            };
            if !outcome {
                return Err(self.refused("the target has no room for a scheduled message"));
            }
        }
        Ok(())
    }

    async fn contents(self, store: &dyn TransferStore) -> Result<Contents, StoreError> {
        let user = self.user;
        let scheduled = async {
            let scheduled = store.scheduled(user).await?;
            Ok(scheduled.into_iter().map(|scheduled| (scheduled.id, scheduled)).collect())
        };
        let (user, devices, blocked, stars, scheduled, log) = tokio::try_join!(
            store.user(user),
            store.devices_of(user),
            all(|id: &UserId| *id, |after| store.blocked_by(user, after, PAGE)),
            all(|star: &Star| star.message_id, |before| store.stars(user, before, PAGE)),
            scheduled,
            store.account_log_of(user),
        )?;
        Ok(Contents { user, devices, blocked, stars, scheduled, log })
    }

    fn note(self, change: AccountChange) -> AccountNote {
        AccountNote { user_id: self.user, at: Timestamp::from_millis(0), change }
    }

    fn refused(self, why: &'static str) -> TransferError {
        TransferError::Refused(Part::Account(self.user), why)
    }
}
