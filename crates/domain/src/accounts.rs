//! Accounts: registration, sign-in, the user's own profile, and the commands of the operator.

use std::sync::Arc;

use godwit_protocol::UserId;
use godwit_protocol::accounts::{ChangePassword, Me, PasswordChanged, Register, SignIn, SignedIn, UpdateMe};
use godwit_protocol::socket::CloseCode;
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::allowances::{Allowances, Overspent};
use crate::conversations::Conversations;
use crate::model::{
    AccountChange, AccountNote, Avatar, DeviceName, DisplayName, Handle, InvalidField, Password, Phone, User,
};
use crate::own_writes::{NotWritten, OwnWrites};
use crate::ports::{
    Clock, CreateUser, Delivery, DeviceProof, HashError, PasswordHasher, Peers, Store, StoreError,
    UpdateUser, UserChange,
};
use crate::presence::Presence;
use crate::profiles::Profiles;
use crate::sessions::{AuthError, Principal, Sessions};

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
    pub(crate) own_writes: Arc<OwnWrites>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hasher: Arc<dyn PasswordHasher>,
    pub(crate) policy: AccountPolicy,
}

/// How people get an account and sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountPolicy {
    /// Whether people can register.
    pub registration_open: bool,
    /// Whether people sign in with passwords.
    pub passwords_enabled: bool,
    /// Handles that only the operator can assign.
    pub reserved_handles: Vec<String>,
}

#[derive(Debug, Error)]
pub enum AccountError {
    #[error(transparent)]
    Invalid(#[from] InvalidField),
    #[error("the handle is taken")]
    HandleTaken,
    #[error("the handle is reserved for the operator")]
    HandleReserved,
    #[error("{reason}")]
    TooOften { reason: String, retry_after_secs: u32 },
    #[error("registration is closed on this server")]
    RegistrationClosed,
    #[error("this server does not use passwords")]
    PasswordsDisabled,
    #[error("wrong handle or password")]
    WrongCredentials,
    #[error("the account is disabled")]
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

impl From<NotWritten> for AccountError {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Disabled => Self::Disabled,
            NotWritten::Store(error) => Self::Store(error),
        }
    }
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

    /// Creates a user with a password, for the operator: it works with registration closed too, and with a reserved handle.
    pub async fn add(&self, request: &Register) -> Result<User, AccountError> {
        let handle = Handle::parse(&request.handle)?;
        let password = Password::parse_new("password", &request.password, &handle)?;
        let display_name = request.display_name.as_deref().map(DisplayName::parse).transpose()?;
        let phone = request.phone.as_deref().map(Phone::parse).transpose()?;
        // An early check saves the slow password hash. The store decides.
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

    /// The device of a sign-in, if the user has signed in on it with the current password. An unknown account has no device,
    /// and a proof that belongs to another user is ignored.
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
        // An invalid handle is treated like one that does not exist.
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
            asked_at: Some(now),
            ..UserChange::default()
        };
        let before = self.store.user(by).await?.ok_or(AccountError::NotFound)?;
        // Users can take back their own handle even if it has been reserved for the operator since.
        if let Some(handle) = change.handle.as_ref().filter(|handle| !before.holds(handle, Some(now))) {
            self.check_free_for_all(handle)?;
        }
        let visibility_asked = change.presence_visible.is_some();
        let note = AccountNote { user_id: by, at: now, change: AccountChange::ProfileUpdated };
        let write =
            move |store: Arc<dyn Store>| async move { store.update_user(by, change, Some(note)).await };
        let updated = self.own_writes.write(by, write).await?;
        let user = self.updated(by, updated).await?;
        if visibility_asked {
            self.presence.visibility_changed(&user).await;
        }
        if user.to_public() != before.to_public() {
            self.profiles.announce(by).await;
        }
        Ok(user.to_me())
    }

    /// Refuses the handles that only the operator can assign.
    fn check_free_for_all(&self, handle: &Handle) -> Result<(), AccountError> {
        if handle.is_among(&self.policy.reserved_handles) {
            return Err(AccountError::HandleReserved);
        }
        Ok(())
    }

    /// Sets a new password, ends every other session, and gives this session new tokens. Nobody with the old tokens or the
    /// old password stays signed in.
    ///
    /// The password is stored first, so a call that fails half-way leaves other sessions open. Repeating it finishes the
    /// work: it is recognised by the new password, which is the one of the account by then.
    pub async fn change_password(
        &self,
        by: Principal,
        request: ChangePassword,
    ) -> Result<PasswordChanged, AccountError> {
        let current = Password::parse_attempt("current_password", &request.current_password)?;
        let user = self.store.user(by.user_id).await?.ok_or(AccountError::NotFound)?;
        let new = Password::parse_new("new_password", &request.new_password, &user.handle)?;
        let Some(hash) = user.password_hash else { return Err(AccountError::PasswordsDisabled) };
        if self.hasher.verify(current, Some(hash.clone())).await? {
            self.store_password(by.user_id, new).await?;
        } else if !self.hasher.verify(new, Some(hash)).await? {
            return Err(AccountError::WrongCredentials);
        }
        self.sessions.end_all(by.user_id, Some(by.device_id)).await?;
        Ok(PasswordChanged { tokens: self.sessions.renew(by.device_id).await? })
    }

    /// For the operator: sets a password without the old one, and ends every session.
    pub async fn set_password(&self, handle: &str, password: &str) -> Result<(), AccountError> {
        let user = self.by_handle(handle).await?;
        self.store_password(user.id, Password::parse_new("password", password, &user.handle)?).await?;
        Ok(self.sessions.end_all(user.id, None).await?)
    }

    /// For the operator: disables or enables an account. When this returns, no reachable node accepts anything more from a
    /// disabled user.
    pub async fn set_disabled(&self, handle: &str, disabled: bool) -> Result<User, AccountError> {
        let user = self.by_handle(handle).await?;
        let disabled_at = disabled.then(|| self.clock.now());
        let change = UserChange { disabled_at: Some(disabled_at), ..UserChange::default() };
        let user = self.update(user.id, change, None).await?;
        if disabled {
            self.sessions.end_all(user.id, None).await?;
            self.delivery.close_user(user.id, CloseCode::SignedOut).await;
            // When this returns, every node has finished or refused the actions that the user began before.
            self.conversations.settle_all().await;
            self.own_writes.settle().await;
            self.peers.settle_all().await;
        }
        Ok(user)
    }

    /// For the operator: all users with an id after `after`, sorted by id.
    pub async fn list(&self, after: Option<UserId>, limit: usize) -> Result<Vec<User>, StoreError> {
        self.store.list_users(after, limit).await
    }

    /// Starts a session for a user who has proved to be `user`. Comparing a password takes a while. If the account was
    /// disabled or its password changed during that time, that change did not end this session, so the account is checked
    /// again.
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
        let updated = self.store.update_user(id, change, note).await?;
        self.updated(id, updated).await
    }

    async fn updated(&self, id: UserId, updated: UpdateUser) -> Result<User, AccountError> {
        match updated {
            UpdateUser::NotFound => Err(AccountError::NotFound),
            UpdateUser::HandleTaken => Err(AccountError::HandleTaken),
            UpdateUser::TooOften { limit, until } => Err(self.allowances.over(limit, until).into()),
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
