//! Valid and invalid tokens.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use godwit_domain::ports::{
    AccessClaims, ApplicationClaims, RefreshClaims, TokenCodec, TokenError, VerifiedToken,
};
use godwit_protocol::{DeviceId, Timestamp, UserId};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::jwks::JWKS_CHECK_EVERY_MS;
use super::*;

const NOW_MS: i64 = 1_800_000_000_123;
const NOW: Timestamp = Timestamp::from_millis(NOW_MS);
const NOW_S: i64 = NOW_MS / 1_000;
const SECRET: &str = "0123456789abcdef0123456789abcdef";

const ACCESS: AccessClaims = AccessClaims {
    user_id: UserId::new(1 << 60),
    device_id: DeviceId::new(1 << 61),
    expires_at: Timestamp::from_millis(NOW_MS + 900_001),
};
const REFRESH: RefreshClaims = RefreshClaims {
    device_id: DeviceId::new(1 << 61),
    generation: 7,
    expires_at: Timestamp::from_millis(NOW_MS + 1_000_000_001),
};

fn key_file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys")).join(name)
}

fn pem(name: &str) -> Vec<u8> {
    std::fs::read(key_file(name)).unwrap()
}

fn own() -> Codec {
    Codec::new(SigningKey::new([7; 32]), None)
}

fn with_application(config: &ApplicationConfig) -> Codec {
    Codec::new(SigningKey::new([7; 32]), ApplicationTokens::load(config).unwrap())
}

fn with_secret() -> ApplicationConfig {
    ApplicationConfig { secret: Some(Secret::new(SECRET)), ..ApplicationConfig::default() }
}

fn with_public_key(name: &str) -> ApplicationConfig {
    ApplicationConfig { public_key_file: Some(key_file(name)), ..ApplicationConfig::default() }
}

/// Valid for one minute, unless the claims set an expiry.
fn sign(algorithm: Algorithm, key: &EncodingKey, kid: Option<&str>, claims: &Value) -> String {
    let header = Header { kid: kid.map(Into::into), ..Header::new(algorithm) };
    let mut claims = claims.clone();
    if let Some(claims) = claims.as_object_mut() {
        claims.entry("exp").or_insert(json!(NOW_S + 60));
    }
    jsonwebtoken::encode(&header, &claims, key).unwrap()
}

fn hs256(claims: &Value) -> String {
    sign(Algorithm::HS256, &EncodingKey::from_secret(SECRET.as_bytes()), None, claims)
}

fn application(verified: Result<VerifiedToken, TokenError>) -> ApplicationClaims {
    match verified {
        Ok(VerifiedToken::Application(claims)) => claims,
        other => panic!("not a token of the application: {other:?}"),
    }
}

/// A token with the given header and claims and a missing or wrong signature.
fn unsigned(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

#[test]
fn own_tokens_survive_a_round_trip() {
    let codec = own();
    assert_eq!(codec.verify(&codec.sign_access(ACCESS), NOW), Ok(VerifiedToken::Own(ACCESS)));
    assert_eq!(codec.verify_refresh(&codec.sign_refresh(REFRESH), NOW), Ok(REFRESH));
}

#[test]
fn own_tokens_expire() {
    let codec = own();
    let (access, refresh) = (codec.sign_access(ACCESS), codec.sign_refresh(REFRESH));
    assert!(codec.verify(&access, ACCESS.expires_at.plus_millis(-1)).is_ok());
    assert_eq!(codec.verify(&access, ACCESS.expires_at), Err(TokenError::Expired));
    assert_eq!(codec.verify_refresh(&refresh, REFRESH.expires_at), Err(TokenError::Expired));
}

#[test]
fn one_kind_of_token_does_not_pass_for_the_other() {
    let codec = with_application(&with_secret());
    assert_eq!(codec.verify(&codec.sign_refresh(REFRESH), NOW), Err(TokenError::Invalid));
    assert_eq!(codec.verify_refresh(&codec.sign_access(ACCESS), NOW), Err(TokenError::Invalid));
    let of_application = hs256(&json!({ "sub": "ada", "iss": "godwit", "dev": "5", "gen": 1, "exp": 1e11 }));
    assert_eq!(codec.verify_refresh(&of_application, NOW), Err(TokenError::Invalid));
}

#[test]
fn tokens_of_another_installation_are_refused() {
    let other = Codec::new(SigningKey::new([8; 32]), None);
    assert_eq!(own().verify(&other.sign_access(ACCESS), NOW), Err(TokenError::Invalid));
    assert_eq!(own().verify_refresh(&other.sign_refresh(REFRESH), NOW), Err(TokenError::Invalid));
}

#[test]
fn no_character_of_a_token_can_be_changed() {
    let codec = own();
    let token = codec.sign_access(ACCESS);
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(codec.verify(&changed, NOW), Err(TokenError::Invalid), "at {at}");
    }
}

#[test]
fn a_token_does_not_choose_how_it_is_checked() {
    let claims = json!({ "iss": "godwit", "sub": "1152921504606846976", "dev": "5", "exp": 1e11 });
    for (codec, typ) in [(own(), "godwit-access+jwt"), (with_application(&with_secret()), "JWT")] {
        for alg in ["none", "None", "NONE", "", "HS512", "HS256"] {
            for signature in ["", "AAAA"] {
                let token = unsigned(&json!({ "typ": typ, "alg": alg }), &claims, signature);
                assert_eq!(codec.verify(&token, NOW), Err(TokenError::Invalid), "{alg} {signature:?}");
            }
        }
        for wrong in ["", ".", "..", "...", "a.b.c", "ü.ü.ü", &"a".repeat(tokens::TOKEN_BYTES_MAX + 1)] {
            assert_eq!(codec.verify(wrong, NOW), Err(TokenError::Invalid), "{wrong:.20}");
        }
    }
}

#[test]
fn a_public_key_is_never_taken_for_a_secret() {
    for name in ["ed.public.pem", "ec.public.pem", "rsa.public.pem"] {
        let codec = with_application(&with_public_key(name));
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let key = EncodingKey::from_secret(&pem(name));
            let forged = sign(algorithm, &key, None, &json!({ "sub": "ada" }));
            assert_eq!(codec.verify(&forged, NOW), Err(TokenError::Invalid), "{name} {algorithm:?}");
        }
    }
}

#[test]
fn every_kind_of_public_key_works_for_its_algorithm_only() {
    let keys = [
        ("ed.public.pem", Algorithm::EdDSA, EncodingKey::from_ed_pem(&pem("ed.private.pem")).unwrap()),
        ("ec.public.pem", Algorithm::ES256, EncodingKey::from_ec_pem(&pem("ec.private.pem")).unwrap()),
        ("rsa.public.pem", Algorithm::RS256, EncodingKey::from_rsa_pem(&pem("rsa.private.pem")).unwrap()),
    ];
    for (public, ..) in &keys {
        let codec = with_application(&with_public_key(public));
        for (own, algorithm, key) in &keys {
            let verified = codec.verify(&sign(*algorithm, key, None, &json!({ "sub": "ada" })), NOW);
            assert_eq!(verified.is_ok(), public == own, "{public} and {algorithm:?}");
        }
    }
    let codec = with_application(&with_public_key("rsa.public.pem"));
    let other_hash = sign(Algorithm::RS512, &keys[2].2, None, &json!({ "sub": "ada" }));
    assert_eq!(codec.verify(&other_hash, NOW), Err(TokenError::Invalid));
}

#[test]
fn claims_of_the_application_are_read_by_their_configured_names() {
    let names = ClaimNames { handle: "nick".into(), ..ClaimNames::default() };
    let codec = with_application(&ApplicationConfig { claims: names, ..with_secret() });
    let claims = application(codec.verify(
        &hs256(&json!({
            "sub": "ada", "nick": "countess", "handle": "ignored", "name": "Ada", "picture": null,
            "device": "phone", "iat": NOW_S - 5, "exp": NOW_S + 60,
        })),
        NOW,
    ));
    assert_eq!(
        claims,
        ApplicationClaims {
            subject: "ada".into(),
            handle: Some("countess".into()),
            display_name: Some("Ada".into()),
            avatar: None,
            device: Some("phone".into()),
            issued_at: Some(Timestamp::from_millis((NOW_S - 5) * 1_000)),
            // Includes the leeway of 30 seconds.
            expires_at: Timestamp::from_millis((NOW_S + 90) * 1_000),
        }
    );
}

#[test]
fn broken_claims_are_refused() {
    let codec = with_application(&with_secret());
    for claims in [
        json!({}),
        json!({ "sub": 5 }),
        json!({ "sub": "ada", "exp": "tomorrow" }),
        json!({ "sub": "ada", "name": ["Ada"] }),
        json!({ "sub": "ada", "nbf": NOW_S + 31 }),
        json!(["sub", "ada"]),
    ] {
        assert_eq!(codec.verify(&hs256(&claims), NOW), Err(TokenError::Invalid), "{claims}");
    }
    let header = Header { crit: Some(vec!["exp".into()]), ..Header::new(Algorithm::HS256) };
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let critical = jsonwebtoken::encode(&header, &json!({ "sub": "ada" }), &key).unwrap();
    assert_eq!(codec.verify(&critical, NOW), Err(TokenError::Invalid));
}

#[test]
fn clocks_may_differ_by_the_leeway() {
    let codec = with_application(&with_secret());
    let verify = |claims: Value| codec.verify(&hs256(&claims), NOW);
    assert!(verify(json!({ "sub": "ada", "exp": NOW_S - 29 })).is_ok());
    assert_eq!(verify(json!({ "sub": "ada", "exp": NOW_S - 30 })), Err(TokenError::Expired));
    assert!(verify(json!({ "sub": "ada", "nbf": NOW_S + 30, "exp": NOW_S + 60 })).is_ok());
}

#[test]
fn every_token_has_an_expiry_within_the_maximum() {
    let codec = with_application(&ApplicationConfig { lifetime_max_secs: 600, ..with_secret() });
    let verify = |claims: Value| codec.verify(&hs256(&claims), NOW);
    assert!(verify(json!({ "sub": "ada", "exp": NOW_S + 630 })).is_ok(), "with the leeway");
    assert_eq!(verify(json!({ "sub": "ada", "exp": NOW_S + 631 })), Err(TokenError::Invalid));
    assert_eq!(verify(json!({ "sub": "ada", "exp": 1e11 })), Err(TokenError::Invalid));
    assert_eq!(verify(json!({ "sub": "ada", "exp": null })), Err(TokenError::Invalid));
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let endless =
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &json!({ "sub": "ada" }), &key).unwrap();
    assert_eq!(codec.verify(&endless, NOW), Err(TokenError::Invalid));
}

#[test]
fn a_token_is_not_good_for_longer_than_allowed_and_is_not_from_the_future() {
    let codec = with_application(&ApplicationConfig { lifetime_max_secs: 600, ..with_secret() });
    let verify = |claims: Value| codec.verify(&hs256(&claims), NOW).map(|_| ());
    // It expires soon, but was issued for a whole day.
    let day_old = json!({ "sub": "ada", "iat": NOW_S + 60 - 24 * 60 * 60, "exp": NOW_S + 60 });
    assert_eq!(verify(day_old), Err(TokenError::Invalid));
    assert_eq!(verify(json!({ "sub": "ada", "iat": NOW_S - 300, "exp": NOW_S + 300 })), Ok(()));
    assert_eq!(
        verify(json!({ "sub": "ada", "iat": NOW_S - 300, "exp": NOW_S + 301 })),
        Err(TokenError::Invalid)
    );
    assert_eq!(
        verify(json!({ "sub": "ada", "iat": NOW_S + 30, "exp": NOW_S + 60 })),
        Ok(()),
        "with the leeway"
    );
    assert_eq!(
        verify(json!({ "sub": "ada", "iat": NOW_S + 31, "exp": NOW_S + 60 })),
        Err(TokenError::Invalid)
    );
    for iat in [-1e300, 1e300] {
        assert_eq!(verify(json!({ "sub": "ada", "iat": iat, "exp": NOW_S + 60 })), Err(TokenError::Invalid));
    }
}

#[test]
fn issuer_and_audience_are_checked_where_they_are_configured() {
    let claims = json!({ "sub": "ada", "iss": "shop", "aud": ["chat", "mail"] });
    let verify = |issuer: Option<&str>, audience: Option<&str>, claims: &Value| {
        let config = ApplicationConfig {
            issuer: issuer.map(Into::into),
            audience: audience.map(Into::into),
            ..with_secret()
        };
        with_application(&config).verify(&hs256(claims), NOW).is_ok()
    };
    assert!(verify(None, None, &claims));
    assert!(verify(Some("shop"), Some("chat"), &claims));
    assert!(!verify(Some("other"), None, &claims));
    assert!(!verify(Some("shop"), None, &json!({ "sub": "ada", "iss": ["shop", "other"] })));
    assert!(!verify(None, Some("other"), &claims));
    assert!(!verify(Some("shop"), None, &json!({ "sub": "ada" })));
    assert!(!verify(None, Some("chat"), &json!({ "sub": "ada" })));
    assert!(verify(None, Some("chat"), &json!({ "sub": "ada", "aud": "chat" })));
    for wrong in [json!("chatter"), json!([["chat"]]), json!([]), json!({ "chat": true }), json!(null)] {
        assert!(!verify(None, Some("chat"), &json!({ "sub": "ada", "aud": wrong })), "{wrong}");
    }
}

#[test]
fn keys_that_cannot_work_are_refused_at_the_start() {
    let load = |config: ApplicationConfig| ApplicationTokens::load(&config).map(|loaded| loaded.is_some());
    assert!(!load(ApplicationConfig::default()).unwrap());
    let weak = ApplicationConfig { secret: Some(Secret::new("short")), ..ApplicationConfig::default() };
    assert!(matches!(load(weak), Err(KeyError::WeakSecret { bytes: 5 })));
    let both = ApplicationConfig { public_key_file: Some(key_file("ed.public.pem")), ..with_secret() };
    assert!(matches!(load(both), Err(KeyError::Several)));
    assert!(matches!(load(with_public_key("missing.pem")), Err(KeyError::Unreadable { .. })));
    for unusable in ["README.md", "ed.private.pem", "ec384.public.pem"] {
        let error = load(with_public_key(unusable)).unwrap_err();
        assert!(matches!(error, KeyError::NotAPublicKey { .. }), "{unusable}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn keys_of_a_jwk_set_can_be_rotated_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let (old, new) = (
        EncodingKey::from_ec_pem(&pem("ec.private.pem")).unwrap(),
        EncodingKey::from_ed_pem(&pem("ed.private.pem")).unwrap(),
    );
    let jwk = |key: &EncodingKey, algorithm: Algorithm, kid: &str| {
        let mut jwk = Jwk::from_encoding_key(key, algorithm).unwrap();
        jwk.common.key_id = Some(kid.into());
        json!(jwk)
    };
    let write = |keys: Value| std::fs::write(&path, json!({ "keys": keys }).to_string()).unwrap();
    let (of_old, of_new) = (jwk(&old, Algorithm::ES256, "old"), jwk(&new, Algorithm::EdDSA, "new"));
    write(json!([of_old]));
    let config = ApplicationConfig { jwks_file: Some(path.clone()), ..ApplicationConfig::default() };
    let codec = with_application(&config);
    let by_old = sign(Algorithm::ES256, &old, Some("old"), &json!({ "sub": "ada" }));
    let by_new = sign(Algorithm::EdDSA, &new, Some("new"), &json!({ "sub": "ada" }));
    let at = |checks: i64| NOW.plus_millis(checks * JWKS_CHECK_EVERY_MS);
    assert!(codec.verify(&by_old, at(0)).is_ok());
    assert!(codec.verify(&by_new, at(0)).is_err());

    write(json!([of_old, of_new]));
    assert!(codec.verify(&by_new, at(0)).is_err(), "the file was looked at too early");
    assert!(codec.verify(&by_new, at(1)).is_ok() && codec.verify(&by_old, at(1)).is_ok());

    write(json!([of_new]));
    assert!(codec.verify(&by_old, at(2)).is_err());

    std::fs::write(&path, "half a fi").unwrap();
    assert!(codec.verify(&by_new, at(3)).is_ok(), "the keys from before must stay");
}

#[test]
fn a_jwk_set_may_hold_keys_for_other_purposes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let key = EncodingKey::from_ec_pem(&pem("ec.private.pem")).unwrap();
    let mut jwk = json!(Jwk::from_encoding_key(&key, Algorithm::ES256).unwrap());
    let config = ApplicationConfig { jwks_file: Some(path.clone()), ..ApplicationConfig::default() };
    let load = |keys: Value| {
        std::fs::write(&path, json!({ "keys": keys }).to_string()).unwrap();
        ApplicationTokens::load(&config)
    };
    let weak = json!({ "kty": "oct", "k": "c2hvcnQ" });
    let unknown = json!({ "kty": "XYZ", "kid": "5" });
    assert!(load(json!([weak, unknown, jwk])).is_ok());
    assert!(matches!(load(json!([weak, unknown])), Err(KeyError::NoUsableKey { .. })));
    jwk["use"] = json!("enc");
    assert!(matches!(load(json!([jwk])), Err(KeyError::NoUsableKey { .. })));
    jwk["use"] = json!("sig");
    jwk["alg"] = json!("HS256");
    assert!(
        matches!(load(json!([jwk])), Err(KeyError::NoUsableKey { .. })),
        "the algorithm is not that of the key"
    );
}
