//! Proving who somebody is.
//!
//! - [`passwords`]: argon2id, slow on purpose and bounded
//! - [`tokens`]: the tokens of this server, and which verifier a token goes to
//! - [`application`]: the tokens of the application that embeds this server; [`jwks`] reads its key file
//! - [`keys`]: one signing key is kept in the store; every use has a key of its own derived from it

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
