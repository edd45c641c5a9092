use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use godwit_client::protocol::{ErrorCode, UserId};
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::keys::{
    Claims, HMAC_CONFIG, SECRET, STRICT_HMAC_CONFIG, hs256, now, pairs, pem, public_key_config, sign,
};
use crate::people::{Person, unique};
use crate::process::{ServerProcess, run};
use crate::raw_http::RawHttp;
use crate::raw_socket::RawSocket;
use crate::unlimited::unlimited_with;

/// HTTP, the handshake and the sign-in command refuse the token, and it has created no user.
async fn assert_refused(server: &ServerProcess, token: &str, code: ErrorCode, why: &str) {
    let raw = RawHttp::new(&server.url());
    raw.ask("GET", "/v1/me").token(token).because(why).refused(401, code).await;
    let handshake = RawSocket::try_connect(server.address(), Some(token)).await;
    assert!(handshake.is_err_and(|head| head.starts_with("HTTP/1.1 401 ")), "{why}");
    let mut socket = RawSocket::open(server.address(), None).await;
    let reply = socket.call("sign_in", json!({ "access_token": token })).await;
    assert_eq!(reply["error"]["code"], json!(code), "{why}: {reply}");
    let refresh = raw.ask("POST", "/v1/sessions/refresh").json(&json!({ "refresh_token": token }));
    refresh.because(why).refused(401, ErrorCode::Unauthenticated).await;
}

/// This token is valid and creates its user now, so no earlier token has.
async fn assert_is_first(server: &ServerProcess, good: &str) {
    let before = Person::stranger(&server.url()).await.id;
    let raw = RawHttp::new(&server.url());
    let me: UserId =
        serde_json::from_value(raw.ask("GET", "/v1/me").token(good).send().await.ok()["id"].take()).unwrap();
    assert!(me > before, "{me} was made before {before}");
}

fn unsigned(header: &Value, claims: &Value, signature: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", part(header), part(claims))
}

#[tokio::test]
async fn the_header_of_a_token_does_not_choose_the_algorithm() {
    for (pair, algorithm, key) in pairs() {
        let server = unlimited_with(&public_key_config(pair)).await;
        let ada = unique("ada");
        let public = EncodingKey::from_secret(&pem(&format!("{pair}.public.pem")));
        for hmac in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            let forged = sign(hmac, &public, None, &Claims::of(&ada));
            assert_refused(&server, &forged, ErrorCode::Unauthenticated, &format!("{pair} as {hmac:?}"))
                .await;
        }
        for (other, algorithm, key) in pairs().iter().filter(|(other, ..)| *other != pair) {
            let foreign = sign(*algorithm, key, None, &Claims::of(&ada));
            assert_refused(&server, &foreign, ErrorCode::Unauthenticated, &format!("{other} for {pair}"))
                .await;
        }
        let claims = json!({ "sub": ada, "exp": now() + 60 });
        for alg in ["none", "None", "NONE", "nOnE", "", "HS256", "RS256"] {
            for signature in ["", "AAAA"] {
                let token = unsigned(&json!({ "alg": alg, "typ": "JWT" }), &claims, signature);
                assert_refused(&server, &token, ErrorCode::Unauthenticated, alg).await;
            }
        }
        let good = sign(algorithm, &key, None, &Claims::of(&ada));
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let truncated = format!("{signed}.{}", &signature[..signature.len() - 4]);
        assert_refused(&server, &truncated, ErrorCode::Unauthenticated, "a shorter signature").await;
        assert_is_first(&server, &good).await;
    }
}

#[tokio::test]
async fn expired_tokens_and_wrong_issuers_or_audiences_are_refused() {
    let server = unlimited_with(STRICT_HMAC_CONFIG).await;
    let good = Claims::of(&unique("ada")).with("iss", "shop").with("aud", "chat");
    let invalid = [
        ("no issuer", good.clone().without("iss")),
        ("another issuer", good.clone().with("iss", "Shop")),
        ("two issuers", good.clone().with("iss", json!(["shop", "other"]))),
        ("no audience", good.clone().without("aud")),
        ("another audience", good.clone().with("aud", "mail")),
        ("other audiences", good.clone().with("aud", json!(["mail", "news"]))),
        ("not yet", good.clone().with("nbf", now() + 3_600)),
        ("no subject", good.clone().without("sub")),
        ("an empty subject", good.clone().with("sub", "")),
        ("a number for a subject", good.clone().with("sub", 7)),
        ("a long subject", good.clone().with("sub", "x".repeat(256))),
        ("a handle that is none", good.clone().with("handle", "not a handle")),
        ("a name with a line break", good.clone().with("name", "Ada\nLovelace")),
        ("a picture that is a script", good.clone().with("picture", "javascript:alert(1)")),
        ("no end", good.clone().without("exp")),
        ("an end that is null", good.clone().with("exp", json!(null))),
        ("an end in a hundred years", good.clone().expires_in(100 * 365 * 86_400)),
        ("an end after more than a day", good.clone().expires_in(86_400 + 3_600)),
        ("an end that is no time", good.clone().with("exp", "tomorrow")),
        ("a device with a line break", good.clone().with("device", "a\nb")),
    ];
    for (why, claims) in invalid {
        assert_refused(&server, &hs256(&claims), ErrorCode::Unauthenticated, why).await;
    }
    for (why, claims) in
        [("expired", good.clone().expires_in(-1)), ("expired long ago", good.clone().with("exp", -5))]
    {
        assert_refused(&server, &hs256(&claims), ErrorCode::TokenExpired, why).await;
    }
    let other_key = EncodingKey::from_secret(SECRET.to_uppercase().as_bytes());
    let forged = sign(Algorithm::HS256, &other_key, None, &good);
    assert_refused(&server, &forged, ErrorCode::Unauthenticated, "another secret").await;
    let other_hash = sign(Algorithm::HS512, &EncodingKey::from_secret(SECRET.as_bytes()), None, &good);
    assert_refused(&server, &other_hash, ErrorCode::Unauthenticated, "another hash").await;
    assert_is_first(&server, &hs256(&good)).await;

    let raw = RawHttp::new(&server.url());
    for audience in [json!("chat"), json!(["mail", "chat"])] {
        raw.ask("GET", "/v1/me").token(&hs256(&good.clone().with("aud", audience))).send().await.ok();
    }
}

/// The server refuses to start before the operator has decided which tokens are accepted.
#[tokio::test]
async fn a_server_does_not_start_without_a_key_for_application_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let secret = format!("auth.application.secret={SECRET}");
    for command in ["config check", "serve"] {
        let args: Vec<&str> = command.split(' ').chain(["--set", &secret]).collect();
        let output = run(&data, &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{command}");
        for setting in ["issuer", "accept_any_issuer", "audience", "accept_any_audience"] {
            assert!(said.contains(&format!("auth.application.{setting}")), "{command}: {said}");
        }
    }
    let decided = [
        "--set",
        &secret,
        "--set",
        "auth.application.issuer=shop",
        "--set",
        "auth.application.accept_any_audience=true",
    ];
    let args: Vec<&str> = ["config", "check"].into_iter().chain(decided).collect();
    assert!(run(&data, &args).status.success());
}

/// The application signs for its own users. It cannot sign for users with a password on this server.
#[tokio::test]
async fn application_keys_cannot_sign_tokens_of_the_server() {
    let server = unlimited_with(HMAC_CONFIG).await;
    let ada = Person::register(&server.url(), "ada").await;
    let device = ada.http.devices().await.unwrap().devices[0].id;
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    for typ in ["godwit-access+jwt", "godwit-refresh+jwt"] {
        let header =
            jsonwebtoken::Header { typ: Some(typ.into()), ..jsonwebtoken::Header::new(Algorithm::HS256) };
        let claims = json!({ "iss": "godwit", "sub": ada.id, "dev": device, "gen": 1, "exp": now() + 60 });
        let token = jsonwebtoken::encode(&header, &claims, &key).unwrap();
        let raw = RawHttp::new(&server.url());
        let answer = raw.ask("GET", "/v1/me").token(&token).send().await;
        // As an application token, it may be valid for a user of the application, but never for Ada.
        assert!(answer.status == 401 || answer.ok()["id"] != json!(ada.id), "{typ}");
        let refresh = raw.ask("POST", "/v1/sessions/refresh").json(&json!({ "refresh_token": token }));
        refresh.refused(401, ErrorCode::Unauthenticated).await;
    }
    let as_subject = hs256(&Claims::of(&ada.id.to_string()).with("handle", ada.handle.as_str()));
    let raw = RawHttp::new(&server.url());
    let me = raw.ask("GET", "/v1/me").token(&as_subject).send().await.ok();
    assert_ne!(me["id"], json!(ada.id));
}
