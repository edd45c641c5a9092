use godwit_client::protocol::{ErrorCode, Problem};
use godwit_client::{Draft, Http};
use serde_json::{Value, json};

use crate::logs::read_log;
use crate::people::{PASSWORD, Person, later, unique};
use crate::process::ServerProcess;
use crate::raw_http::{Answer, RawHttp, assert_is_whole};
use crate::raw_socket::RawSocket;
use crate::unlimited::limited_with;

/// The burst. Only one more request follows within the next minute.
const BURST: usize = 3;

/// A server with one low limit.
async fn limited(limit: &str) -> ServerProcess {
    limited_with(limit, BURST, "").await
}

fn assert_limited(answer: &Answer) {
    assert_wait(&answer.assert_problem(429, ErrorCode::RateLimited));
}

fn assert_wait(problem: &Problem) {
    let wait = problem.retry_after.unwrap();
    assert!((1..=60).contains(&wait), "{wait} seconds");
}

/// Asserts that the reply to a command is `rate_limited`.
fn assert_reply_limited(reply: &Value) {
    let problem: Problem =
        serde_json::from_value(reply["error"].clone()).unwrap_or_else(|_| panic!("{reply}"));
    assert_eq!(problem.code, ErrorCode::RateLimited);
    assert_is_whole(&problem, &reply.to_string());
    assert_wait(&problem);
}

async fn sign_in(raw: &RawHttp, handle: &str, password: &str) -> Answer {
    raw.ask("POST", "/v1/sessions").json(&json!({ "handle": handle, "password": password })).send().await
}

#[tokio::test]
async fn attempts_to_sign_in_are_limited_for_each_account() {
    let server = limited("sign_in_per_user").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let raw = RawHttp::new(&server.url());
    let in_capitals = ada.handle.to_uppercase();
    for handle in [&ada.handle, &in_capitals, &ada.handle.replace("ada", "Ada")] {
        sign_in(&raw, handle, "a guess").await.assert_problem(401, ErrorCode::WrongCredentials);
    }
    for password in ["a guess", PASSWORD] {
        assert_limited(&sign_in(&raw, &ada.handle.replace("ada", "aDa"), password).await);
    }
    // An unknown account has the same limits, so that they do not reveal whether it exists.
    let nobody = unique("nobody");
    for _ in 0..BURST {
        sign_in(&raw, &nobody, "a guess").await.assert_problem(401, ErrorCode::WrongCredentials);
    }
    assert_limited(&sign_in(&raw, &nobody, "a guess").await);
    assert_eq!(sign_in(&raw, &bob.handle, PASSWORD).await.status, 201);
}

#[tokio::test]
async fn password_guesses_with_a_stolen_token_are_limited() {
    let server = limited("sign_in_per_device").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let raw = RawHttp::new(&server.url());
    let guess = json!({ "current_password": "a guess", "new_password": "another password" });
    let change = async |http: &Http| raw.ask("PUT", "/v1/me/password").by(http).json(&guess).send().await;
    for _ in 0..BURST {
        change(&ada.http).await.assert_problem(401, ErrorCode::WrongCredentials);
    }
    assert_limited(&change(&ada.http).await);
    change(&bob.http).await.assert_problem(401, ErrorCode::WrongCredentials);
    // A user with the right password can still sign in.
    assert_eq!(sign_in(&raw, &ada.handle, PASSWORD).await.status, 201);
}

#[tokio::test]
async fn attempts_to_sign_in_are_limited_for_each_address() {
    let server = limited("sign_in_per_address").await;
    let ada = Person::register(&server.url(), "ada").await;
    let raw = RawHttp::new(&server.url());
    for number in 0..BURST {
        sign_in(&raw, &unique(&format!("user{number}")), "a guess")
            .await
            .assert_problem(401, ErrorCode::WrongCredentials);
    }
    assert_limited(&sign_in(&raw, &ada.handle, PASSWORD).await);
    // A client cannot choose its address.
    let body = json!({ "handle": ada.handle, "password": PASSWORD });
    for header in ["x-forwarded-for", "forwarded", "x-real-ip"] {
        let ask = raw.ask("POST", "/v1/sessions").header(header, "192.0.2.1").json(&body);
        assert_limited(&ask.send().await);
    }
    // An invalid request is no attempt, and gets its own error.
    raw.ask("POST", "/v1/sessions").json(&json!({})).refused(400, ErrorCode::InvalidRequest).await;
}

#[tokio::test]
async fn behind_a_proxy_the_forwarded_address_counts() {
    let server = limited_with("sign_in_per_address", BURST, "[server]\ntrust_forwarded_for = true\n").await;
    let raw = RawHttp::new(&server.url());
    let attempt = async |forwarded: &str| {
        let body = json!({ "handle": unique("nobody"), "password": "a guess" });
        let ask = raw.ask("POST", "/v1/sessions").header("x-forwarded-for", forwarded).json(&body);
        ask.send().await
    };
    for number in 0..BURST {
        // The client can forge everything before the last address.
        let answer = attempt(&format!("198.51.100.{number}, 192.0.2.1")).await;
        answer.assert_problem(401, ErrorCode::WrongCredentials);
    }
    assert_limited(&attempt("192.0.2.1").await);
    attempt("192.0.2.2").await.assert_problem(401, ErrorCode::WrongCredentials);
}

#[tokio::test]
async fn registrations_are_limited_for_each_address() {
    let server = limited("register_per_address").await;
    let raw = RawHttp::new(&server.url());
    let register = async |handle: &str| {
        raw.ask("POST", "/v1/accounts").json(&json!({ "handle": handle, "password": PASSWORD })).send().await
    };
    let (first, another) = (unique("user"), unique("another"));
    assert_eq!(register(&first).await.status, 201);
    for _ in 1..BURST {
        assert_eq!(register(&unique("user")).await.status, 201);
    }
    assert_limited(&register(&another).await);
    sign_in(&raw, &another, PASSWORD).await.assert_problem(401, ErrorCode::WrongCredentials);
    assert_eq!(sign_in(&raw, &first, PASSWORD).await.status, 201, "signing in is something else");
}

fn message(number: usize, conversation: Option<godwit_client::protocol::ConversationId>) -> Value {
    let mut body = json!({ "client_id": format!("c{number}"), "kind": "text", "text": format!("{number}") });
    if let Some(conversation) = conversation {
        body["conversation_id"] = json!(conversation);
    }
    body
}

#[tokio::test]
async fn a_user_has_one_limit_for_sending_over_http_and_the_socket() {
    let server = limited("send_per_user").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let raw = RawHttp::new(&server.url());
    let path = format!("/v1/conversations/{direct}/messages");
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    ada.http.send_message(direct, Draft::text("one")).await.unwrap();
    for number in 1..BURST {
        let reply = socket.call("send", message(number, Some(direct))).await;
        assert!(reply.get("ok").is_some(), "{reply}");
    }
    assert_reply_limited(&socket.call("send", message(100, Some(direct))).await);
    assert_limited(&raw.ask("POST", &path).by(&ada.http).json(&message(101, None)).send().await);
    // Scheduling messages does not bypass the limit.
    let scheduled = json!({
        "conversation_id": direct,
        "send_at": later(),
        "message": message(102, None),
    });
    assert_reply_limited(&socket.call("schedule", scheduled.clone()).await);
    assert_limited(&raw.ask("POST", "/v1/scheduled").by(&ada.http).json(&scheduled).send().await);
    // The connection stays open, and everything else works.
    socket.assert_alive().await;
    let log = socket.call("log", json!({ "conversation_id": direct, "after": 0 })).await;
    assert_eq!(log["ok"]["head"], 1 + BURST);
    bob.http.send_message(direct, Draft::text("I can")).await.unwrap();
    assert_eq!(read_log(&bob.http, direct).await.len(), 1 + BURST + 1, "nothing else was stored");
}

#[tokio::test]
async fn all_users_of_an_address_have_a_limit_for_sending_together() {
    let server = limited("send_per_address").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let direct = ada.open_direct(&bob).await;
    let raw = RawHttp::new(&server.url());
    let mut socket = RawSocket::open(server.address(), bob.http.access_token().as_deref()).await;
    ada.http.send_message(direct, Draft::text("one")).await.unwrap();
    for number in 1..BURST {
        let reply = socket.call("send", message(number, Some(direct))).await;
        assert!(reply.get("ok").is_some(), "{reply}");
    }
    assert_reply_limited(&socket.call("send", message(100, Some(direct))).await);
    let path = format!("/v1/conversations/{direct}/messages");
    assert_limited(&raw.ask("POST", &path).by(&ada.http).json(&message(101, None)).send().await);
    assert_eq!(read_log(&ada.http, direct).await.len(), 1 + BURST);
}

#[tokio::test]
async fn searches_are_limited_for_each_user_and_for_each_address() {
    for (limit, other_is_limited) in [("search_per_user", false), ("search_per_address", true)] {
        let server = limited(limit).await;
        let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
        let raw = RawHttp::new(&server.url());
        for _ in 0..BURST {
            raw.get(&ada.http, &format!("/v1/users?query={}", bob.handle)).await;
        }
        assert_limited(
            &raw.ask("GET", &format!("/v1/users?query={}", bob.handle)).by(&ada.http).send().await,
        );
        let others = raw.ask("GET", &format!("/v1/users?query={}", bob.handle)).by(&bob.http).send().await;
        if other_is_limited {
            assert_limited(&others);
        } else {
            assert_eq!(others.status, 200);
        }
        // Loading one user is no search, and looking for members is one.
        ada.http.user(bob.id).await.unwrap();
        let group = json!({ "kind": "group", "name": "Birds", "member_ids": [bob.id] });
        let group = raw.ask("POST", "/v1/conversations").by(&ada.http).json(&group).send().await.ok();
        let members = format!("/v1/conversations/{}/members", group["id"].as_str().unwrap());
        raw.get(&ada.http, &members).await;
        assert_limited(&raw.ask("GET", &format!("{members}?query=b")).by(&ada.http).send().await);
    }
}

#[tokio::test]
async fn all_requests_of_a_user_are_limited() {
    let server = limited("commands_per_user").await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let raw = RawHttp::new(&server.url());
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    ada.http.me().await.unwrap();
    for _ in 1..BURST {
        let reply = socket.call("sync", json!({ "limit": 1 })).await;
        assert!(reply.get("ok").is_some(), "{reply}");
    }
    for (command, body) in [
        ("sync", json!({})),
        ("watch_presence", json!({ "user_ids": [] })),
        ("log", json!({ "conversation_id": "5", "after": 0 })),
        ("cursor", json!({ "conversation_id": "5", "read": 1 })),
        ("typing", json!({ "conversation_id": "5", "typing": true })),
    ] {
        assert_reply_limited(&socket.call(command, body).await);
    }
    for path in ["/v1/me", "/v1/devices", "/v1/sync", "/v1/conversations"] {
        assert_limited(&raw.ask("GET", path).by(&ada.http).send().await);
    }
    socket.assert_alive().await;
    bob.http.me().await.unwrap();
    let metrics = server.metrics().await;
    assert!(metrics.contains("godwit_rate_limited_total{limit=\"commands\"} 9"), "{metrics}");
}
