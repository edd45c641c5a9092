use std::time::{Duration, Instant};

use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::socket::CloseCode;
use serde_json::{Value, json};

use crate::application_tokens::keys::{Claims, HMAC_CONFIG, hs256};
use crate::people::{Person, unique};
use crate::raw_http::RawHttp;
use crate::raw_socket::{Ended, Frame, PING, PONG, RawSocket};
use crate::unlimited::{limited_with, unlimited_with};

const BURST: usize = 3;

fn assert_reply_limited(reply: &Value) {
    assert_eq!(reply["error"]["code"], "rate_limited", "{reply}");
    assert!(reply["error"]["retry_after"].as_u64().unwrap() >= 1);
}

#[tokio::test]
async fn a_socket_beyond_the_limit_replaces_the_oldest_of_its_device_or_user() {
    let server = unlimited_with("[socket]\nper_device_max = 3\nper_user_max = 4\n").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let (_, phone) = ada.sign_in("phone").await;
    let open = async |token: Option<String>| RawSocket::open(server.address(), token.as_deref()).await;
    let mut others = open(bob.http.access_token()).await;
    let mut on_phone = open(phone.access_token()).await;
    let mut tabs = Vec::new();
    for _ in 0..4 {
        tabs.push(open(ada.http.access_token()).await);
    }
    assert_eq!(tabs[0].end().await, Ended::Closed(CloseCode::Replaced));
    on_phone.assert_alive().await;
    // The user has four sockets: the next one, on a third device, replaces the oldest.
    let (_, tablet) = ada.sign_in("tablet").await;
    let mut on_tablet = RawSocket::open(server.address(), None).await;
    let signed_in = on_tablet.call("sign_in", json!({ "access_token": tablet.access_token() })).await;
    assert!(signed_in.get("ok").is_some(), "{signed_in}");
    assert_eq!(on_phone.end().await, Ended::Closed(CloseCode::Replaced));
    for socket in tabs[1..].iter_mut().chain([&mut on_tablet, &mut others]) {
        socket.assert_alive().await;
    }
}

#[tokio::test]
async fn refreshing_is_limited_for_each_device_and_with_bad_tokens_for_each_address() {
    let server = limited_with("refresh_per_device", BURST, "").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    for _ in 0..BURST {
        ada.http.refresh().await.unwrap();
    }
    let raw = RawHttp::new(&server.url());
    let refresh = json!({ "refresh_token": ada.http.tokens().unwrap().refresh_token });
    raw.ask("POST", "/v1/sessions/refresh").json(&refresh).refused(429, ErrorCode::RateLimited).await;
    ada.http.me().await.unwrap();
    bob.http.refresh().await.unwrap();

    let server = limited_with("refresh_per_address", BURST, "").await;
    let ada = Person::register(&server.url(), "ada").await;
    let raw = RawHttp::new(&server.url());
    let bad = json!({ "refresh_token": "not one" });
    for _ in 0..BURST {
        raw.ask("POST", "/v1/sessions/refresh").json(&bad).refused(401, ErrorCode::Unauthenticated).await;
    }
    raw.ask("POST", "/v1/sessions/refresh").json(&bad).refused(429, ErrorCode::RateLimited).await;
    // Only invalid tokens count towards the address.
    for _ in 0..2 * BURST {
        ada.http.refresh().await.unwrap();
    }
    let elsewhere = RawHttp::new_from([127, 0, 6, 1], &server.url());
    elsewhere.ask("POST", "/v1/sessions/refresh").json(&bad).refused(401, ErrorCode::Unauthenticated).await;
}

#[tokio::test]
async fn sockets_that_sign_in_are_limited_for_each_user_and_with_bad_tokens_for_each_address() {
    let server = limited_with("socket_sign_in_per_user", BURST, "").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let token = ada.http.access_token().unwrap();
    let sign_in = json!({ "access_token": token });
    let mut socket = RawSocket::open(server.address(), Some(&token)).await;
    for _ in 1..BURST {
        let reply = socket.call("sign_in", sign_in.clone()).await;
        assert!(reply.get("ok").is_some(), "{reply}");
    }
    assert_reply_limited(&socket.call("sign_in", sign_in.clone()).await);
    let refused = RawSocket::try_connect(server.address(), Some(&token)).await.err().unwrap();
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    socket.assert_alive().await;
    RawSocket::open(server.address(), bob.http.access_token().as_deref()).await.assert_alive().await;

    let server = limited_with("socket_sign_in_per_address", BURST, HMAC_CONFIG).await;
    let ada = Person::register(&server.url(), "ada").await;
    let token = ada.http.access_token().unwrap();
    let mut socket = RawSocket::open(server.address(), None).await;
    for _ in 0..BURST {
        let reply = socket.call("sign_in", json!({ "access_token": "not one" })).await;
        assert_eq!(reply["error"]["code"], "unauthenticated", "{reply}");
    }
    assert_reply_limited(&socket.call("sign_in", json!({ "access_token": "not one" })).await);
    let refused = RawSocket::try_connect(server.address(), Some("not-one")).await.err().unwrap();
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    // Only invalid tokens count towards the address, and not expired ones.
    for _ in 0..2 * BURST {
        RawSocket::open(server.address(), Some(&token)).await;
    }
    let expired = hs256(&Claims::of(&unique("ada")).expires_in(-1));
    let reply = socket.call("sign_in", json!({ "access_token": expired })).await;
    assert_eq!(reply["error"]["code"], "token_expired", "{reply}");
    let reply = socket.call("sign_in", json!({ "access_token": token })).await;
    assert!(reply.get("ok").is_some(), "{reply}");
}

#[tokio::test]
async fn excess_ping_commands_are_refused_and_excess_ping_frames_ignored() {
    let server = limited_with("pings_per_user", BURST, "").await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    for _ in 1..BURST {
        socket.assert_alive().await;
    }
    socket.frame(PING, b"one").await;
    assert_eq!(socket.next().await.unwrap(), Frame { opcode: PONG, payload: b"one".to_vec() });
    socket.frame(PING, b"two").await;
    socket.frame(PONG, b"").await;
    assert_reply_limited(&socket.call("ping", json!({})).await);
    let log = socket.call("sync", json!({})).await;
    assert!(log.get("ok").is_some(), "the socket is kept: {log}");
}

#[tokio::test]
async fn a_client_that_ignores_rate_limits_is_throttled_but_gets_events() {
    const TOO_MANY: usize = 50;
    let server = limited_with("pings_per_user", 1, "").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    socket.assert_alive().await;
    for _ in 0..TOO_MANY {
        socket.frame(PING, b"unanswered").await;
        socket.post("ping", json!({})).await;
    }
    let began = Instant::now();
    bob.http.send_message(direct, Draft::text("hello")).await.unwrap();
    socket.event("entry").await;
    let heard_after = began.elapsed();
    let log = socket.call("sync", json!({})).await;
    assert!(log.get("ok").is_some(), "the socket is kept: {log}");
    let read_after = began.elapsed();
    assert!(read_after > Duration::from_secs(1), "all was read within {read_after:?}");
    assert!(heard_after < read_after, "{heard_after:?}");
}

#[tokio::test]
async fn long_content_has_a_limit_of_its_own_whatever_it_is_for() {
    const KIB: usize = 15;
    let server = limited_with("written_kib_per_user", KIB, "").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let raw = RawHttp::new(&server.url());
    let text = |client_id: &str, text: &str| json!({ "conversation_id": direct, "client_id": client_id, "kind": "text", "text": text });
    // Short messages do not count, however many there are.
    for number in 0..2 * KIB {
        let sent = socket.call("send", text(&format!("short-{number}"), "hi")).await;
        assert!(sent.get("ok").is_some(), "{sent}");
    }
    let long = "é".repeat(4_000);
    let first = ada.http.send_message(direct, Draft::text(&long)).await.unwrap();
    assert!(socket.call("send", text("long", &long)).await.get("ok").is_some());
    // Neither the other transport nor another kind of content goes around it.
    assert_reply_limited(&socket.call("send", text("longer", &long)).await);
    let draft = json!({ "draft": { "text": long } });
    let settings = format!("/v1/conversations/{direct}/me");
    raw.ask("PATCH", &settings).by(&ada.http).json(&draft).refused(429, ErrorCode::RateLimited).await;
    let edit = json!({ "message_id": first.id, "text": long });
    assert_reply_limited(&socket.call("edit", edit).await);
    let forward = json!({ "conversation_id": direct, "client_id": "f", "forwarded_from": first.id });
    assert_reply_limited(&socket.call("send", forward.clone()).await);
    let messages = format!("/v1/conversations/{direct}/messages");
    raw.ask("POST", &messages).by(&ada.http).json(&forward).refused(429, ErrorCode::RateLimited).await;
    ada.http.send_message(direct, Draft::text("hi")).await.unwrap();
    bob.http.send_message(direct, Draft::text(&long)).await.unwrap();
}

/// How often a user can call this until a rate limit refuses it.
async fn accepted(raw: &RawHttp, by: &Person, method: &str, path: &str, body: Option<&Value>) -> usize {
    for accepted in 0.. {
        let mut ask = raw.ask(method, path).by(&by.http);
        if let Some(body) = body {
            ask = ask.json(body);
        }
        match ask.send().await.status {
            429 => return accepted,
            status => assert!((200..300).contains(&status), "{path}: {status}"),
        }
    }
    unreachable!("there is a limit")
}

/// A moment refills none of the limits.
#[tokio::test]
async fn commands_that_name_or_read_much_count_as_several() {
    const COMMANDS: usize = 200;
    /// What a page of 200 rows counts as that are read one by one.
    const PAGE: usize = 21;
    let server = limited_with("commands_per_user", COMMANDS, "").await;
    let raw = RawHttp::new(&server.url());
    let nobody: Vec<String> = (1..=1_000).map(|id: u64| id.to_string()).collect();
    let group = json!({ "kind": "group", "name": "Birds", "member_ids": nobody });
    // How often each can be called by a user who calls nothing else.
    for (method, path, body, most) in [
        ("POST", "/v1/conversations", Some(&group), 1),
        ("GET", "/v1/conversations/gone?since=2024-01-01T00:00:00Z", None, COMMANDS / 20),
        ("GET", "/v1/stars?limit=200", None, COMMANDS / PAGE),
        ("GET", "/v1/conversations?limit=200", None, COMMANDS / PAGE),
        ("GET", "/v1/blocks?limit=200", None, COMMANDS / PAGE),
        ("GET", "/v1/sync?limit=200", None, COMMANDS / PAGE),
    ] {
        let person = Person::register(&server.url(), "ada").await;
        assert_eq!(accepted(&raw, &person, method, path, body).await, most, "{path}");
    }
    // The same with one call before, which makes a place with such pages.
    for pages in ["members", "bans", "receipts"] {
        let ada = Person::register(&server.url(), "ada").await;
        let group = ada.http.group("birds", &[]).await.unwrap().conversation.id;
        let path = match pages {
            "receipts" => {
                let message = ada.http.send_message(group, Draft::text("hi")).await.unwrap().id;
                format!("/v1/messages/{message}/receipts?limit=200")
            }
            _ => format!("/v1/conversations/{group}/{pages}?limit=200"),
        };
        assert_eq!(accepted(&raw, &ada, "GET", &path, None).await, (COMMANDS - 1) / PAGE, "{path}");
    }
    let ada = Person::register(&server.url(), "ada").await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    for _ in 0..COMMANDS / PAGE {
        let synced = socket.call("sync", json!({ "limit": 200 })).await;
        assert!(synced.get("ok").is_some(), "{synced}");
    }
    assert_reply_limited(&socket.call("sync", json!({ "limit": 200 })).await);
}

#[tokio::test]
async fn changes_have_a_separate_rate_limit() {
    let server = limited_with("changes_per_user", BURST, "").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let typing = json!({ "conversation_id": direct, "typing": true });
    for _ in 1..BURST {
        let reply = socket.call("typing", typing.clone()).await;
        assert!(reply.get("ok").is_some(), "{reply}");
    }
    assert_reply_limited(&socket.call("typing", typing).await);
    let raw = RawHttp::new(&server.url());
    let update = json!({ "display_name": "Ada" });
    raw.ask("PATCH", "/v1/me").by(&ada.http).json(&update).refused(429, ErrorCode::RateLimited).await;
    // A read is no change, and sends have a separate limit.
    ada.http.me().await.unwrap();
    let log = socket.call("log", json!({ "conversation_id": direct, "after": 0 })).await;
    assert!(log.get("ok").is_some(), "{log}");
    let sent = json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": "hi" });
    assert!(socket.call("send", sent).await.get("ok").is_some());
    ada.http.send_message(direct, Draft::text("hi over HTTP")).await.unwrap();
}
