//! Passwords and tokens.

use async_trait::async_trait;
use godwit_protocol::{DeviceId, Timestamp, UserId};
use thiserror::Error;

use crate::model::Password;

/// Hashes passwords. A hash is slow on purpose, and only a bounded number run at once; the others wait.
#[async_trait]
pub trait PasswordHasher: Send + Sync + std::fmt::Debug {
    async fn hash(&self, password: Password) -> Result<String, HashError>;

    /// True if the password matches the hash. Without a hash, the call takes as long and returns false, so that the time
    /// does not reveal which users exist.
    async fn verify(&self, password: Password, hash: Option<String>) -> Result<bool, HashError>;
}

#[derive(Debug, Error)]
#[error("cannot hash the password: {0}")]
pub struct HashError(pub String);

/// Signs and verifies tokens. The codec knows keys and formats; the domain decides whether a session still exists.
pub trait TokenCodec: Send + Sync + std::fmt::Debug {
    fn sign_access(&self, claims: AccessClaims) -> String;

    fn sign_refresh(&self, claims: RefreshClaims) -> String;

    /// Verifies an access token of this server, or a token of the embedding application.
    fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedToken, TokenError>;

    fn verify_refresh(&self, token: &str, now: Timestamp) -> Result<RefreshClaims, TokenError>;

    fn sign_device_proof(&self, claims: DeviceProof) -> String;

    fn verify_device_proof(&self, proof: &str, now: Timestamp) -> Result<DeviceProof, TokenError>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerifiedToken {
    Own(AccessClaims),
    Application(ApplicationClaims),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessClaims {
    pub user_id: UserId,
    pub device_id: DeviceId,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshClaims {
    pub device_id: DeviceId,
    pub generation: u32,
    pub expires_at: Timestamp,
}

/// Proof that the user has signed in on this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceProof {
    pub user_id: UserId,
    pub device_id: DeviceId,
    pub expires_at: Timestamp,
}

/// The claims of the embedding application about its user. Their format is not checked yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationClaims {
    pub subject: String,
    pub handle: Option<String>,
    pub display_name: Option<String>,
    pub avatar: Option<String>,
    /// Tells the devices of the user apart. Optional for users with one device.
    pub device: Option<String>,
    pub issued_at: Option<Timestamp>,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    #[error("the token is not valid")]
    Invalid,
    #[error("the token has expired")]
    Expired,
}
