//! Every answer of the API at its limits can be sent: over HTTP and over a socket, with everything that it shows as long and
//! as numerous as the limits allow, or more than a page of it.
//!
//! - `filled`: the people and their data
//!
//! The tables name every operation and command whose answer has a content, with a size that shows that the answer was filled.

mod filled;

use std::collections::{BTreeMap, BTreeSet};

use godwit_client::protocol::limits::{ANSWER_BYTES_MAX, PAGE_BYTES_MAX, PAGE_MAX};
use serde_json::{Value, json};

use self::filled::{Filled, text_message};
use crate::bad_http::stage::Operation;
use crate::people::later;
use crate::raw_socket::RawSocket;
use crate::repeats::{Call, LAST};

/// A page that ends because of its bytes.
const PAGE: usize = PAGE_BYTES_MAX / 2;
/// A message with a text of the maximum length, each character of which takes two bytes.
const MESSAGE: usize = 16_000;
/// An opened conversation, with the cursors of more than a page of members.
const CONVERSATION: usize = 15_000;
/// A user with the longest picture.
const USER: usize = 2_200;

/// The operations, each with the bytes that its answer has at least.
const OPERATIONS: &[(&str, usize)] = &[
    ("alive", 2),
    ("ready", 2),
    ("register", 300),
    ("sign_in", USER),
    ("refresh_session", 200),
    ("get_me", USER),
    ("update_me", USER),
    ("change_password", 200),
    ("list_devices", 4_000),
    ("find_users", 50 * USER),
    ("get_user", USER),
    ("list_blocks", PAGE),
    ("list_conversations", PAGE),
    ("open_conversation", 50_000),
    ("get_conversation", CONVERSATION),
    ("update_conversation", CONVERSATION),
    ("update_membership", MESSAGE),
    ("list_gone", 500),
    ("list_refused_groups", 10),
    ("list_members", PAGE),
    ("add_members", 50_000),
    ("list_bans", 8_000),
    ("list_invites", 6_000),
    ("create_invite", 150),
    ("preview_invite", 6_000),
    ("join", CONVERSATION),
    ("join_by_invite", CONVERSATION),
    ("read_history", PAGE),
    ("read_log", PAGE),
    ("read_thread", PAGE),
    ("read_edits", PAGE),
    ("list_pins", PAGE),
    ("list_stars", PAGE),
    ("list_scheduled", PAGE),
    ("get_message", MESSAGE),
    ("send_message", MESSAGE),
    ("edit_message", MESSAGE),
    ("react", MESSAGE),
    ("unreact", MESSAGE),
    ("schedule_message", MESSAGE),
    ("update_scheduled", MESSAGE),
    ("send_scheduled", MESSAGE),
    ("list_reactions", 20_000),
    ("read_receipts", 5_000),
    ("move_cursor", 30),
    ("sync", PAGE),
];

/// Operations for which a call as a test of retries prepares it has a small answer.
const OWN_BODIES: &[&str] = &["open_conversation", "schedule_message", "update_me"];

/// The commands, likewise.
const COMMANDS: &[(&str, usize)] = &[
    ("sign_in", 100),
    ("send", MESSAGE),
    ("edit", MESSAGE),
    ("react", MESSAGE),
    ("unreact", MESSAGE),
    ("schedule", MESSAGE),
    ("update_scheduled", MESSAGE),
    ("send_scheduled", MESSAGE),
    ("open_conversation", 50_000),
    ("update_conversation", CONVERSATION),
    ("add_members", 50_000),
    ("join", CONVERSATION),
    ("join_by_invite", CONVERSATION),
    ("create_invite", 150),
    ("update_membership", MESSAGE),
    ("cursor", 30),
    ("history", PAGE),
    ("log", PAGE),
    ("sync", PAGE),
    ("watch_presence", 5_000),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_at_its_limits_can_be_sent() {
    let filled = Filled::new().await;
    let mut wrong = over_a_socket(&filled).await;
    wrong.extend(over_http(&filled).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn over_http(filled: &Filled) -> Vec<String> {
    let stage = &filled.stage;
    let document = stage.raw.ask("GET", "/openapi.json").send().await.ok();
    let mut expected: BTreeMap<&str, usize> = OPERATIONS.iter().copied().collect();
    let mut operations = stage.operations().await;
    operations.retain(|operation| has_content(&document, &operation.id));
    operations.sort_by_key(|operation| LAST.iter().position(|id| *id == operation.id).map_or(0, |at| at + 1));
    let mut wrong = Vec::new();
    for operation in operations {
        let Some(least) = expected.remove(operation.id.as_str()) else {
            wrong.push(format!("{} is not in the table", operation.id));
            continue;
        };
        let path = path_of(filled, &operation);
        let body = operation.takes_body.then(|| filled.body(&operation.id));
        let mut call = Call::prepare(stage, &operation.id, path, body.clone()).await;
        if OWN_BODIES.contains(&operation.id.as_str()) {
            call.body = body;
        }
        if operation.id == "list_blocks" {
            call.token = stage.bob.http.access_token().unwrap();
        }
        let (status, answer) = call.make(&operation.method).await;
        if !(200..300).contains(&status) {
            wrong.push(format!("{}: {status} {answer}", operation.id));
            continue;
        }
        wrong.extend(unfit(&operation.id, answer.to_string().len(), least));
    }
    wrong.extend(expected.into_keys().map(|id| format!("there is no {id}")));
    wrong
}

/// Whether a successful answer has a body.
fn has_content(document: &Value, id: &str) -> bool {
    let paths = document["paths"].as_object().unwrap().values();
    let mut operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
    let operation = operations.find(|operation| operation["operationId"] == id).unwrap();
    let responses = operation["responses"].as_object().unwrap();
    responses.iter().any(|(status, response)| status.starts_with('2') && response.get("content").is_some())
}

/// The path of a full answer, as large as it can be asked for.
fn path_of(filled: &Filled, operation: &Operation) -> String {
    let path = filled.path(&operation.id).unwrap_or_else(|| operation.path.clone());
    let limit = match operation.id.as_str() {
        "find_users" => 50,
        _ => PAGE_MAX,
    };
    if operation.query.iter().any(|name| name == "limit") {
        format!("{path}{}limit={limit}", if path.contains('?') { '&' } else { '?' })
    } else {
        path
    }
}

async fn over_a_socket(filled: &Filled) -> Vec<String> {
    let stage = &filled.stage;
    let document = stage.raw.ask("GET", "/asyncapi.json").send().await.ok();
    let token = stage.ada.http.access_token();
    let mut socket = RawSocket::open(stage.server.address(), token.as_deref()).await;
    let mut wrong = Vec::new();
    for (command, least) in COMMANDS {
        let body = command_body(filled, command).await;
        // A socket that is closed because of the size ends the test here.
        let reply = socket.call(command, body).await;
        match reply.get("ok") {
            Some(_) => wrong.extend(unfit(command, reply.to_string().len(), *least)),
            None => wrong.push(format!("{command}: {reply}")),
        }
    }
    socket.assert_alive().await;
    let named: BTreeSet<&str> = COMMANDS.iter().map(|(command, _)| *command).collect();
    let messages = document["components"]["messages"].as_object().unwrap();
    let replies = messages.iter().filter_map(|(name, message)| {
        let ok = message["payload"]["properties"]["ok"]["$ref"].as_str()?;
        (!ok.ends_with("/Empty")).then(|| name.strip_suffix("_reply")).flatten()
    });
    let replies: BTreeSet<&str> = replies.collect();
    wrong.extend(replies.symmetric_difference(&named).map(|name| format!("{name}: in one of table and API")));
    wrong
}

fn unfit(name: &str, bytes: usize, least: usize) -> Option<String> {
    if bytes > ANSWER_BYTES_MAX {
        Some(format!("{name} answers with {bytes} bytes"))
    } else {
        (bytes < least).then(|| format!("{name} is not filled: {bytes} bytes, and not {least}"))
    }
}

async fn command_body(filled: &Filled, command: &str) -> Value {
    let stage = &filled.stage;
    match command {
        "sign_in" => json!({ "access_token": stage.ada.http.access_token() }),
        "send" => {
            let mut message = text_message("over-a-socket");
            message["conversation_id"] = json!(stage.direct);
            message["reply_to"] = json!(stage.message);
            message
        }
        "edit" => filled.body("edit_message"),
        "react" => filled.body("react"),
        "unreact" => json!({ "message_id": stage.message }),
        "schedule" => json!({
            "conversation_id": stage.direct, "send_at": later(), "message": text_message("later-over-a-socket"),
        }),
        "update_scheduled" => filled.body("update_scheduled"),
        "send_scheduled" => json!({ "scheduled_id": filled.scheduled_too }),
        "open_conversation" => filled.body("open_conversation"),
        "update_conversation" => filled.body("update_conversation"),
        "add_members" => filled.body("add_members"),
        "join" => json!({ "conversation_id": stage.group }),
        "join_by_invite" => json!({ "token": stage.invite.1 }),
        "create_invite" => json!({ "conversation_id": stage.group, "client_id": "over-a-socket" }),
        "update_membership" => filled.body("update_membership"),
        "cursor" => json!({ "conversation_id": stage.direct, "read": 1 }),
        "history" => json!({ "conversation_id": stage.direct, "limit": PAGE_MAX }),
        "log" => json!({ "conversation_id": stage.direct, "after": 0, "limit": PAGE_MAX }),
        "sync" => json!({ "limit": PAGE_MAX }),
        "watch_presence" => {
            let watched: Vec<_> = filled.others.iter().take(200).map(|other| other.id).collect();
            json!({ "user_ids": watched })
        }
        other => panic!("{other} needs a body here"),
    }
}
