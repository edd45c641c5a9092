//! Sessions: authentication of users and their devices.

use std::sync::Arc;

use godwit_protocol::accounts::{Device as WireDevice, SignedIn, Tokens};
use godwit_protocol::limits::{DEVICE_PROOF_DAYS, DEVICES_PER_USER_MAX, REFRESH_REPEAT_SECONDS};
use godwit_protocol::socket::CloseCode;
use godwit_protocol::{DeviceId, Timestamp, UserId};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use crate::account_log::AccountLog;
use crate::model::{
    AccountChange, AccountNote, Avatar, Device, DeviceName, DisplayName, Handle, InvalidField, Session,
    Subject, User,
};
use crate::ports::{
    AccessClaims, ApplicationClaims, Clock, CreateDevice, CreateUser, Delivery, DeviceProof, RefreshClaims,
    Rotation, Store, StoreError, TokenCodec, TokenError, VerifiedToken,
};

/// The device key of users whose application does not distinguish devices.
const ONLY_DEVICE: &str = "application";
const DEVICE_PROOF_MS: i64 = DEVICE_PROOF_DAYS as i64 * 24 * 60 * 60 * 1_000;
/// Ended sessions that a server remembers.
const ENDED_SESSIONS_MAX: usize = 16_384;
const REFRESH_REPEAT_MS: i64 = REFRESH_REPEAT_SECONDS as i64 * 1_000;
/// The size of the tag that binds a device proof to the user's password, in bytes.
const PASSWORD_TAG_BYTES: usize = 16;

#[derive(Debug)]
pub struct Sessions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tokens: Arc<dyn TokenCodec>,
    pub(crate) lifetimes: Lifetimes,
    /// Handles that only the operator can assign.
    pub(crate) reserved_handles: Vec<String>,
    pub(crate) ended: EndedSessions,
}

/// Devices of this server that the store did not have when a token of theirs came. Such a device never comes back, so its
/// further tokens cost no read: otherwise a client could sign out and make the store work with the token until it expires.
#[derive(Debug)]
pub(crate) struct EndedSessions(quick_cache::sync::Cache<DeviceId, ()>);

impl EndedSessions {
    pub(crate) fn new() -> Self {
        Self(quick_cache::sync::Cache::new(ENDED_SESSIONS_MAX))
    }

    fn has(&self, device: DeviceId) -> bool {
        self.0.get(&device).is_some()
    }

    fn add(&self, device: DeviceId) {
        self.0.insert(device, ());
    }
}

/// Lifetimes of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    pub access_ms: i64,
    pub refresh_ms: i64,
}

/// A device proof with a valid signature. [`KnownDevice::is_of`] checks whether the password is still the same.
#[derive(Debug)]
pub(crate) struct KnownDevice<'a> {
    pub(crate) proof: DeviceProof,
    signed: &'a str,
    password_tag: &'a str,
}

impl KnownDevice<'_> {
    /// True if the proof was made for this user with the current password.
    pub(crate) fn is_of(&self, user: &User) -> bool {
        let expected = password_tag(self.signed, user);
        // Compares in constant time, so that the duration does not reveal where the tags differ.
        let differ =
            expected.bytes().zip(self.password_tag.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
        self.proof.user_id == user.id && expected.len() == self.password_tag.len() && differ == 0
    }
}

/// An authenticated caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Principal {
    pub user_id: UserId,
    pub device_id: DeviceId,
    /// When the token of the caller expires.
    pub expires_at: Timestamp,
}

#[derive(Debug, Error)]
pub enum AuthError {
    /// Malformed, tampered with, or from a session that has ended.
    #[error("the token is not valid")]
    Invalid,
    #[error("the token has expired")]
    Expired,
    #[error("the account is disabled")]
    Disabled,
    #[error("the refresh token was already used")]
    Reused,
    /// A claim of the application about its user is not allowed.
    #[error("token of the application: {0}")]
    Claims(#[from] InvalidField),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TokenError> for AuthError {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid => Self::Invalid,
            TokenError::Expired => Self::Expired,
        }
    }
}

impl Sessions {
    /// Authenticates an access token. The first token of a user of the embedding application creates the user.
    pub async fn authenticate(&self, token: &str) -> Result<Principal, AuthError> {
        match self.tokens.verify(token, self.clock.now())? {
            VerifiedToken::Own(claims) => self.of_own_token(claims).await,
            VerifiedToken::Application(claims) => self.of_application(claims).await,
        }
    }

    /// Creates a device for an authenticated user. If the sign-in comes with a device proof, the new proof keeps its
    /// identity, so that more sign-ins do not give a known device more attempts.
    pub async fn start(
        &self,
        user: &User,
        name: DeviceName,
        known: Option<DeviceProof>,
    ) -> Result<SignedIn, AuthError> {
        let now = self.clock.now();
        let session =
            Session::Own { generation: 1, refresh_expires_at: now.plus_millis(self.lifetimes.refresh_ms) };
        let device = self.add_device(user.id, name, session, now).await?;
        let tokens = self.tokens_of(&device, now)?;
        let signed = self.tokens.sign_device_proof(DeviceProof {
            user_id: user.id,
            device_id: known.map_or(device.id, |known| known.device_id),
            expires_at: now.plus_millis(DEVICE_PROOF_MS),
        });
        let device_proof = format!("{signed}.{}", password_tag(&signed, user));
        Ok(SignedIn { user: user.to_me(), device: device.to_wire(device.id), tokens, device_proof })
    }

    /// The user and device of a proof that this server has signed. The session may have ended since.
    pub(crate) fn known_device<'a>(&self, proof: &'a str) -> Option<KnownDevice<'a>> {
        let (signed, password_tag) = proof.rsplit_once('.')?;
        let proof = self.tokens.verify_device_proof(signed, self.clock.now()).ok()?;
        Some(KnownDevice { proof, signed, password_tag })
    }

    /// The device of a refresh token. [`Self::refresh`] checks whether the token is still valid.
    pub fn refreshed_device(&self, refresh_token: &str) -> Result<DeviceId, AuthError> {
        Ok(self.tokens.verify_refresh(refresh_token, self.clock.now())?.device_id)
    }

    /// New tokens for a refresh token. A client that lost the answer may retry for a while and gets the same refresh token.
    /// Use of an older refresh token means that it was stolen, and ends the session.
    pub async fn refresh(&self, refresh_token: &str) -> Result<Tokens, AuthError> {
        let now = self.clock.now();
        let claims = self.tokens.verify_refresh(refresh_token, now)?;
        let next = claims.generation.wrapping_add(1);
        let expires_at = now.plus_millis(self.lifetimes.refresh_ms);
        match self.store.rotate_session(claims.device_id, claims.generation, next, expires_at, now).await? {
            Rotation::Rotated(device) => self.tokens_of(&device, now),
            Rotation::NotFound => Err(AuthError::Invalid),
            Rotation::Reused(device) if was_refreshed_to(&device, next, now) => self.tokens_of(&device, now),
            Rotation::Reused(device) => {
                tracing::warn!(user = %device.user_id, device = %device.id, "a refresh token was used twice");
                self.end(device.user_id, device.id).await?;
                Err(AuthError::Reused)
            }
        }
    }

    /// New tokens for a session whose refresh token may be stolen; the old refresh token becomes invalid. `None` for a
    /// session of the application, which has no refresh token.
    pub(crate) async fn renew(&self, id: DeviceId) -> Result<Option<Tokens>, AuthError> {
        loop {
            let device = self.store.device(id).await?.ok_or(AuthError::Invalid)?;
            let Session::Own { generation, .. } = device.session else { return Ok(None) };
            let now = self.clock.now();
            let expires_at = now.plus_millis(self.lifetimes.refresh_ms);
            // Skips one generation: the retry window of a refresh a moment ago must not return this token.
            let next = generation.wrapping_add(2);
            match self.store.rotate_session(id, generation, next, expires_at, now).await? {
                Rotation::Rotated(device) => return self.tokens_of(&device, now).map(Some),
                Rotation::NotFound => return Err(AuthError::Invalid),
                // A concurrent call has refreshed the session.
                Rotation::Reused(_) => {}
            }
        }
    }

    pub async fn devices(&self, by: Principal) -> Result<Vec<WireDevice>, StoreError> {
        let devices = self.store.devices_of(by.user_id).await?;
        Ok(devices.iter().filter(|d| d.revoked_at().is_none()).map(|d| d.to_wire(by.device_id)).collect())
    }

    pub async fn device(&self, by: Principal) -> Result<Option<WireDevice>, StoreError> {
        Ok(self.store.device(by.device_id).await?.map(|device| device.to_wire(by.device_id)))
    }

    /// Ends the session of another device of the same user; false if there is none. When this returns, its sockets are
    /// closed.
    pub async fn revoke(&self, by: Principal, id: DeviceId) -> Result<bool, StoreError> {
        match self.store.device(id).await? {
            Some(device) if device.user_id == by.user_id && device.revoked_at().is_none() => {
                self.end(by.user_id, id).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Ends all sessions of a user except one.
    pub(crate) async fn end_all(&self, user: UserId, except: Option<DeviceId>) -> Result<(), StoreError> {
        for device in self.store.devices_of(user).await? {
            if Some(device.id) != except && device.revoked_at().is_none() {
                self.end(user, device.id).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn end(&self, user_id: UserId, device: DeviceId) -> Result<(), StoreError> {
        let note =
            AccountNote { user_id, at: self.clock.now(), change: AccountChange::DeviceRemoved(device) };
        let entry = self.store.remove_device(device, note).await?;
        self.delivery.close_device(user_id, device, CloseCode::SignedOut).await;
        if let Some(entry) = entry {
            self.account_log.announce(&[(user_id, entry)]).await;
        }
        Ok(())
    }

    /// The devices of a user whose session has ended.
    pub(crate) async fn ended(
        &self,
        user: UserId,
        mut devices: Vec<DeviceId>,
    ) -> Result<Vec<DeviceId>, StoreError> {
        let disabled = self.store.user(user).await?.is_none_or(|user| user.disabled_at.is_some());
        if !disabled {
            let known = self.store.devices_of(user).await?;
            let goes_on = |id: &DeviceId| known.iter().any(|d| d.id == *id && d.revoked_at().is_none());
            devices.retain(|device| !goes_on(device));
        }
        Ok(devices)
    }

    async fn of_own_token(&self, claims: AccessClaims) -> Result<Principal, AuthError> {
        if self.ended.has(claims.device_id) {
            return Err(AuthError::Invalid);
        }
        // Disabling a user ends all sessions, so an existing device belongs to an enabled user.
        match self.store.device(claims.device_id).await? {
            Some(device)
                if device.user_id == claims.user_id && matches!(device.session, Session::Own { .. }) =>
            {
                Ok(Principal {
                    user_id: claims.user_id,
                    device_id: claims.device_id,
                    expires_at: claims.expires_at,
                })
            }
            Some(_) => Err(AuthError::Invalid),
            None => {
                self.ended.add(claims.device_id);
                Err(AuthError::Invalid)
            }
        }
    }

    async fn of_application(&self, claims: ApplicationClaims) -> Result<Principal, AuthError> {
        let subject = Subject::parse(&claims.subject)?;
        let device_key = claims.device.as_deref().unwrap_or(ONLY_DEVICE);
        let device_name = DeviceName::parse(device_key)?;
        let user = match self.store.user_by_subject(&subject).await? {
            Some(user) => user,
            None => self.make_user(subject, &claims).await?,
        };
        if user.disabled_at.is_some() {
            return Err(AuthError::Disabled);
        }
        let device_id = self.application_device(user.id, device_key, device_name, claims.issued_at).await?;
        Ok(Principal { user_id: user.id, device_id, expires_at: claims.expires_at })
    }

    async fn make_user(&self, subject: Subject, claims: &ApplicationClaims) -> Result<User, AuthError> {
        let id = UserId::new(self.store.ids().next()?);
        let is_everybody = |handle: &&str| handle.eq_ignore_ascii_case(Handle::EVERYBODY);
        let handle = claims.handle.as_deref().filter(|handle| !is_everybody(handle));
        let handle = handle.map(Handle::parse).transpose()?;
        let handle = handle.filter(|handle| !handle.is_among(&self.reserved_handles));
        let mut user = User::new(id, handle.unwrap_or_else(|| Handle::for_id(id)), self.clock.now());
        user.subject = Some(subject);
        if let Some(name) = &claims.display_name {
            user.display_name = DisplayName::parse(name)?;
        }
        user.avatar = claims.avatar.as_deref().map(Avatar::parse).transpose()?;
        loop {
            match self.store.create_user(user.clone()).await? {
                CreateUser::Created => return Ok(user),
                CreateUser::SubjectTaken(first) => return Ok(first),
                // Names in the application need not be unique here. The id is unique.
                CreateUser::HandleTaken => user.handle = Handle::for_id(id),
            }
        }
    }

    async fn application_device(
        &self,
        user: UserId,
        key: &str,
        name: DeviceName,
        issued_at: Option<Timestamp>,
    ) -> Result<DeviceId, AuthError> {
        let known = self.store.devices_of(user).await?.into_iter().find(
            |device| matches!(&device.session, Session::Application { key: of_device, .. } if **of_device == *key),
        );
        // Only a token issued after the revocation brings the device back, and earlier tokens stay invalid.
        let tokens_after = known.as_ref().and_then(Device::tokens_after);
        if tokens_after.is_some_and(|after| issued_at.is_none_or(|issued_at| issued_at <= after)) {
            return Err(AuthError::Invalid);
        }
        if let Some(device) = known.filter(|device| device.revoked_at().is_none()) {
            return Ok(device.id);
        }
        let session = Session::Application { key: key.into(), tokens_after, revoked_at: None };
        Ok(self.add_device(user, name, session, self.clock.now()).await?.id)
    }

    async fn add_device(
        &self,
        user_id: UserId,
        name: DeviceName,
        session: Session,
        now: Timestamp,
    ) -> Result<Device, AuthError> {
        let id = DeviceId::new(self.store.ids().next()?);
        let device = Device { id, user_id, name, created_at: now, last_active_at: now, session };
        let note = AccountNote { user_id, at: now, change: AccountChange::DeviceAdded(id) };
        loop {
            match self.store.create_device(device.clone(), note, DEVICES_PER_USER_MAX).await? {
                CreateDevice::Created(entry) => {
                    self.account_log.announce(&[(user_id, entry)]).await;
                    return Ok(device);
                }
                CreateDevice::KeyTaken(first) => return Ok(first),
                // A refusal would lock out a user who has lost all devices.
                CreateDevice::TooMany => self.end_longest_inactive(user_id).await?,
            }
        }
    }

    async fn end_longest_inactive(&self, user: UserId) -> Result<(), StoreError> {
        let devices = self.store.devices_of(user).await?;
        let active = devices.iter().filter(|device| device.revoked_at().is_none());
        match active.min_by_key(|device| device.last_active_at) {
            Some(device) => self.end(user, device.id).await,
            None => Ok(()),
        }
    }

    fn tokens_of(&self, device: &Device, now: Timestamp) -> Result<Tokens, AuthError> {
        let Session::Own { generation, refresh_expires_at } = device.session else {
            return Err(AuthError::Invalid);
        };
        let access_expires_at = now.plus_millis(self.lifetimes.access_ms);
        Ok(Tokens {
            access_token: self.tokens.sign_access(AccessClaims {
                user_id: device.user_id,
                device_id: device.id,
                expires_at: access_expires_at,
            }),
            access_expires_at,
            refresh_token: self.tokens.sign_refresh(RefreshClaims {
                device_id: device.id,
                generation,
                expires_at: refresh_expires_at,
            }),
            refresh_expires_at,
        })
    }
}

/// True if the device was refreshed to this generation recently, and not further.
fn was_refreshed_to(device: &Device, next: u32, now: Timestamp) -> bool {
    let is_next = matches!(device.session, Session::Own { generation, .. } if generation == next);
    is_next && now < device.last_active_at.plus_millis(REFRESH_REPEAT_MS)
}

/// Binds a device proof to the user's current password: the key is the stored hash with its salt, which only the server has.
/// A change of the password invalidates all earlier proofs.
fn password_tag(signed: &str, user: &User) -> String {
    let key = user.password_hash.as_deref().unwrap_or_default();
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(signed.as_bytes());
    mac.finalize().into_bytes()[..PASSWORD_TAG_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
}
