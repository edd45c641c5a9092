use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::limits::{COMMANDS_IN_FLIGHT_MAX, PRESENCE_WATCHED_MAX};
use serde_json::{Value, json};

use super::assert_error;
use crate::logs::{messages, read_log};
use crate::people::{Person, later};
use crate::raw_socket::RawSocket;
use crate::unlimited::unlimited;

const NOBODY: &str = "9007199254740993";

/// Commands about a conversation or a message in it.
fn commands_about(conversation: &str, message: &str) -> Vec<(&'static str, Value)> {
    let text = json!({ "client_id": "c", "kind": "text", "text": "hi" });
    let of_message = json!({ "message_id": message });
    let of_conversation = json!({ "conversation_id": conversation });
    vec![
        ("send", json!({ "conversation_id": conversation, "client_id": "c", "kind": "text", "text": "hi" })),
        ("edit", json!({ "message_id": message, "text": "mine" })),
        ("delete", json!({ "message_id": message, "for": "all" })),
        ("react", json!({ "message_id": message, "reaction": "👍" })),
        ("unreact", of_message.clone()),
        ("pin", of_message.clone()),
        ("unpin", of_message.clone()),
        ("star", of_message),
        ("schedule", json!({ "conversation_id": conversation, "send_at": later(), "message": text })),
        ("update_conversation", json!({ "conversation_id": conversation, "name": "Ours" })),
        ("delete_conversation", json!({ "conversation_id": conversation, "for": "me" })),
        ("add_members", json!({ "conversation_id": conversation, "user_ids": [NOBODY] })),
        ("remove_member", json!({ "conversation_id": conversation, "user_id": NOBODY })),
        ("ban", json!({ "conversation_id": conversation, "user_id": NOBODY })),
        ("unban", json!({ "conversation_id": conversation, "user_id": NOBODY })),
        ("set_role", json!({ "conversation_id": conversation, "user_id": NOBODY, "role": "owner" })),
        ("transfer_ownership", json!({ "conversation_id": conversation, "user_id": NOBODY })),
        ("join", of_conversation.clone()),
        ("leave", of_conversation.clone()),
        ("create_invite", of_conversation),
        ("revoke_invite", json!({ "conversation_id": conversation, "invite_id": NOBODY })),
        ("update_membership", json!({ "conversation_id": conversation, "archived": true })),
        ("cursor", json!({ "conversation_id": conversation, "read": 1 })),
        ("typing", json!({ "conversation_id": conversation, "typing": true })),
        ("history", json!({ "conversation_id": conversation })),
        ("log", json!({ "conversation_id": conversation, "after": 0 })),
    ]
}

/// Every command that needs a sign-in, with a body that the server can parse.
fn commands(conversation: &str) -> Vec<(&'static str, Value)> {
    let mut commands = commands_about(conversation, NOBODY);
    commands.extend([
        ("unstar", json!({ "message_id": NOBODY })),
        ("update_scheduled", json!({ "scheduled_id": NOBODY, "text": "hi" })),
        ("send_scheduled", json!({ "scheduled_id": NOBODY })),
        ("cancel_scheduled", json!({ "scheduled_id": NOBODY })),
        ("open_conversation", json!({ "kind": "group", "name": "Ours" })),
        ("join_by_invite", json!({ "token": "A" })),
        ("order_pinned", json!({ "conversation_ids": [] })),
        ("sync", json!({})),
        ("watch_presence", json!({ "user_ids": [] })),
    ]);
    commands
}

#[tokio::test]
async fn commands_before_the_sign_in_are_refused_and_the_connection_kept() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), None).await;
    let names: Vec<&str> = commands(NOBODY).iter().map(|(name, _)| *name).collect();
    for name in godwit_client::protocol::socket::Command::NAMES {
        assert!(names.contains(name) || ["sign_in", "ping"].contains(name), "{name} is not tried here");
    }
    for (command, body) in commands(&direct.to_string()) {
        let reply = socket.call(command, body).await;
        assert_error(&reply, reply["id"].as_u64(), ErrorCode::SignInFirst);
    }
    socket.assert_alive().await;
    let token = ada.http.access_token().unwrap();
    let reply = socket.call("sign_in", json!({ "access_token": token })).await;
    assert_eq!(reply["ok"]["user_id"], json!(ada.id));
    let reply = socket.call("log", json!({ "conversation_id": direct, "after": 0 })).await;
    assert_eq!(reply["ok"]["head"], 1, "nothing was sent");
}

#[tokio::test]
async fn commands_about_invisible_resources_find_nothing() {
    let server = unlimited().await;
    let [ada, bob, eve] = Person::register_all(&server.url(), ["ada", "bob", "eve"]).await;
    let unseen = bob.open_direct(&eve).await;
    let secret = bob.http.send_message(unseen, Draft::text("a secret")).await.unwrap();
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let about_hidden = commands_about(&unseen.to_string(), &secret.id.to_string());
    for ((command, hidden), (_, missing)) in about_hidden.into_iter().zip(commands_about(NOBODY, NOBODY)) {
        let hidden = socket.call(command, hidden).await;
        let missing = socket.call(command, missing).await;
        assert_error(&hidden, hidden["id"].as_u64(), ErrorCode::NotFound);
        assert_eq!(hidden["error"].to_string(), missing["error"].to_string(), "{command}");
    }
    for (field, code) in
        [("reply_to", ErrorCode::ReplyNotFound), ("forwarded_from", ErrorCode::ForwardNotFound)]
    {
        let send = |id: &str| json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": "hi", field: id });
        let hidden = socket.call("send", send(&secret.id.to_string())).await;
        let missing = socket.call("send", send(NOBODY)).await;
        assert_error(&hidden, hidden["id"].as_u64(), code);
        assert_eq!(hidden["error"].to_string(), missing["error"].to_string(), "{field}");
    }
    assert_eq!(read_log(&ada.http, direct).await.len(), 1, "nothing was sent");
    assert_eq!(read_log(&bob.http, unseen).await.len(), 2, "nothing was sent");
}

#[tokio::test]
async fn values_that_are_not_allowed_are_named() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    let watched = vec![bob.id; PRESENCE_WATCHED_MAX + 1];
    let bad = [
        ("send", json!({ "client_id": "c", "kind": "text", "text": "hi" }), "conversation_id"),
        ("send", json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": " " }), "text"),
        (
            "send",
            json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": "a\u{0}b" }),
            "text",
        ),
        (
            "send",
            json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": "x".repeat(8_001) }),
            "text",
        ),
        (
            "send",
            json!({ "conversation_id": direct, "client_id": "c", "kind": "text", "text": "😀".repeat(8_001) }),
            "text",
        ),
        (
            "send",
            json!({ "conversation_id": direct, "client_id": "", "kind": "text", "text": "hi" }),
            "client_id",
        ),
        ("send", json!({ "conversation_id": direct, "client_id": "c", "kind": "image" }), "media"),
        ("cursor", json!({ "read": 1 }), "conversation_id"),
        ("edit", json!({ "text": "hi" }), "message_id"),
        ("react", json!({ "reaction": "👍" }), "message_id"),
        ("react", json!({ "message_id": NOBODY, "reaction": "two words" }), "reaction"),
        ("update_scheduled", json!({ "text": "hi" }), "scheduled_id"),
        ("update_conversation", json!({ "name": "Ours" }), "conversation_id"),
        ("add_members", json!({ "user_ids": [bob.id] }), "conversation_id"),
        ("remove_member", json!({ "user_id": bob.id }), "conversation_id"),
        ("set_role", json!({ "user_id": bob.id, "role": "admin" }), "conversation_id"),
        ("set_role", json!({ "conversation_id": direct, "role": "admin" }), "user_id"),
        ("transfer_ownership", json!({ "user_id": bob.id }), "conversation_id"),
        ("create_invite", json!({}), "conversation_id"),
        ("update_membership", json!({ "archived": true }), "conversation_id"),
        ("open_conversation", json!({ "kind": "group", "name": " " }), "name"),
        ("history", json!({ "conversation_id": direct, "limit": 0 }), "limit"),
        ("log", json!({ "conversation_id": direct, "after": 0, "limit": 0 }), "limit"),
        ("log", json!({ "conversation_id": direct, "after": 0, "limit": 201 }), "limit"),
        ("sync", json!({ "limit": 0 }), "limit"),
        ("sync", json!({ "limit": 201 }), "limit"),
        ("watch_presence", json!({ "user_ids": watched }), "user_ids"),
    ];
    for (command, body, field) in bad {
        let reply = socket.call(command, body).await;
        let problem = assert_error(&reply, reply["id"].as_u64(), ErrorCode::InvalidField);
        assert_eq!(problem.field.as_deref(), Some(field), "{reply}");
    }
    let reply = socket.call("cursor", json!({ "conversation_id": direct, "read": 2 })).await;
    assert_error(&reply, reply["id"].as_u64(), ErrorCode::SeqAheadOfLog);
    let bobs_token = bob.http.sync(None, None).await.unwrap().token;
    for since in ["", "garbage", &bobs_token] {
        let reply = socket.call("sync", json!({ "since": since })).await;
        assert_error(&reply, reply["id"].as_u64(), ErrorCode::InvalidCursor);
    }
    assert_eq!(read_log(&ada.http, direct).await.len(), 1, "nothing was sent");
}

/// Sends many more commands than the server handles concurrently in one write, without reading the replies.
#[tokio::test]
async fn commands_beyond_the_in_flight_limit_wait_and_are_answered() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let direct = ada.open_direct(&bob).await;
    let mut socket = RawSocket::open(server.address(), ada.http.access_token().as_deref()).await;
    // Within the user's burst, so that no command is refused.
    let count = 4 * COMMANDS_IN_FLIGHT_MAX;
    let mut ids = Vec::new();
    for number in 0..count {
        let body = json!({ "conversation_id": direct, "client_id": format!("c{number}"), "kind": "text", "text": format!("{number}") });
        ids.push(socket.post("send", body).await);
    }
    let mut seqs = vec![None; count];
    while seqs.contains(&None) {
        let frame = socket.json().await;
        if let Some(id) = frame.get("id").and_then(Value::as_u64) {
            let number = ids.iter().position(|sent| *sent == id).unwrap();
            let seq = frame["ok"]["seq"].as_u64().unwrap_or_else(|| panic!("{frame}"));
            assert_eq!(seqs[number].replace(seq), None, "{id} was answered twice");
        }
    }
    assert!(seqs.is_sorted(), "sent one after the other, and in the log in that order");
    let log = read_log(&bob.http, direct).await;
    assert_eq!(messages(&log).count(), count);
}
