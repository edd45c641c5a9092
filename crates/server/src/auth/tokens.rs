//! The tokens of this server.
//!
//! Access tokens, refresh tokens and device proofs are JWTs signed with HS256. Each kind has its own key and its name in
//! `typ`, so that no kind passes for another. `typ` only selects the key that verifies the signature.

use godwit_domain::ports::{AccessClaims, DeviceProof, RefreshClaims, TokenCodec, TokenError, VerifiedToken};
use godwit_domain::sessions::Lifetimes;
use godwit_protocol::{DeviceId, Timestamp, UserId};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::application::ApplicationTokens;
use super::keys::SigningKey;
use crate::config::settings::settings;

/// The size limit of a token, in bytes. Longer ones are not decoded.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;

const ISSUER: &str = "godwit";
const ACCESS_TYPE: &str = "godwit-access+jwt";
const REFRESH_TYPE: &str = "godwit-refresh+jwt";
const DEVICE_TYPE: &str = "godwit-device+jwt";

settings! {
    /// How long the tokens of this server are good for.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct TokenConfig {
        /// Lifetime of an access token, in minutes.
        pub access_minutes: u32,
        /// Lifetime of a refresh token, in days. Each refresh starts it anew.
        pub refresh_days: u32,
    }
}

impl Default for TokenConfig {
    fn default() -> Self {
        Self { access_minutes: 15, refresh_days: 30 }
    }
}

impl TokenConfig {
    pub fn lifetimes(&self) -> Lifetimes {
        const MINUTE_MS: i64 = 60_000;
        const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
        Lifetimes {
            access_ms: i64::from(self.access_minutes) * MINUTE_MS,
            refresh_ms: i64::from(self.refresh_days) * DAY_MS,
        }
    }
}

/// The domain's token codec: for the server's own tokens, and for those of the application if it has a key.
#[derive(Debug)]
pub struct Codec {
    access: Signer,
    refresh: Signer,
    device: Signer,
    application: Option<ApplicationTokens>,
}

impl Codec {
    pub fn new(signing_key: SigningKey, application: Option<ApplicationTokens>) -> Self {
        Self {
            access: Signer::new(ACCESS_TYPE, signing_key.derive("godwit access token")),
            refresh: Signer::new(REFRESH_TYPE, signing_key.derive("godwit refresh token")),
            device: Signer::new(DEVICE_TYPE, signing_key.derive("godwit device proof")),
            application,
        }
    }
}

impl TokenCodec for Codec {
    fn sign_access(&self, claims: AccessClaims) -> String {
        self.access.sign(&OwnAccess {
            iss: ISSUER.into(),
            sub: claims.user_id,
            dev: claims.device_id,
            exp: to_numeric_date(claims.expires_at),
        })
    }

    fn sign_refresh(&self, claims: RefreshClaims) -> String {
        self.refresh.sign(&OwnRefresh {
            iss: ISSUER.into(),
            dev: claims.device_id,
            generation: claims.generation,
            exp: to_numeric_date(claims.expires_at),
        })
    }

    fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedToken, TokenError> {
        let header = decode_header(token)?;
        if header.typ.as_deref() == Some(ACCESS_TYPE) {
            let claims: OwnAccess = self.access.open(token)?;
            let expires_at = not_past(from_numeric_date(claims.exp), now)?;
            let claims = AccessClaims { user_id: claims.sub, device_id: claims.dev, expires_at };
            return Ok(VerifiedToken::Own(claims));
        }
        let application = self.application.as_ref().ok_or(TokenError::Invalid)?;
        application.verify(token, &header, now).map(VerifiedToken::Application)
    }

    fn verify_refresh(&self, token: &str, now: Timestamp) -> Result<RefreshClaims, TokenError> {
        decode_header(token)?;
        let claims: OwnRefresh = self.refresh.open(token)?;
        Ok(RefreshClaims {
            device_id: claims.dev,
            generation: claims.generation,
            expires_at: not_past(from_numeric_date(claims.exp), now)?,
        })
    }

    fn sign_device_proof(&self, proof: DeviceProof) -> String {
        self.device.sign(&OwnAccess {
            iss: ISSUER.into(),
            sub: proof.user_id,
            dev: proof.device_id,
            exp: to_numeric_date(proof.expires_at),
        })
    }

    fn verify_device_proof(&self, proof: &str, now: Timestamp) -> Result<DeviceProof, TokenError> {
        decode_header(proof)?;
        let claims: OwnAccess = self.device.open(proof)?;
        let expires_at = not_past(from_numeric_date(claims.exp), now)?;
        Ok(DeviceProof { user_id: claims.sub, device_id: claims.dev, expires_at })
    }
}

/// The claims of access tokens and device proofs.
#[derive(Serialize, Deserialize)]
struct OwnAccess {
    iss: String,
    sub: UserId,
    dev: DeviceId,
    exp: f64,
}

#[derive(Serialize, Deserialize)]
struct OwnRefresh {
    iss: String,
    dev: DeviceId,
    #[serde(rename = "gen")]
    generation: u32,
    exp: f64,
}

#[derive(Debug)]
struct Signer {
    header: Header,
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
}

impl Signer {
    fn new(token_type: &str, key: [u8; 32]) -> Self {
        let header = Header { typ: Some(token_type.into()), ..Header::new(Algorithm::HS256) };
        let mut validation = signature_only(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["iss"]);
        Self {
            header,
            encoding: EncodingKey::from_secret(&key),
            decoding: DecodingKey::from_secret(&key),
            validation,
        }
    }

    fn sign(&self, claims: &impl Serialize) -> String {
        jsonwebtoken::encode(&self.header, claims, &self.encoding)
            .expect("plain claims can be written as JSON, and HS256 takes any key")
    }

    fn open<T: DeserializeOwned>(&self, token: &str) -> Result<T, TokenError> {
        let opened = jsonwebtoken::decode(token, &self.decoding, &self.validation);
        let opened = opened.map_err(|_| TokenError::Invalid)?;
        if opened.header.typ == self.header.typ { Ok(opened.claims) } else { Err(TokenError::Invalid) }
    }
}

/// Validates only the signature, with one algorithm, whatever the header says. The caller compares times with the clock that
/// is passed in.
pub(super) fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}

/// The header, before anything is verified.
fn decode_header(token: &str) -> Result<Header, TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::Invalid);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Invalid)?;
    // The server supports no critical extensions, and must refuse unknown ones.
    if header.crit.is_some() { Err(TokenError::Invalid) } else { Ok(header) }
}

fn not_past(expires_at: Timestamp, now: Timestamp) -> Result<Timestamp, TokenError> {
    if expires_at > now { Ok(expires_at) } else { Err(TokenError::Expired) }
}

/// Seconds with a fraction, which RFC 7519 allows, so that the time is exact.
fn to_numeric_date(time: Timestamp) -> f64 {
    time.as_millis() as f64 / 1_000.0
}

pub(super) fn from_numeric_date(seconds: f64) -> Timestamp {
    Timestamp::from_millis((seconds * 1_000.0).round() as i64)
}
