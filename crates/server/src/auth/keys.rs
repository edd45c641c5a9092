//! The signing key of the installation, keys derived from it, and secrets that are never printed.

use std::fmt;
use std::path::PathBuf;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize, Serializer};
use sha2::Sha256;
use thiserror::Error;

/// The minimum length of a secret for HS256 (RFC 7518, section 3.2), in bytes.
pub const SECRET_BYTES_MIN: usize = 32;

/// The key of this installation, which the store keeps. It signs nothing itself.
#[derive(Clone, Copy)]
pub struct SigningKey([u8; 32]);

impl SigningKey {
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Derives a key for one purpose. It is useless for every other purpose.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut mac = hmac_sha256(&self.0);
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

pub(crate) fn hmac_sha256(key: &[u8; 32]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// A secret in the configuration. It is never written or printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("…")
    }
}

/// Why the keys of the application cannot be used: one line for the operator, without the key.
#[derive(Debug, Error)]
pub enum KeyError {
    #[error("set only one of secret, secret_file, public_key_file and jwks_file")]
    Several,
    #[error("cannot read {path}: {source}", path = path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path} is larger than {bytes_max} bytes", path = path.display())]
    TooLarge { path: PathBuf, bytes_max: u64 },
    #[error(
        "the secret for the tokens of the application has {bytes} bytes and needs at least {SECRET_BYTES_MIN}: \
         `openssl rand -base64 32` generates a strong one"
    )]
    WeakSecret { bytes: usize },
    #[error(
        "{path} is not a PEM public key of a supported type (Ed25519, EC P-256 or RSA)",
        path = path.display()
    )]
    NotAPublicKey { path: PathBuf },
    #[error("{path} is not a JWK set: {source}", path = path.display())]
    NotAJwkSet { path: PathBuf, source: serde_json::Error },
    #[error("{path} has no key for HS256, ES256, EdDSA or RS256", path = path.display())]
    NoUsableKey { path: PathBuf },
    #[error("{path} has more than {keys_max} keys", path = path.display())]
    TooManyKeys { path: PathBuf, keys_max: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_purpose_has_its_own_key() {
        let key = SigningKey::new([7; 32]);
        assert_ne!(key.derive("access"), key.derive("refresh"));
        assert_ne!(key.derive("access"), SigningKey::new([8; 32]).derive("access"));
        assert_eq!(key.derive("access"), key.derive("access"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = Secret::new("correct horse battery staple");
        assert!(!format!("{secret:?}").contains("horse"));
        assert!(!serde_json::to_string(&secret).unwrap().contains("horse"));
        assert!(!format!("{:?}", SigningKey::new([7; 32])).contains('7'));
    }
}
