//! Accounts: registering, signing in, the own profile, and what the operator does.

use std::sync::Arc;

use godwit_protocol::accounts::{ChangePassword, Me, PasswordChanged, Register, SignIn, SignedIn, UpdateMe};
use godwit_protocol::limits::{FORMER_HANDLE_DAYS, FORMER_HANDLES_MAX};
use godwit_protocol::socket::CloseCode;
use godwit_protocol::{Timestamp, UserId};
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::allowances::{Allowances, Amounts, Overspent};
use crate::conversations::Conversations;
use crate::model::{
    AccountChange, AccountNote, Avatar, DeviceName, DisplayName, Handle, InvalidField, Password, Phone, User,
};
use crate::ports::{
    Clock, CreateUser, Delivery, DeviceProof, HashError, PasswordHasher, Peers, Store, StoreError,
    UpdateUser, UserChange,
};
use crate::presence::Presence;
use crate::profiles::Profiles;
use crate::sessions::{AuthError, Principal, Sessions};

const ONE_CHANGE: Amounts = Amounts { members: 0, strangers: 0, groups: 0, profile: 1 };

#[derive(Debug)]
pub struct Accounts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) profiles: Arc<Profiles>,
    pub(crate) allowances: Arc<Allowances>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hasher: Arc<dyn PasswordHasher>,
    pub(crate) policy: AccountPolicy,
}

/// How people come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountPolicy {
    /// Whether people can register themselves.
    pub registration_open: bool,
    /// Whether people sign in with passwords.
    pub passwords_enabled: bool,
    /// Handles that only the operator gives.
    pub reserved_handles: Vec<String>,
}

#[derive(Debug, Error)]
pub enum AccountError {
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error("the handle is taken")]
    HandleTaken,
    #[error("the handle is kept for the operator")]
    HandleReserved,
    #[error("{reason}")]
    TooOften { reason: String, retry_after_secs: u32 },
    #[error("people cannot register on this server")]
    RegistrationClosed,
    #[error("this server does not use passwords")]
    PasswordsDisabled,
    #[error("handle or password is wrong")]
    WrongCredentials,
    #[error("the account has been disabled")]
    Disabled,
    #[error("no such user")]
    NotFound,
    #[error(transparent)]
    Session(#[from] AuthError),
    #[error(transparent)]
    Hash(#[from] HashError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Overspent> for AccountError {
    fn from(overspent: Overspent) -> Self {
        let reason = overspent.to_string();
        match overspent {
            Overspent::Over { retry_after_secs, .. } => Self::TooOften { reason, retry_after_secs },
            Overspent::Store(error) => error.into(),
        }
    }
}

impl Accounts {
    pub async fn register(&self, request: Register) -> Result<SignedIn, AccountError> {
        if !self.policy.passwords_enabled {
            return Err(AccountError::PasswordsDisabled);
        }
        if !self.policy.registration_open {
            return Err(AccountError::RegistrationClosed);
        }
        let device_name = device_name(request.device_name.as_deref())?;
        self.check_free_for_all(&Handle::parse(&request.handle)?)?;
        let user = self.add(&request).await?;
        self.start_session(&user, device_name, None).await
    }

    /// Makes a user with a password. The operator may, also where registration is closed, and with a handle that is
    /// reserved.
    pub async fn add(&self, request: &Register) -> Result<User, AccountError> {
        let handle = Handle::parse(&request.handle)?;
        let password = Password::parse_new("password", &request.password, &handle)?;
        let display_name = request.display_name.as_deref().map(DisplayName::parse).transpose()?;
        let phone = request.phone.as_deref().map(Phone::parse).transpose()?;
        // Before the slow part, to spare it; the store decides.
        if self.store.user_by_handle(&handle).await?.is_some() {
            return Err(AccountError::HandleTaken);
        }
        let mut user = User::new(UserId::new(self.store.ids().next()?), handle, self.clock.now());
        user.password_hash = Some(self.hasher.hash(password).await?);
        user.phone = phone;
        if let Some(display_name) = display_name {
            user.display_name = display_name;
        }
        match self.store.create_user(user.clone()).await? {
            CreateUser::Created => Ok(user),
            CreateUser::HandleTaken | CreateUser::SubjectTaken(_) => Err(AccountError::HandleTaken),
        }
    }

    /// The device that a sign-in comes from, when the user has signed in on it with the present password. An account that
    /// does not exist has none, and a proof of somebody else is none.
    pub async fn known_device(&self, request: &SignIn) -> Result<Option<DeviceProof>, StoreError> {
        let known = request.device_proof.as_deref().and_then(|proof| self.sessions.known_device(proof));
        let (Some(known), Ok(handle)) = (known, Handle::parse(&request.handle)) else { return Ok(None) };
        let user = self.store.user_by_handle(&handle).await?;
        Ok(user.filter(|user| known.is_of(user)).map(|_| known.proof))
    }

    pub async fn sign_in(&self, request: SignIn) -> Result<SignedIn, AccountError> {
        if !self.policy.passwords_enabled {
            return Err(AccountError::PasswordsDisabled);
        }
        let device_name = device_name(request.device_name.as_deref())?;
        let password = Password::parse_attempt("password", &request.password)?;
        // A handle that cannot exist is treated like one that does not.
        let user = match Handle::parse(&request.handle) {
            Ok(handle) => self.store.user_by_handle(&handle).await?,
            Err(_) => None,
        };
        let hash = user.as_ref().and_then(|user| user.password_hash.clone());
        let right = self.hasher.verify(password, hash).await?;
        let user = user.filter(|_| right).ok_or(AccountError::WrongCredentials)?;
        if user.disabled_at.is_some() {
            return Err(AccountError::Disabled);
        }
        let known = request.device_proof.as_deref().and_then(|proof| self.sessions.known_device(proof));
        let known = known.filter(|known| known.is_of(&user)).map(|known| known.proof);
        self.start_session(&user, device_name, known).await
    }

    pub async fn me(&self, by: UserId) -> Result<Me, AccountError> {
        Ok(self.store.user(by).await?.ok_or(AccountError::NotFound)?.to_me())
    }

    pub async fn update_me(&self, by: UserId, request: UpdateMe) -> Result<Me, AccountError> {
        let now = self.clock.now();
        let change = UserChange {
            handle: request.handle.as_deref().map(Handle::parse).transpose()?,
            display_name: request.display_name.as_deref().map(DisplayName::parse).transpose()?,
            avatar: parse_removable(request.avatar, Avatar::parse)?,
            phone: parse_removable(request.phone, Phone::parse)?,
            presence_visible: request.presence_visible,
            read_receipts: request.read_receipts,
            may_be_added_by: request.may_be_added_by,
            renamed_at: Some(now),
            ..UserChange::default()
        };
        let before = self.store.user(by).await?.ok_or(AccountError::NotFound)?;
        let is_seen = self.check_change(&before, &change, now).await?;
        let visibility_asked = change.presence_visible.is_some();
        let note = AccountNote { user_id: by, at: now, change: AccountChange::ProfileUpdated };
        let user = match self.update(by, change, Some(note)).await {
            // Who looks for a handle that is free may try many.
            Err(AccountError::HandleTaken) if is_seen => {
                self.allowances.give_back(by, ONE_CHANGE).await?;
                return Err(AccountError::HandleTaken);
            }
            updated => updated?,
        };
        if visibility_asked {
            self.presence.visibility_changed(&user).await;
        }
        if is_seen {
            self.profiles.announce(by).await;
        }
        Ok(user.to_me())
    }

    /// Whether others see that it changes. They are not to be shown a new name every moment, nor to lose handle after
    /// handle to one who only passes through.
    async fn check_change(
        &self,
        before: &User,
        change: &UserChange,
        now: Timestamp,
    ) -> Result<bool, AccountError> {
        let mut after = before.clone();
        change.clone().apply(&mut after);
        if after.to_public() == before.to_public() {
            return Ok(false);
        }
        if after.handle != before.handle {
            let is_own_again = before.holds(&after.handle, Some(now));
            if !is_own_again {
                self.check_free_for_all(&after.handle)?;
            }
            let kept: Vec<Timestamp> = before.kept_handles(now).map(|former| former.kept_until).collect();
            if kept.len() >= FORMER_HANDLES_MAX && !is_own_again {
                let first_ms = kept.iter().min().map_or(0, |first| first.millis_since(now));
                return Err(AccountError::TooOften {
                    reason: format!("at most {FORMER_HANDLES_MAX} handles in {FORMER_HANDLE_DAYS} days"),
                    retry_after_secs: u32::try_from(first_ms.max(0) / 1_000 + 1).unwrap_or(u32::MAX),
                });
            }
        }
        self.allowances.spend(before.id, ONE_CHANGE).await?;
        Ok(true)
    }

    /// Whether people may have this handle, and not only whom the operator gives it.
    fn check_free_for_all(&self, handle: &Handle) -> Result<(), AccountError> {
        if handle.is_among(&self.policy.reserved_handles) {
            return Err(AccountError::HandleReserved);
        }
        Ok(())
    }

    /// Sets a new password, ends every other session, and gives this one new tokens: whoever has the old ones, and the old
    /// password, must not stay.
    pub async fn change_password(
        &self,
        by: Principal,
        request: ChangePassword,
    ) -> Result<PasswordChanged, AccountError> {
        let current = Password::parse_attempt("current_password", &request.current_password)?;
        let user = self.store.user(by.user_id).await?.ok_or(AccountError::NotFound)?;
        let new = Password::parse_new("new_password", &request.new_password, &user.handle)?;
        let Some(hash) = user.password_hash else { return Err(AccountError::PasswordsDisabled) };
        if !self.hasher.verify(current, Some(hash)).await? {
            return Err(AccountError::WrongCredentials);
        }
        self.store_password(by.user_id, new).await?;
        self.sessions.end_all(by.user_id, Some(by.device_id)).await?;
        Ok(PasswordChanged { tokens: self.sessions.renew(by.device_id).await? })
    }

    /// For the operator: sets a password without knowing the old one, and ends every session.
    pub async fn set_password(&self, handle: &str, password: &str) -> Result<(), AccountError> {
        let user = self.by_handle(handle).await?;
        self.store_password(user.id, Password::parse_new("password", password, &user.handle)?).await?;
        Ok(self.sessions.end_all(user.id, None).await?)
    }

    /// For the operator: keeps a user out, or lets them in again. When it returns nothing more comes from somebody who was
    /// disabled, on any node that can be reached.
    pub async fn set_disabled(&self, handle: &str, disabled: bool) -> Result<User, AccountError> {
        let user = self.by_handle(handle).await?;
        let disabled_at = disabled.then(|| self.clock.now());
        let change = UserChange { disabled_at: Some(disabled_at), ..UserChange::default() };
        let user = self.update(user.id, change, None).await?;
        if disabled {
            self.sessions.end_all(user.id, None).await?;
            self.delivery.close_user(user.id, CloseCode::SignedOut).await;
            // What they had begun before is finished or refused, on every node, when this returns.
            self.conversations.settle_all().await;
            self.peers.settle_all().await;
        }
        Ok(user)
    }

    /// For the operator: all users in the order of their ids, those after `after`.
    pub async fn list(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError> {
        self.store.list_users(after, limit).await
    }

    /// A session for a user who has proved to be `user`. Comparing a password takes a while, and whoever disabled the user
    /// or set another password meanwhile found no session to end. Now that there is one, look again.
    async fn start_session(
        &self,
        user: &User,
        device_name: DeviceName,
        known: Option<DeviceProof>,
    ) -> Result<SignedIn, AccountError> {
        let signed_in = self.sessions.start(user, device_name, known).await?;
        let refused = match self.store.user(user.id).await? {
            Some(now) if now.disabled_at.is_some() => AccountError::Disabled,
            Some(now) if now.password_hash == user.password_hash => return Ok(signed_in),
            _ => AccountError::WrongCredentials,
        };
        self.sessions.end(user.id, signed_in.device.id).await?;
        Err(refused)
    }

    async fn by_handle(&self, handle: &str) -> Result<User, AccountError> {
        self.store.user_by_handle(&Handle::parse(handle)?).await?.ok_or(AccountError::NotFound)
    }

    async fn store_password(&self, user: UserId, password: Password) -> Result<(), AccountError> {
        let change =
            UserChange { password_hash: Some(self.hasher.hash(password).await?), ..UserChange::default() };
        self.update(user, change, None).await.map(|_| ())
    }

    async fn update(
        &self,
        id: UserId,
        change: UserChange,
        note: Option<AccountNote>,
    ) -> Result<User, AccountError> {
        match self.store.update_user(id, change, note).await? {
            UpdateUser::NotFound => Err(AccountError::NotFound),
            UpdateUser::HandleTaken => Err(AccountError::HandleTaken),
            UpdateUser::Updated(user, entry) => {
                if let Some(entry) = entry {
                    self.account_log.announce(&[(id, entry)]).await;
                }
                Ok(user)
            }
        }
    }
}

fn device_name(text: Option<&str>) -> Result<DeviceName, InvalidField> {
    text.map_or_else(|| Ok(DeviceName::default()), DeviceName::parse)
}

fn parse_removable<T>(
    value: Option<Option<String>>,
    parse: impl Fn(&str) -> Result<T, InvalidField>,
) -> Result<Option<Option<T>>, InvalidField> {
    value.map(|text| text.as_deref().map(&parse).transpose()).transpose()
}
