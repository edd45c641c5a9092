use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use godwit_client::protocol::ErrorCode;
use reqwest::header::HeaderValue;

use super::stage::{Stage, tokens};
use crate::raw_socket::RawSocket;

/// Operations without a token. A new one must be intended, and be added here.
const OPEN: &[&str] = &["alive", "ready", "refresh_session", "register", "sign_in"];

/// Invalid `Authorization` headers.
async fn bad_headers(stage: &Stage) -> Vec<(&'static str, HeaderValue)> {
    let good = stage.ada.http.access_token().unwrap();
    let (head, rest) = good.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    let unsigned = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"godwit-access+jwt"}"#);
    let refresh = tokens(&stage.ada.http).refresh_token;
    let (revoked, left) = stage.ada.sign_in("revoked").await;
    let left_token = left.access_token().unwrap();
    stage.ada.http.revoke_device(revoked).await.unwrap();
    let own = format!("Bearer {good}");
    let text = [
        ("empty", String::new()),
        ("no scheme", good.clone()),
        ("a scheme alone", "Bearer".to_owned()),
        ("no token", "Bearer ".to_owned()),
        ("another scheme", format!("Basic {good}")),
        ("two tokens", format!("{own} {good}")),
        ("garbage", "Bearer garbage".to_owned()),
        ("three bits of garbage", "Bearer a.b.c".to_owned()),
        ("a very long token", format!("{own}{}", "A".repeat(10_000))),
        ("a changed payload", format!("Bearer {head}.{}.{signature}", changed(payload))),
        ("a changed signature", format!("Bearer {head}.{payload}.{}", changed(signature))),
        ("no signature", format!("Bearer {head}.{payload}.")),
        ("no algorithm", format!("Bearer {unsigned}.{payload}.")),
        ("no algorithm, and a signature", format!("Bearer {unsigned}.{payload}.{signature}")),
        (
            "the signature of another token",
            format!("Bearer {head}.{payload}.{}", left_token.rsplit('.').next().unwrap()),
        ),
        ("a refresh token", format!("Bearer {refresh}")),
        ("the token of a revoked device", format!("Bearer {left_token}")),
    ];
    let mut headers: Vec<_> =
        text.into_iter().map(|(what, value)| (what, HeaderValue::from_str(&value).unwrap())).collect();
    headers.push(("not text", HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap()));
    headers
}

fn changed(part: &str) -> String {
    let mut bytes = part.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn every_operation_refuses_every_invalid_token() {
    let stage = Stage::start().await;
    let headers = bad_headers(&stage).await;
    let before = stage.everything().await;
    let operations = stage.operations().await;
    let mut open: Vec<&str> = operations.iter().filter(|o| o.is_open).map(|o| o.id.as_str()).collect();
    open.sort_unstable();
    assert_eq!(open, OPEN);
    for operation in operations.iter().filter(|operation| !operation.is_open) {
        let ask = || stage.raw.ask(&operation.method, &operation.path);
        ask().because("no header").refused(401, ErrorCode::Unauthenticated).await;
        for (what, header) in &headers {
            let ask = ask().header_value("authorization", header.clone()).because(what);
            ask.refused(401, ErrorCode::Unauthenticated).await;
        }
        let own = stage.ada.http.access_token().unwrap();
        ask().token(&own).token(&own).because("two headers").refused(401, ErrorCode::Unauthenticated).await;
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn the_handshake_refuses_every_invalid_token() {
    let stage = Stage::start().await;
    for (what, header) in bad_headers(&stage).await {
        let ask = stage.raw.ask("GET", "/v1/ws").header_value("authorization", header).because(what);
        let upgrade = ask
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        upgrade.refused(401, ErrorCode::Unauthenticated).await;
    }
    let token = stage.ada.http.access_token().unwrap();
    RawSocket::open(stage.server.address(), Some(&token)).await;
}
