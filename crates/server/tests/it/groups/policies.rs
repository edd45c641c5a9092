//! The operator's settings for messages, and owners who cannot leave.

use std::path::Path;
use std::time::Duration;

use godwit_client::protocol::{ErrorCode, Timestamp};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Asker, group, text};
use crate::people::in_ms;
use crate::process::ServerProcess;
use crate::unlimited::unlimited;

/// A server on this folder with this edit window in seconds, in which admins may edit too.
async fn with_edit_window(folder: &Path, secs: u32) -> ServerProcess {
    let window = format!("messages.edit_window_secs={secs}");
    let args = ["--set", &window, "--set", "messages.admins_may_edit=true"];
    ServerProcess::on(&folder.join("data"), &args).await
}

#[tokio::test]
async fn edit_policies_of_the_operator_apply() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = with_edit_window(folder.path(), 3_600).await;
    let [mut ada, mut bob, eve] = Asker::register_all(&server, ["ada", "bob", "eve"]).await;
    let group = group(&ada, &[&bob, &eve]).await;
    let message = json!({ "client_id": "c", "kind": "text", "text": "hello" });
    let sent = bob.ok("POST", &format!("/v1/conversations/{group}/messages"), message).await;
    let path = format!("/v1/messages/{}", text(&sent["id"]));
    let edit = |text: &str| json!({ "text": text });
    let edited = ada.ok("PATCH", &path, edit("hello, said Bob")).await;
    assert_eq!((&edited["text"], &edited["sender_id"]), (&json!("hello, said Bob"), &json!(bob.id())));
    eve.ask("PATCH", &path, &edit("hello, said Eve")).refused(403, ErrorCode::Forbidden).await;

    // The same message after the window has passed: server and test use the same clock.
    server.stop().await;
    let sent_at: Timestamp = text(&sent["created_at"]).parse().unwrap();
    while in_ms(-1_000) <= sent_at {
        sleep(Duration::from_millis(20)).await;
    }
    let server = with_edit_window(folder.path(), 1).await;
    for by in [&mut ada, &mut bob] {
        by.follow(&server);
        by.ask("PATCH", &path, &edit("too late")).refused(409, ErrorCode::EditWindowOver).await;
    }
    let versions = bob.get(&format!("{path}/edits")).await;
    assert_eq!(super::each(&versions["versions"], "by"), [&json!(bob.id()), &json!(ada.id())]);
}

#[tokio::test]
async fn the_last_owner_must_transfer_ownership_before_leaving() {
    let server = unlimited().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    let group = group(&ada, &[&bob]).await;
    let path = format!("/v1/conversations/{group}");
    let own = format!("{path}/members/{}", ada.id());
    for (method, path, body) in [
        ("POST", format!("{path}/leave"), Value::Null),
        ("DELETE", own.clone(), Value::Null),
        ("PATCH", own, json!({ "role": "member" })),
    ] {
        ada.ask(method, &path, &body).refused(409, ErrorCode::LastOwner).await;
    }
    let mut socket = ada.socket(&server).await;
    let reply = socket.call("leave", json!({ "conversation_id": group })).await;
    assert_eq!(reply["error"]["code"], "last_owner");
    ada.ok("PUT", &format!("{path}/owner"), json!({ "user_id": bob.id() })).await;
    assert_eq!(ada.get(&path).await["me"]["role"], "admin");
    let reply = socket.call("leave", json!({ "conversation_id": group })).await;
    assert_eq!(reply["ok"], json!({}), "{reply}");
    assert_eq!(bob.get(&path).await["me"]["role"], "owner");
    ada.ask("GET", &path, &Value::Null).refused(404, ErrorCode::NotFound).await;
}
