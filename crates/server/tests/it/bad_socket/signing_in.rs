use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::socket::CloseCode;
use serde_json::json;

use super::assert_error;
use crate::application_tokens::keys::{Claims, HMAC_CONFIG, hs256};
use crate::people::{Person, unique};
use crate::raw_http::RawHttp;
use crate::raw_socket::{Ended, RawSocket};
use crate::unlimited::{unlimited, unlimited_with};

#[tokio::test]
async fn a_bad_token_is_refused_and_another_try_allowed() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let tokens = ada.http.tokens().unwrap();
    let mut socket = RawSocket::open(server.address(), None).await;
    let (revoked, left) = ada.sign_in("revoked").await;
    ada.http.revoke_device(revoked).await.unwrap();
    let left = left.access_token().unwrap();
    for token in ["", "garbage", "a.b.c", &format!("{}x", tokens.access_token), &tokens.refresh_token, &left]
    {
        let reply = socket.call("sign_in", json!({ "access_token": token })).await;
        assert_error(&reply, reply["id"].as_u64(), ErrorCode::Unauthenticated);
    }
    let reply = socket.call("sign_in", json!({ "access_token": tokens.access_token })).await;
    assert_eq!(reply["ok"]["user_id"], json!(ada.id));
}

#[tokio::test]
async fn attempts_with_bad_tokens_are_limited() {
    let server = unlimited().await;
    let mut socket = RawSocket::open(server.address(), None).await;
    for _ in 0..150 {
        socket.post("sign_in", json!({ "access_token": "a guess" })).await;
        socket.post("ping", json!({})).await;
    }
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::Flood));
}

#[tokio::test]
async fn before_the_sign_in_frames_are_small() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let large = " ".repeat(12 * 1024);
    let mut stranger = RawSocket::open(server.address(), None).await;
    stranger.text(&large).await;
    assert_eq!(stranger.end().await, Ended::Closed(CloseCode::TooLarge));
    // After the sign-in, by header or by a preceding command, frames may be larger.
    let token = ada.http.access_token().unwrap();
    let mut by_header = RawSocket::open(server.address(), Some(&token)).await;
    let mut by_command = RawSocket::open(server.address(), None).await;
    by_command.post("sign_in", json!({ "access_token": token })).await;
    for socket in [&mut by_header, &mut by_command] {
        let padded = format!("{large}{}", json!({ "id": 77, "ping": {} }));
        socket.text(padded).await;
        assert_eq!(socket.reply(77).await["ok"], json!({}));
    }
}

#[tokio::test]
async fn a_socket_does_not_change_hands() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let (_, phone) = ada.sign_in("phone").await;
    for other in [bob.http.access_token(), phone.access_token()] {
        let reply = socket.call("sign_in", json!({ "access_token": other })).await;
        assert_error(&reply, reply["id"].as_u64(), ErrorCode::AlreadySignedIn);
    }
    // The socket still belongs to Ada.
    let send = json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": "hi" });
    assert_eq!(socket.call("send", send).await["ok"]["sender_id"], json!(ada.id));
    // The session of the other device does not affect it.
    phone.sign_out().await.unwrap();
    socket.assert_alive().await;
    ada.http.sign_out().await.unwrap();
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::SignedOut));
}

#[tokio::test]
async fn a_socket_without_a_sign_in_is_closed_in_time() {
    let server = unlimited_with("[socket]\nsign_in_within_ms = 500\n").await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut socket = RawSocket::connect(server.address(), None).await;
    let mut busy = RawSocket::open(server.address(), None).await;
    let mut signed_in = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let hello = socket.event("hello").await;
    assert_eq!(hello["sign_in_within_ms"], 500);
    busy.assert_alive().await;
    assert_eq!(socket.end().await, Ended::Closed(CloseCode::SignInTimeout));
    assert_eq!(busy.end().await, Ended::Closed(CloseCode::SignInTimeout));
    signed_in.assert_alive().await;
}

/// Tokens of this server last at least a minute; those of an application last as long as they say.
#[tokio::test]
async fn a_socket_closes_when_its_token_expires_unless_renewed() {
    let server = unlimited_with(HMAC_CONFIG).await;
    let ada = unique("ada");
    let lasting = |seconds: i64| hs256(&Claims::of(&ada).expires_in(seconds));
    let mut left_alone = RawSocket::open(server.address(), Some(&lasting(3))).await;
    let mut extended = RawSocket::open(server.address(), Some(&lasting(3))).await;
    let reply = extended.call("sign_in", json!({ "access_token": lasting(3_600) })).await;
    assert!(reply["ok"]["expires_at"].is_string(), "{reply}");
    let reply = extended.call("sign_in", json!({ "access_token": lasting(-1) })).await;
    assert_error(&reply, reply["id"].as_u64(), ErrorCode::TokenExpired);
    assert_eq!(left_alone.end().await, Ended::Closed(CloseCode::TokenExpired));
    extended.assert_alive().await;
}

/// The first frame is the hello, however many events there are.
#[tokio::test]
async fn hello_is_the_first_frame_even_under_traffic() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let traffic = tokio::spawn(async move {
        loop {
            bob.http.send_message(direct, Draft::text("hello")).await.unwrap();
        }
    });
    for _ in 0..200 {
        RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    }
    assert!(!traffic.is_finished());
    traffic.abort();
    RawHttp::new(&server.url()).assert_healthy().await;
}
