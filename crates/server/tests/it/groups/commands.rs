//! Each socket command once.

use std::collections::BTreeSet;

use godwit_client::protocol::socket::Command;
use serde_json::{Value, json};

use super::{Asker, each, text};
use crate::people::later;
use crate::process::ServerProcess;
use crate::raw_socket::RawSocket;
use crate::unlimited::unlimited;

/// A socket that records the commands it has sent.
struct Commander {
    socket: RawSocket,
    given: BTreeSet<String>,
}

impl Commander {
    async fn new(server: &ServerProcess, by: &Asker) -> Self {
        let mut socket =
            Self { socket: RawSocket::open(server.address(), None).await, given: BTreeSet::new() };
        let token = by.person.http.access_token().unwrap();
        socket.ok("sign_in", json!({ "access_token": token })).await;
        socket
    }

    async fn ok(&mut self, command: &str, body: Value) -> Value {
        self.given.insert(command.to_owned());
        let mut reply = self.socket.call(command, body).await;
        assert!(reply.get("ok").is_some(), "{command}: {reply}");
        reply["ok"].take()
    }

    async fn done(&mut self, command: &str, body: Value) {
        assert_eq!(self.ok(command, body).await, json!({}), "{command}");
    }

    /// The code of the error.
    async fn refused(&mut self, command: &str, body: Value) -> String {
        let reply = self.socket.call(command, body).await;
        text(&reply["error"]["code"])
    }
}

#[tokio::test]
async fn each_command_has_its_documented_effect() {
    let server = unlimited().await;
    let [ada, bob, eve] = Asker::register_all(&server, ["ada", "bob", "eve"]).await;
    let mut socket = Commander::new(&server, &ada).await;
    let mut bobs = bob.socket(&server).await;
    let group = conversations(&mut socket, &bob, &eve).await;
    messages(&mut socket, &group).await;
    personal(&mut socket, &ada, &group).await;
    membership(&mut socket, &ada, [&bob, &eve], &group).await;
    socket.done("ping", json!({})).await;
    let all: BTreeSet<String> = Command::NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(socket.given, all);

    // The others received all entries in order. The inbox tells them about the creation.
    let mut heard = Vec::new();
    while heard.last().is_none_or(|last| last != "member_left") {
        let entry = bobs.event("entry").await;
        if entry["conversation_id"] == json!(group) {
            heard.push(text(&entry["type"]));
        }
    }
    let expected = [
        "details_changed",
        "message",
        "edited",
        "reacted",
        "reacted",
        "pinned",
        "unpinned",
        "deleted",
        "message",
        "invite_created",
        "invite_revoked",
        "member_removed",
        "member_banned",
        "member_unbanned",
        "members_added",
        "role_changed",
        "ownership_transferred",
        "member_left",
    ];
    assert_eq!(heard, expected);
}

/// Creates and changes a conversation.
async fn conversations(socket: &mut Commander, bob: &Asker, eve: &Asker) -> String {
    let new =
        json!({ "kind": "group", "name": "Birds", "member_ids": [bob.id(), eve.id()], "client_id": "g" });
    let made = socket.ok("open_conversation", new.clone()).await;
    assert_eq!((&made["member_count"], &made["me"]["role"]), (&json!(3), &json!("owner")));
    let again = socket.ok("open_conversation", new).await;
    assert_eq!(again["id"], made["id"], "the same client id makes it once");
    let group = text(&made["id"]);
    let update = json!({ "conversation_id": group, "name": "Waders" });
    assert_eq!(socket.ok("update_conversation", update).await["name"], "Waders");
    let settings = json!({ "conversation_id": group, "pinned": true, "draft": { "text": "well" } });
    let settings = socket.ok("update_membership", settings).await;
    assert_eq!((&settings["pinned"], &settings["draft"]["text"]), (&json!(true), &json!("well")));
    socket.done("order_pinned", json!({ "conversation_ids": [group] })).await;
    socket.done("typing", json!({ "conversation_id": group, "typing": true })).await;
    group
}

async fn messages(socket: &mut Commander, group: &str) {
    let new = json!({ "conversation_id": group, "client_id": "c", "kind": "text", "text": "A godwit!" });
    let sent = socket.ok("send", new).await;
    let about = |field: &str, value: &str| json!({ "message_id": sent["id"], field: value });
    let of_message = json!({ "message_id": sent["id"] });
    let edited = socket.ok("edit", about("text", "Two godwits!")).await;
    assert_eq!((&edited["id"], &edited["text"]), (&sent["id"], &json!("Two godwits!")));
    let reacted = socket.ok("react", about("reaction", "👍")).await;
    assert_eq!(reacted["my_reaction"], "👍");
    assert!(socket.ok("unreact", of_message.clone()).await.get("my_reaction").is_none());
    let around = json!({ "conversation_id": group, "around": sent["id"], "limit": 1 });
    let page = socket.ok("history", around).await;
    assert_eq!(page["messages"], json!([edited]));
    for command in ["pin", "unpin", "star", "unstar"] {
        socket.done(command, of_message.clone()).await;
    }
    socket.done("delete", about("for", "all")).await;
    let log = socket.ok("log", json!({ "conversation_id": group, "after": 0 })).await;
    assert_eq!(log["entries"].as_array().unwrap().len(), 9);
    assert!(!log.to_string().contains("godwit"), "nothing is left of what was deleted: {log}");
    let cursor = socket.ok("cursor", json!({ "conversation_id": group, "read": 3 })).await;
    assert_eq!(cursor["read"], log["entries"][2]["seq"]);
}

async fn personal(socket: &mut Commander, ada: &Asker, group: &str) {
    let message = json!({ "client_id": "s", "kind": "text", "text": "Good morning" });
    let new = json!({ "conversation_id": group, "send_at": later(), "message": message });
    let scheduled = socket.ok("schedule", new).await["scheduled"].take();
    let update = json!({ "scheduled_id": scheduled["id"], "text": "Good evening" });
    assert_eq!(socket.ok("update_scheduled", update).await["message"]["text"], "Good evening");
    let of_scheduled = json!({ "scheduled_id": scheduled["id"] });
    let sent = socket.ok("send_scheduled", of_scheduled.clone()).await;
    assert_eq!(sent["text"], "Good evening");
    assert_eq!(socket.ok("send_scheduled", of_scheduled).await["id"], sent["id"]);
    let new = json!({ "conversation_id": group, "send_at": later(), "message": message });
    assert_eq!(socket.ok("schedule", new).await["message"]["id"], sent["id"], "it is one message");
    let message = json!({ "client_id": "t", "kind": "text", "text": "Good night" });
    let new = json!({ "conversation_id": group, "send_at": later(), "message": message });
    let scheduled = socket.ok("schedule", new).await["scheduled"].take();
    socket.done("cancel_scheduled", json!({ "scheduled_id": scheduled["id"] })).await;
    let sync = socket.ok("sync", json!({})).await;
    assert!(each(&sync["conversations"], "id").contains(&&json!(group)));
    let watched = socket.ok("watch_presence", json!({ "user_ids": [ada.id()] })).await;
    assert!(watched["presence"].is_array());
}

/// Leaves Ada outside of the group.
async fn membership(socket: &mut Commander, ada: &Asker, [bob, eve]: [&Asker; 2], group: &str) {
    let about = |body: Value| {
        let mut body = body;
        body["conversation_id"] = json!(group);
        body
    };
    let invite = socket.ok("create_invite", about(json!({ "uses_max": 1 }))).await;
    socket.done("revoke_invite", about(json!({ "invite_id": invite["id"] }))).await;
    socket.done("remove_member", about(json!({ "user_id": eve.id() }))).await;
    socket.done("ban", about(json!({ "user_id": eve.id() }))).await;
    let refused = socket.ok("add_members", about(json!({ "user_ids": [eve.id()] }))).await;
    assert_eq!(refused["results"][0]["error"], "banned");
    socket.done("unban", about(json!({ "user_id": eve.id() }))).await;
    let added = socket.ok("add_members", about(json!({ "user_ids": [eve.id(), bob.id()] }))).await;
    assert_eq!(each(&added["results"], "added"), [&json!(true), &json!(false)]);
    assert_eq!(added["results"][1]["error"], "already_member");
    socket.done("set_role", about(json!({ "user_id": eve.id(), "role": "admin" }))).await;
    socket.done("transfer_ownership", about(json!({ "user_id": bob.id() }))).await;
    socket.done("leave", about(json!({}))).await;

    // Other groups that Ada joins, and one that she deletes.
    let open = json!({ "kind": "group", "name": "Open", "permissions": { "anyone_may_join": true } });
    let open = bob.ok("POST", "/v1/conversations", open).await;
    let joined = socket.ok("join", json!({ "conversation_id": open["id"] })).await;
    assert_eq!((&joined["id"], &joined["member_count"]), (&open["id"], &json!(2)));
    let closed = bob.ok("POST", "/v1/conversations", json!({ "kind": "channel", "name": "Closed" })).await;
    let path = format!("/v1/conversations/{}/invites", text(&closed["id"]));
    let invite = bob.ok("POST", &path, json!({})).await;
    let joined = socket.ok("join_by_invite", json!({ "token": invite["token"] })).await;
    assert_eq!((&joined["id"], &joined["me"]["role"]), (&closed["id"], &json!("member")));
    let gone = json!({ "conversation_id": closed["id"], "for": "me" });
    socket.done("delete_conversation", gone).await;
    let ahead = json!({ "conversation_id": closed["id"], "for": "me", "up_to": 999 });
    assert_eq!(socket.refused("delete_conversation", ahead).await, "seq_ahead_of_log");
    let inbox = ada.get("/v1/conversations").await;
    assert!(!each(&inbox["conversations"], "id").contains(&&closed["id"]));
}
