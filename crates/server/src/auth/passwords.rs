//! Password hashing with argon2id. It is slow on purpose, so only a few hashes run at once, and never on the threads that
//! serve requests.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use async_trait::async_trait;
use godwit_domain::model::Password;
use godwit_domain::ports::{HashError, PasswordHasher};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::config::settings::settings;

settings! {
    /// How passwords are hashed. The defaults are the ones that OWASP recommends for argon2id. Passwords that were hashed with
    /// other settings remain valid.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct PasswordConfig {
        /// Memory of one hash, in KiB.
        pub memory_kib: u32,
        /// Passes over that memory.
        pub iterations: u32,
        /// Lanes within one hash.
        pub parallelism: u32,
        /// Passwords that are hashed at the same time; 0 means one per processor. Others wait (`[admission]`).
        pub concurrent_max: usize,
    }
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, iterations: 2, parallelism: 1, concurrent_max: 0 }
    }
}

impl PasswordConfig {
    /// The number of concurrent hashes.
    pub fn at_once_max(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let at_once = if self.concurrent_max == 0 { processors() } else { self.concurrent_max };
        at_once.min(Semaphore::MAX_PERMITS)
    }
}

/// argon2 does not allow these settings.
#[derive(Debug, Error)]
#[error("invalid password settings: {0}")]
pub struct InvalidPasswordConfig(argon2::Error);

/// The domain's password hasher.
#[derive(Debug)]
pub struct Argon2Hasher {
    argon2: Argon2<'static>,
    permits: Arc<Semaphore>,
    /// The hash to verify against if there is no user, so that the duration is the same.
    decoy: Arc<OnceLock<String>>,
}

impl Argon2Hasher {
    pub fn new(config: &PasswordConfig) -> Result<Self, InvalidPasswordConfig> {
        let params = Params::new(config.memory_kib, config.iterations, config.parallelism, None)
            .map_err(InvalidPasswordConfig)?;
        Ok(Self {
            argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, params),
            permits: Arc::new(Semaphore::new(config.at_once_max())),
            decoy: Arc::default(),
        })
    }

    /// Runs slow work on a blocking thread. The permit goes with the work: if the caller gives up, the work counts until it
    /// is done.
    async fn slowly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Argon2<'static>) -> Result<T, HashError> + Send + 'static,
    ) -> Result<T, HashError> {
        let permit = self.permits.clone().acquire_owned().await.map_err(failed)?;
        let argon2 = self.argon2.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&argon2)
        });
        done.await.map_err(failed)?
    }
}

#[async_trait]
impl PasswordHasher for Argon2Hasher {
    async fn hash(&self, password: Password) -> Result<String, HashError> {
        self.slowly(move |argon2| hash(argon2, password.reveal())).await
    }

    async fn verify(&self, password: Password, stored: Option<String>) -> Result<bool, HashError> {
        let decoy = self.decoy.clone();
        self.slowly(move |argon2| match stored {
            Some(stored) => matches(argon2, password.reveal(), &stored),
            None => {
                let decoy = match decoy.get() {
                    Some(decoy) => decoy,
                    None => {
                        let made = hash(argon2, "nobody has this password")?;
                        decoy.get_or_init(|| made)
                    }
                };
                matches(argon2, password.reveal(), decoy).map(|_| false)
            }
        })
        .await
    }
}

fn hash(argon2: &Argon2<'_>, password: &str) -> Result<String, HashError> {
    argon2.hash_password(password.as_bytes()).map(|hash| hash.to_string()).map_err(failed)
}

fn matches(argon2: &Argon2<'_>, password: &str, stored: &str) -> Result<bool, HashError> {
    let stored = PasswordHash::new(stored).map_err(failed)?;
    match argon2.verify_password(password.as_bytes(), &stored) {
        Ok(()) => Ok(true),
        Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

fn failed(error: impl std::fmt::Display) -> HashError {
    HashError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick() -> Argon2Hasher {
        let config =
            PasswordConfig { memory_kib: 64, iterations: 1, concurrent_max: 1, ..PasswordConfig::default() };
        Argon2Hasher::new(&config).unwrap()
    }

    fn password(text: &str) -> Password {
        Password::parse_attempt("password", text).unwrap()
    }

    #[tokio::test]
    async fn only_the_right_password_matches() {
        let hasher = quick();
        let stored = hasher.hash(password("correct horse")).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{stored}");
        assert!(hasher.verify(password("correct horse"), Some(stored.clone())).await.unwrap());
        assert!(!hasher.verify(password("wrong horse"), Some(stored.clone())).await.unwrap());
        assert!(!hasher.verify(password(""), Some(stored)).await.unwrap());
    }

    #[tokio::test]
    async fn without_a_hash_no_password_matches() {
        let hasher = quick();
        assert!(!hasher.verify(password("nobody has this password"), None).await.unwrap());
    }

    #[tokio::test]
    async fn a_password_hashed_with_other_settings_still_matches() {
        let stored = quick().hash(password("correct horse")).await.unwrap();
        let config = PasswordConfig { memory_kib: 128, ..PasswordConfig::default() };
        let hasher = Argon2Hasher::new(&config).unwrap();
        assert!(hasher.verify(password("correct horse"), Some(stored)).await.unwrap());
    }

    #[tokio::test]
    async fn a_broken_hash_is_a_fault_and_not_a_wrong_password() {
        assert!(quick().verify(password("correct horse"), Some("plain".into())).await.is_err());
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert!(Argon2Hasher::new(&PasswordConfig { memory_kib: 1, ..PasswordConfig::default() }).is_err());
    }
}
