//! Authentication.
//!
//! - [`passwords`]: argon2id, slow on purpose and bounded
//! - [`tokens`]: the tokens of this server, and the choice of the verifier
//! - [`application`]: the tokens of the embedding application; [`jwks`] reads its key file
//! - [`keys`]: the signing key in the store, and a derived key for every purpose

pub mod application;
pub mod jwks;
pub mod keys;
pub mod passwords;
pub mod tokens;

pub use application::{ApplicationConfig, ApplicationTokens, ClaimNames};
pub use keys::{KeyError, Secret, SigningKey};
pub use passwords::{Argon2Hasher, InvalidPasswordConfig, PasswordConfig};
pub use tokens::{Codec, TokenConfig};

#[cfg(test)]
mod tests;
