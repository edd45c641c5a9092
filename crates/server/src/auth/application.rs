//! Application tokens: JWTs that the embedding application signs for its users.
//!
//! The kind of a key determines its only algorithm, and a token is verified only with that algorithm: the header of a token
//! can never turn a public key into a shared secret.

use std::path::{Path, PathBuf};

use aws_lc_rs::signature::{self, ParsedPublicKey, RsaPublicKeyComponents, VerificationAlgorithm};
use godwit_domain::ports::{ApplicationClaims, TokenError};
use godwit_protocol::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, Header, Validation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::jwks::JwksFile;
use super::keys::{KeyError, SECRET_BYTES_MIN, Secret};
use super::tokens::{from_numeric_date, signature_only};
use crate::config::settings::settings;

/// A file with a key, in bytes.
pub const KEY_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The shortest modulus of an RSA key whose signatures are verified: 2,048 bits.
const RSA_MODULUS_BYTES_MIN: usize = 256;

settings! {
    /// Which tokens of the application are accepted. With no key none are. Exactly one kind of key can be set.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct ApplicationConfig {
        /// A secret for HS256, at least 32 bytes.
        pub secret: Option<Secret>,
        /// A file with a secret for HS256. Surrounding white space is ignored.
        pub secret_file: Option<PathBuf>,
        /// A file with a public key in PEM: Ed25519 for EdDSA, EC P-256 for ES256, RSA for RS256.
        pub public_key_file: Option<PathBuf>,
        /// A file with a JWK set. The server reads it again when it changes, so keys can be rotated while it runs.
        pub jwks_file: Option<PathBuf>,
        /// The required `iss`.
        pub issuer: Option<String>,
        /// Accept tokens with any `iss`, instead of setting `issuer`.
        pub accept_any_issuer: bool,
        /// The required `aud`, or one of its values.
        pub audience: Option<String>,
        /// Accept tokens with any `aud`, instead of setting `audience`. This includes tokens that the application has
        /// issued for other services.
        pub accept_any_audience: bool,
        /// How far ahead `exp` may be, in seconds, and how long after `iat` if a token has one. Every token needs an
        /// `exp`.
        pub lifetime_max_secs: u32,
        /// How far the clocks of the application and of this server may differ.
        pub leeway_seconds: u32,
        /// Names of the claims that describe a user, besides `sub`. All are optional in a token.
        pub claims: ClaimNames,
    }
}

impl Default for ApplicationConfig {
    fn default() -> Self {
        Self {
            secret: None,
            secret_file: None,
            public_key_file: None,
            jwks_file: None,
            issuer: None,
            accept_any_issuer: false,
            audience: None,
            accept_any_audience: false,
            lifetime_max_secs: 24 * 60 * 60,
            leeway_seconds: 30,
            claims: ClaimNames::default(),
        }
    }
}

impl ApplicationConfig {
    /// The settings that are missing before tokens are accepted, one line each.
    pub fn undecided(&self) -> Vec<String> {
        let claims = [
            ("issuer", "iss", self.issuer.is_some(), self.accept_any_issuer),
            ("audience", "aud", self.audience.is_some(), self.accept_any_audience),
        ];
        let problem = |(setting, claim, is_set, accepts_any): (&str, &str, bool, bool)| match (
            is_set,
            accepts_any,
        ) {
            (false, false) => Some(format!(
                "auth.application.{setting}: set the required `{claim}`, so that tokens for other services are refused, \
                 or set auth.application.accept_any_{setting} = true"
            )),
            (true, true) => Some(format!(
                "auth.application.{setting} is set, but accept_any_{setting} is true: choose one of them"
            )),
            _ => None,
        };
        claims.into_iter().filter_map(problem).collect()
    }

    /// What the settings accept that most applications would refuse, one line each. Nothing without a key.
    pub fn warnings(&self) -> Vec<String> {
        let Self { secret, secret_file, public_key_file, jwks_file, .. } = self;
        let files = [secret_file, public_key_file, jwks_file];
        if secret.is_none() && files.into_iter().all(Option::is_none) {
            return Vec::new();
        }
        [("issuer", "iss", self.accept_any_issuer), ("audience", "aud", self.accept_any_audience)]
            .into_iter()
            .filter(|(.., accepts_any)| *accepts_any)
            .map(|(setting, claim, _)| {
                format!(
                    "auth.application.accept_any_{setting} is true: tokens with any `{claim}` are accepted, also those that \
                     the application has issued for other services; set auth.application.{setting} instead"
                )
            })
            .collect()
    }
}

settings! {
    /// The claims that say more about a user than `sub`. All are optional in a token.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct ClaimNames {
        /// The claim with the handle.
        pub handle: String,
        /// The claim with the name that others see.
        pub display_name: String,
        /// The claim with the URL of the picture.
        pub avatar: String,
        /// The claim that tells the devices of a user apart.
        pub device: String,
    }
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self {
            handle: "handle".into(),
            display_name: "name".into(),
            avatar: "picture".into(),
            device: "device".into(),
        }
    }
}

/// Verifies the tokens of the application.
#[derive(Debug)]
pub struct ApplicationTokens {
    keys: Keys,
    issuer: Option<String>,
    audience: Option<String>,
    lifetime_max_ms: i64,
    leeway_ms: i64,
    claims: ClaimNames,
}

#[derive(Debug)]
enum Keys {
    One(Key),
    File(JwksFile),
}

/// A key with its only algorithm.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) id: Option<String>,
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
}

impl ApplicationTokens {
    /// `None` if no key is set: the server then accepts only its own tokens.
    pub fn load(config: &ApplicationConfig) -> Result<Option<Self>, KeyError> {
        let keys = match (&config.secret, &config.secret_file, &config.public_key_file, &config.jwks_file) {
            (None, None, None, None) => return Ok(None),
            (Some(secret), None, None, None) => Keys::One(Key::of_secret(secret.reveal().as_bytes())?),
            (None, Some(path), None, None) => Keys::One(Key::of_secret(read(path)?.trim_ascii())?),
            (None, None, Some(path), None) => Keys::One(Key::of_pem(path, &read(path)?)?),
            (None, None, None, Some(path)) => Keys::File(JwksFile::open(path)?),
            _ => return Err(KeyError::Several),
        };
        Ok(Some(Self {
            keys,
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
            lifetime_max_ms: i64::from(config.lifetime_max_secs) * 1_000,
            leeway_ms: i64::from(config.leeway_seconds) * 1_000,
            claims: config.claims.clone(),
        }))
    }

    pub(super) fn verify(
        &self,
        token: &str,
        header: &Header,
        now: Timestamp,
    ) -> Result<ApplicationClaims, TokenError> {
        let claims = match &self.keys {
            Keys::One(key) => self.open(token, key),
            Keys::File(file) => {
                let keys = file.keys(now);
                let mut fitting = keys.iter().filter(|key| key.fits(header));
                fitting.find_map(|key| self.open(token, key))
            }
        };
        self.read_claims(&claims.ok_or(TokenError::Invalid)?, now)
    }

    /// The claims, if the signature matches the key.
    fn open(&self, token: &str, key: &Key) -> Option<Map<String, Value>> {
        let validation = self.validation(key.algorithm);
        jsonwebtoken::decode(token, &key.decoding, &validation).ok().map(|opened| opened.claims)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = signature_only(algorithm);
        if let Some(audience) = &self.audience {
            validation.set_audience(&[audience]);
            validation.required_spec_claims.insert("aud".into());
            validation.validate_aud = true;
        }
        validation
    }

    fn read_claims(
        &self,
        claims: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<ApplicationClaims, TokenError> {
        // Compared here, because the library would also accept a list of issuers with one match.
        if self.issuer.is_some() && text(claims, "iss")? != self.issuer {
            return Err(TokenError::Invalid);
        }
        if time(claims, "nbf")?.is_some_and(|from| from > now.plus_millis(self.leeway_ms)) {
            return Err(TokenError::Invalid);
        }
        // Includes the leeway, because the token is accepted until then.
        let expires_at = time(claims, "exp")?.ok_or(TokenError::Invalid)?.plus_millis(self.leeway_ms);
        if expires_at <= now {
            return Err(TokenError::Expired);
        }
        if expires_at > now.plus_millis(self.lifetime_max_ms + 2 * self.leeway_ms) {
            return Err(TokenError::Invalid);
        }
        // A token that expires soon may have been valid for long. If it says when it was issued, that counts too.
        let issued_at = time(claims, "iat")?;
        if issued_at.is_some_and(|issued_at| {
            let ends_by = issued_at.plus_millis(self.lifetime_max_ms + self.leeway_ms);
            issued_at > now.plus_millis(self.leeway_ms) || expires_at > ends_by
        }) {
            return Err(TokenError::Invalid);
        }
        Ok(ApplicationClaims {
            subject: text(claims, "sub")?.ok_or(TokenError::Invalid)?,
            handle: text(claims, &self.claims.handle)?,
            display_name: text(claims, &self.claims.display_name)?,
            avatar: text(claims, &self.claims.avatar)?,
            device: text(claims, &self.claims.device)?,
            issued_at,
            expires_at,
        })
    }
}

impl Key {
    pub(super) fn of_secret(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::WeakSecret { bytes: secret.len() });
        }
        let decoding = DecodingKey::from_secret(secret);
        Ok(Self { id: None, algorithm: Algorithm::HS256, decoding })
    }

    fn of_pem(path: &Path, pem: &[u8]) -> Result<Self, KeyError> {
        let readings = [
            (Algorithm::EdDSA, DecodingKey::from_ed_pem(pem)),
            (Algorithm::ES256, DecodingKey::from_ec_pem(pem)),
            (Algorithm::RS256, DecodingKey::from_rsa_pem(pem)),
        ];
        readings
            .into_iter()
            .filter_map(|(algorithm, decoding)| Some(Self { id: None, algorithm, decoding: decoding.ok()? }))
            .find(Self::works)
            .ok_or_else(|| KeyError::NotAPublicKey { path: path.into() })
    }

    /// True if this key can verify signatures. A key of another kind or curve in the file fails here, at start, and not with
    /// the first token.
    pub(super) fn works(&self) -> bool {
        let algorithm: &'static dyn VerificationAlgorithm = match self.algorithm {
            Algorithm::EdDSA => &signature::ED25519,
            Algorithm::ES256 => &signature::ECDSA_P256_SHA256_FIXED,
            Algorithm::RS256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            // A secret can be any bytes.
            _ => return true,
        };
        let is_rsa = self.algorithm == Algorithm::RS256;
        match self.decoding.kind() {
            DecodingKeyKind::SecretOrDer(key) => {
                ParsedPublicKey::new(algorithm, key).is_ok() && (!is_rsa || key.len() > RSA_MODULUS_BYTES_MIN)
            }
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                let modulus_bytes = n.iter().skip_while(|byte| **byte == 0).count();
                let key = RsaPublicKeyComponents { n, e };
                let parsed = key.to_parsed_public_key(&signature::RSA_PKCS1_2048_8192_SHA256);
                is_rsa && parsed.is_ok() && modulus_bytes >= RSA_MODULUS_BYTES_MIN
            }
        }
    }

    /// True if a token with this header may be signed with this key.
    fn fits(&self, header: &Header) -> bool {
        let id_fits = match (&self.id, &header.kid) {
            (Some(own), Some(asked)) => own == asked,
            _ => true,
        };
        id_fits && self.algorithm == header.alg
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, KeyError> {
    let unreadable = |source| KeyError::Unreadable { path: path.into(), source };
    if std::fs::metadata(path).map_err(unreadable)?.len() > KEY_FILE_BYTES_MAX {
        return Err(KeyError::TooLarge { path: path.into(), bytes_max: KEY_FILE_BYTES_MAX });
    }
    std::fs::read(path).map_err(unreadable)
}

/// A text claim, if present.
fn text(claims: &Map<String, Value>, name: &str) -> Result<Option<String>, TokenError> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(TokenError::Invalid),
    }
}

/// A time claim, if present.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, TokenError> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_f64().map(from_numeric_date).map(Some).ok_or(TokenError::Invalid),
    }
}
