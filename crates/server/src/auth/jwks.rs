//! The JWK set of the application, in a file that may change at run time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use godwit_protocol::Timestamp;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};

use super::application::{Key, read};
use super::keys::{KeyError, SECRET_BYTES_MIN};
use crate::problem::chain;

/// The minimum interval between two checks of the file.
pub const JWKS_CHECK_EVERY_MS: i64 = 3_000;
/// Keys per set. A token without a key id may be tried with every key of its kind.
pub const JWKS_KEYS_MAX: usize = 64;

/// The current keys of a file.
#[derive(Debug)]
pub(super) struct JwksFile {
    path: PathBuf,
    checked_at_ms: AtomicI64,
    current: RwLock<Arc<Loaded>>,
}

#[derive(Debug)]
struct Loaded {
    /// The content of the file. Comparing it is more reliable than its modification time, which has a coarse resolution.
    bytes: Vec<u8>,
    keys: Vec<Key>,
}

impl JwksFile {
    pub(super) fn open(path: &Path) -> Result<Self, KeyError> {
        let bytes = read(path)?;
        let keys = parse(path, &bytes)?;
        Ok(Self {
            path: path.into(),
            checked_at_ms: AtomicI64::new(0),
            current: RwLock::new(Arc::new(Loaded { bytes, keys })),
        })
    }

    /// The keys, after a check of the file if one is due. An invalid file changes nothing: the server logs an error and
    /// keeps the previous keys.
    pub(super) fn keys(&self, now: Timestamp) -> impl std::ops::Deref<Target = [Key]> + use<> {
        if self.is_due(now)
            && let Err(error) = self.reload()
        {
            tracing::warn!(error = %chain(&error), "could not reload the keys of the application");
        }
        Snapshot(self.loaded())
    }

    /// True if a check is due. Of concurrent callers, one gets true.
    fn is_due(&self, now: Timestamp) -> bool {
        let checked_at = self.checked_at_ms.load(Ordering::Relaxed);
        let elapsed_ms = now.as_millis().abs_diff(checked_at);
        elapsed_ms >= JWKS_CHECK_EVERY_MS.unsigned_abs()
            && self
                .checked_at_ms
                .compare_exchange(checked_at, now.as_millis(), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn reload(&self) -> Result<(), KeyError> {
        let bytes = read(&self.path)?;
        if bytes == self.loaded().bytes {
            return Ok(());
        }
        let keys = parse(&self.path, &bytes)?;
        tracing::info!(keys = keys.len(), "reloaded the keys of the application");
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Loaded { bytes, keys });
        Ok(())
    }

    fn loaded(&self) -> Arc<Loaded> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The keys at one moment.
struct Snapshot(Arc<Loaded>);

impl std::ops::Deref for Snapshot {
    type Target = [Key];

    fn deref(&self) -> &[Key] {
        &self.0.keys
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Key>, KeyError> {
    let set: JwkSet =
        serde_json::from_slice(bytes).map_err(|source| KeyError::NotAJwkSet { path: path.into(), source })?;
    if set.keys.len() > JWKS_KEYS_MAX {
        return Err(KeyError::TooManyKeys { path: path.into(), keys_max: JWKS_KEYS_MAX });
    }
    // Ignores keys for other purposes.
    let keys: Vec<Key> = set.keys.iter().filter_map(usable).collect();
    if keys.is_empty() { Err(KeyError::NoUsableKey { path: path.into() }) } else { Ok(keys) }
}

/// The key, if it is a signature key of an accepted kind.
fn usable(jwk: &Jwk) -> Option<Key> {
    let for_signatures = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => Algorithm::EdDSA,
        AlgorithmParameters::OctetKey(_) => Algorithm::HS256,
        _ => return None,
    };
    let as_declared =
        jwk.common.key_algorithm.is_none_or(|declared| declared == KeyAlgorithm::from(algorithm));
    if !for_signatures || !as_declared {
        return None;
    }
    let decoding = DecodingKey::from_jwk(jwk).ok()?;
    let strong = algorithm != Algorithm::HS256
        || decoding.try_get_as_bytes().is_ok_and(|secret| secret.len() >= SECRET_BYTES_MIN);
    let key = Key { id: jwk.common.key_id.clone(), algorithm, decoding };
    (strong && key.works()).then_some(key)
}
