//! Logs sign-ins and failed attempts.
//!
//! The log contains no tokens and no passwords. It contains no handles either, because people type passwords into the wrong
//! field. It has a keyed hash of the handle instead, so that attempts on one account can be told from attempts on many. A
//! flood of failures does not flood the log: failures above a budget are counted, and the next line reports their number.
//!
//! [`authenticate`] is the one place where tokens of requests and sockets are checked, so no failure goes unnoticed.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_domain::sessions::Principal;
use godwit_protocol::ErrorCode;
use godwit_protocol::accounts::SignedIn;
use godwit_protocol::{DeviceId, UserId};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use hmac::Mac;
use metrics::counter;

use crate::auth::SigningKey;
use crate::auth::keys::hmac_sha256;
use crate::network::ClientAddress;
use crate::problem::{ApiError, ApiResult};
use crate::state::Shared;

/// The budget for failures in the log: a burst, and a rate per minute.
const FAILURES_BURST: NonZeroU32 = NonZeroU32::new(50).unwrap();
const FAILURES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();
/// The part of it for tokens. Tokens are cheap to try: a flood of bad ones must not hide attempts to guess passwords.
const TOKEN_FAILURES_BURST: NonZeroU32 = NonZeroU32::new(25).unwrap();
const TOKEN_FAILURES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(30).unwrap();
/// Bytes of a handle's hash: enough to tell accounts apart.
const HANDLE_HASH_BYTES: usize = 6;

/// The means of authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Registration,
    Password,
    RefreshToken,
    /// The current password, to set another one.
    PasswordChange,
    /// A token, to open a socket.
    Socket,
    /// A token, with a request over HTTP. Only failures are logged.
    Request,
}

impl By {
    const fn is_token(self) -> bool {
        match self {
            Self::Registration | Self::Password | Self::PasswordChange => false,
            Self::RefreshToken | Self::Socket | Self::Request => true,
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::Password => "password",
            Self::RefreshToken => "refresh_token",
            Self::PasswordChange => "password_change",
            Self::Socket => "socket",
            Self::Request => "request",
        }
    }
}

/// The user of an attempt, as far as known.
#[derive(Debug, Clone, Copy)]
pub enum Who<'a> {
    Handle(&'a str),
    User(UserId),
    Unknown,
}

#[derive(Debug)]
pub struct SignIns {
    key: SigningKey,
    failures: DefaultDirectRateLimiter,
    token_failures: DefaultDirectRateLimiter,
    untold: AtomicU64,
}

impl SignIns {
    pub fn new(key: SigningKey) -> Self {
        let failures = Quota::per_minute(FAILURES_PER_MINUTE).allow_burst(FAILURES_BURST);
        let token_failures = Quota::per_minute(TOKEN_FAILURES_PER_MINUTE).allow_burst(TOKEN_FAILURES_BURST);
        Self {
            key,
            failures: RateLimiter::direct(failures),
            token_failures: RateLimiter::direct(token_failures),
            untold: AtomicU64::new(0),
        }
    }

    /// Logs the outcome of an attempt to start a session.
    pub fn tried(&self, by: By, handle: &str, address: ClientAddress, outcome: &Result<SignedIn, ApiError>) {
        match outcome {
            Ok(signed_in) => {
                let handle = Some(self.hash(handle));
                self.done(by, signed_in.user.id, signed_in.device.id, address, handle);
            }
            Err(error) => self.failed(by, Who::Handle(handle), address, error),
        }
    }

    pub fn changed_password(
        &self,
        user: UserId,
        device: DeviceId,
        address: ClientAddress,
        outcome: Result<(), &ApiError>,
    ) {
        match outcome {
            Ok(()) => self.done(By::PasswordChange, user, device, address, None),
            Err(error) => self.failed(By::PasswordChange, Who::User(user), address, error),
        }
    }

    /// Logs a failed attempt. A failure of the server is logged elsewhere, and an invalid form is not an attempt.
    pub fn failed(&self, by: By, who: Who<'_>, address: ClientAddress, error: &ApiError) {
        let reason = error.code();
        let is_attempt = !matches!(reason, ErrorCode::InvalidField | ErrorCode::TokenExpired);
        if error.status().is_server_error() || !is_attempt {
            return;
        }
        counter!("godwit_sign_ins_total", "by" => by.label(), "outcome" => "failed").increment(1);
        let is_told =
            (!by.is_token() || self.token_failures.check().is_ok()) && self.failures.check().is_ok();
        if !is_told {
            self.untold.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (user, handle) = match who {
            Who::Handle(handle) => (None, Some(self.hash(handle))),
            Who::User(user) => (Some(user), None),
            Who::Unknown => (None, None),
        };
        let (user, handle) = (user.map(tracing::field::display), handle.map(tracing::field::display));
        let untold = self.untold.swap(0, Ordering::Relaxed);
        let untold = (untold > 0).then_some(untold);
        tracing::warn!(by = by.label(), user, handle, address = %address.0, %reason, untold, "a sign-in failed");
    }

    fn done(
        &self,
        by: By,
        user: UserId,
        device: DeviceId,
        address: ClientAddress,
        handle: Option<HandleHash>,
    ) {
        counter!("godwit_sign_ins_total", "by" => by.label(), "outcome" => "done").increment(1);
        let handle = handle.map(tracing::field::display);
        tracing::info!(by = by.label(), %user, %device, handle, address = %address.0, "signed in");
    }

    fn hash(&self, handle: &str) -> HandleHash {
        let mut mac = hmac_sha256(&self.key.derive("handles in the log"));
        mac.update(handle.trim().to_lowercase().as_bytes());
        let mut hash = HandleHash([0; HANDLE_HASH_BYTES]);
        hash.0.copy_from_slice(&mac.finalize().into_bytes()[..HANDLE_HASH_BYTES]);
        hash
    }
}

/// The user and device of an access token. A token that is refused is counted and logged.
pub async fn authenticate(
    state: &Shared,
    by: By,
    address: ClientAddress,
    token: &str,
) -> ApiResult<Principal> {
    state.app.sessions.authenticate(token).await.map_err(|error| {
        let error = error.into();
        state.sign_ins.failed(by, Who::Unknown, address, &error);
        error
    })
}

/// The hash that replaces a handle in the log.
#[derive(Debug, Clone, Copy)]
struct HandleHash([u8; HANDLE_HASH_BYTES]);

impl fmt::Display for HandleHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_hashed_the_same_however_it_is_written_and_not_shown() {
        let log = SignIns::new(SigningKey::new([7; 32]));
        let hash = log.hash("ada").to_string();
        assert_eq!(hash.len(), 2 * HANDLE_HASH_BYTES);
        assert_eq!(log.hash(" Ada ").to_string(), hash);
        assert_ne!(log.hash("bob").to_string(), hash);
        assert_ne!(SignIns::new(SigningKey::new([8; 32])).hash("ada").to_string(), hash);
    }
}
