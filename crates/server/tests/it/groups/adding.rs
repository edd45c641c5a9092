//! Adding users: permissions, results for refused users, and profile updates, over HTTP and on sockets.

use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::{Asker, group, text};
use crate::people::unique;
use crate::process::ServerProcess;
use crate::unlimited::unlimited;

async fn set(by: &Asker, update: Value) -> Value {
    by.ok("PATCH", "/v1/me", update).await
}

#[tokio::test]
async fn a_user_who_does_not_allow_adding_needs_an_invite() {
    let server = unlimited().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    assert_eq!(bob.get("/v1/me").await["may_be_added_by"], "everybody");
    assert_eq!(set(&bob, json!({ "may_be_added_by": "contacts" })).await["may_be_added_by"], "contacts");
    let new = json!({ "kind": "group", "name": "Birds", "member_ids": [bob.id()] });
    let made = ada.ok("POST", "/v1/conversations", new).await;
    assert_eq!(made["refused"][0]["error"], "needs_invite");
    let id = text(&made["id"]);
    let members = format!("/v1/conversations/{id}/members");
    let add = json!({ "user_ids": [bob.id()] });
    assert_eq!(ada.ok("POST", &members, add.clone()).await["results"][0]["error"], "needs_invite");
    let mut socket = ada.socket(&server).await;
    let command = json!({ "conversation_id": id, "user_ids": [bob.id()] });
    let reply = socket.call("add_members", command).await;
    assert_eq!(reply["ok"]["results"][0]["error"], "needs_invite", "{reply}");
    let direct = json!({ "kind": "direct", "user_id": ada.id() });
    let direct = text(&bob.ok("POST", "/v1/conversations", direct).await["id"]);
    let message = json!({ "client_id": "1", "kind": "text", "text": "Add me." });
    bob.ok("POST", &format!("/v1/conversations/{direct}/messages"), message).await;
    assert_eq!(ada.ok("POST", &members, add).await["results"][0]["added"], true);
}

#[tokio::test]
async fn leaving_for_good_is_the_same_over_http_and_on_the_socket() {
    let server = unlimited().await;
    let [ada, bob, eve] = Asker::register_all(&server, ["ada", "bob", "eve"]).await;
    for over_http in [true, false] {
        let id = group(&ada, &[&eve, &bob]).await;
        if over_http {
            let path = format!("/v1/conversations/{id}/leave?block=true");
            assert_eq!(bob.ok("POST", &path, Value::Null).await, Value::Null);
        } else {
            let mut socket = bob.socket(&server).await;
            let reply = socket.call("leave", json!({ "conversation_id": id, "block": true })).await;
            assert_eq!(reply["ok"], json!({}), "{reply}");
        }
        assert_eq!(bob.get("/v1/refused-groups").await, json!({ "conversation_ids": [id] }));
        assert_eq!(bob.get(&format!("/v1/users/{}", ada.id())).await["blocked"], true);
        let members = format!("/v1/conversations/{id}/members");
        let invited = async |by: &Asker| {
            by.ok("POST", &members, json!({ "user_ids": [bob.id()] })).await["results"][0]["error"].clone()
        };
        let admin = json!({ "role": "admin" });
        ada.ok("PATCH", &format!("{members}/{}", eve.id()), admin).await;
        assert_eq!(invited(&ada).await, "blocked");
        assert_eq!(invited(&eve).await, "needs_invite");
        bob.ok("DELETE", &format!("/v1/refused-groups/{id}"), Value::Null).await;
        assert_eq!(invited(&eve).await, Value::Null);
        bob.ok("DELETE", &format!("/v1/blocks/{}", ada.id()), Value::Null).await;
    }
}

#[tokio::test]
async fn exceeding_the_daily_limit_of_adding_returns_retry_after() {
    let settings = "[auth.passwords]\nmemory_kib = 64\niterations = 1\n[groups]\nstrangers_added_per_day_max = 2\nmade_per_day_max = 2\n";
    let server = ServerProcess::with_config(settings).await;
    let [ada, bob, eve, kim] = Asker::register_all(&server, ["ada", "bob", "eve", "kim"]).await;
    let id = group(&ada, &[&bob, &eve]).await;
    let add = json!({ "user_ids": [kim.id()] });
    let refused = ada.ask("POST", &format!("/v1/conversations/{id}/members"), &add);
    let problem = refused.refused(429, ErrorCode::RateLimited).await;
    assert!(problem.retry_after.is_some_and(|secs| (40_000..=43_201).contains(&secs)), "{problem:?}");
    group(&ada, &[]).await;
    let mut socket = ada.socket(&server).await;
    let reply = socket.call("open_conversation", json!({ "kind": "group", "name": "Fish" })).await;
    assert_eq!(reply["error"]["code"], "rate_limited", "{reply}");
    assert!(reply["error"]["retry_after"].as_u64().is_some());
}

#[tokio::test]
async fn a_new_name_is_sent_to_conversation_partners() {
    let server = unlimited().await;
    let [ada, bob, eve] = Asker::register_all(&server, ["ada", "bob", "eve"]).await;
    group(&ada, &[&bob]).await;
    let (mut bobs, mut eves) = (bob.socket(&server).await, eve.socket(&server).await);
    for socket in [&mut bobs, &mut eves] {
        // The ping ensures that the socket is signed in, and so receives the events.
        socket.call("ping", json!({})).await;
    }
    let (name, handle) = ("Countess", unique("countess"));
    set(&ada, json!({ "display_name": name, "handle": handle })).await;
    let told = bobs.event("user_updated").await;
    assert_eq!(told, json!({ "id": ada.id(), "handle": handle, "display_name": name }));
    let handle = unique("eve");
    set(&eve, json!({ "handle": handle })).await;
    let account = eves.event("account").await;
    assert_eq!(account["type"], "profile_updated", "nobody was told to eve before: {account}");
}

#[tokio::test]
async fn refused_handles_and_passwords_have_a_reason() {
    let server = unlimited().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    let old = text(&ada.get("/v1/me").await["handle"]);
    set(&ada, json!({ "handle": unique("countess") })).await;
    for (update, status, code) in [
        (json!({ "handle": old }), 409, ErrorCode::HandleTaken),
        (json!({ "handle": "support" }), 409, ErrorCode::HandleReserved),
        (json!({ "handle": "all" }), 422, ErrorCode::InvalidField),
        (json!({ "display_name": "\u{3164}" }), 422, ErrorCode::InvalidField),
    ] {
        bob.ask("PATCH", "/v1/me", &update).refused(status, code).await;
    }
    set(&ada, json!({ "handle": old })).await;
    let register = json!({ "handle": unique("kim"), "password": "12345678" });
    let refused = ada.raw.ask("POST", "/v1/accounts").json(&register);
    assert_eq!(refused.refused(422, ErrorCode::InvalidField).await.field.as_deref(), Some("password"));
    let id = group(&ada, &[]).await;
    let nothing = json!({ "client_id": "1", "kind": "text", "text": "\u{2800}\u{3164}" });
    let refused = ada.ask("POST", &format!("/v1/conversations/{id}/messages"), &nothing);
    assert_eq!(refused.refused(422, ErrorCode::InvalidField).await.field.as_deref(), Some("text"));
}
