//! Signs as the application does, with the test keys in `tests/keys`.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// For tests only.
pub(crate) const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// A server that accepts tokens signed with [`SECRET`], without leeway.
pub(crate) const HMAC_CONFIG: &str = "[auth.application]\naccept_any_issuer = true\naccept_any_audience = true\n\
     secret = \"0123456789abcdef0123456789abcdef\"\nleeway_seconds = 0\n";
/// The same for tokens of one issuer and one audience.
pub(crate) const STRICT_HMAC_CONFIG: &str = "[auth.application]\nissuer = \"shop\"\naudience = \"chat\"\n\
    secret = \"0123456789abcdef0123456789abcdef\"\nleeway_seconds = 0\n";
/// The settings that accept any issuer and audience.
pub(crate) const FROM_ANYBODY: &str =
    "[auth.application]\naccept_any_issuer = true\naccept_any_audience = true\n";

/// The claims of a token.
#[derive(Clone)]
pub(crate) struct Claims(Value);

impl Claims {
    /// Valid for one hour.
    pub(crate) fn of(subject: &str) -> Self {
        Self(json!({ "sub": subject, "iat": now() })).expires_in(3_600)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0[name] = value.into();
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.as_object_mut().unwrap().remove(name);
        self
    }

    pub(crate) fn expires_in(self, seconds: i64) -> Self {
        self.with("exp", now() + seconds)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the application has a clock of its own")]
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since_epoch.as_secs().try_into().unwrap()
}

pub(crate) fn hs256(claims: &Claims) -> String {
    sign(Algorithm::HS256, &EncodingKey::from_secret(SECRET.as_bytes()), None, claims)
}

pub(crate) fn sign(algorithm: Algorithm, key: &EncodingKey, kid: Option<&str>, claims: &Claims) -> String {
    let header = Header { kid: kid.map(Into::into), ..Header::new(algorithm) };
    jsonwebtoken::encode(&header, &claims.0, key).unwrap()
}

/// A key pair of each kind: its name, its algorithm, and the private half.
pub(crate) fn pairs() -> [(&'static str, Algorithm, EncodingKey); 3] {
    [
        ("ed", Algorithm::EdDSA, EncodingKey::from_ed_pem(&pem("ed.private.pem")).unwrap()),
        ("ec", Algorithm::ES256, EncodingKey::from_ec_pem(&pem("ec.private.pem")).unwrap()),
        ("rsa", Algorithm::RS256, EncodingKey::from_rsa_pem(&pem("rsa.private.pem")).unwrap()),
    ]
}

/// The settings for the public half of a pair.
pub(crate) fn public_key_config(pair: &str) -> String {
    let file = key_file(&format!("{pair}.public.pem"));
    format!("{FROM_ANYBODY}public_key_file = {:?}\nleeway_seconds = 0\n", file.to_str().unwrap())
}

/// The public half as a JWK.
pub(crate) fn jwk(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Value {
    let mut jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
    jwk.common.key_id = Some(kid.into());
    json!(jwk)
}

pub(crate) fn pem(name: &str) -> Vec<u8> {
    std::fs::read(key_file(name)).unwrap()
}

fn key_file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys")).join(name)
}
