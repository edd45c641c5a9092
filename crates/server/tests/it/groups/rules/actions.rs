//! The request for each action.

use serde_json::{Value, json};

use super::Transport;
use super::scene::{Cast, Scene};
use crate::people::{later, unique};

/// The request for one action over each transport that supports it.
pub(super) struct Request {
    /// Method, path, body.
    pub(super) http: Option<(&'static str, String, Value)>,
    /// Command, body.
    pub(super) command: Option<(&'static str, Value)>,
}

/// Actions without a socket command.
pub(super) const ONLY_HTTP: &[&str] = &[
    "look at the conversation",
    "list the members",
    "list the pins",
    "list the bans",
    "list the invites",
    "look at an invite",
    "read a message",
    "read its versions",
    "read its receipts",
    "read its reactions",
    "read its thread",
];

/// Actions without a log entry, in addition to reads.
pub(super) const HARMLESS: &[&str] = &[
    "read the history",
    "read the log",
    "move the cursor",
    "show that one types",
    "change the own settings",
    "put it first among the pinned ones",
    "star a message",
    "unstar a message",
    "schedule a message",
    "change a scheduled message",
    // Nobody is banned in the scenes, so this changes nothing.
    "lift a ban",
];

/// Actions that change the situation for others.
pub(super) const FINAL: &[&str] = &[
    "cancel a scheduled message",
    "send a scheduled message now",
    "delete the own message",
    "delete another's message",
    "delete a message for oneself",
    "delete it for oneself",
    "delete it for all",
    "remove a member",
    "remove an admin",
    "remove an owner",
    "ban a member",
    "ban an admin",
    "ban an owner",
    "ban somebody else",
    "remove oneself",
    "leave",
    "hand it over",
    "revoke another's invite",
    "join",
    "join by an invite",
];

/// The trace of a successful action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    Nothing,
    /// A log entry. All other actions remain possible.
    Entry,
    /// A conversation in which some actions are no longer possible.
    Wreck,
}

pub(super) fn has(action: &str, transport: Transport) -> bool {
    match transport {
        Transport::Http => action != "show that one types",
        Transport::Socket => !ONLY_HTTP.contains(&action),
    }
}

pub(super) fn trace(action: &str) -> Trace {
    if FINAL.contains(&action) {
        Trace::Wreck
    } else if ONLY_HTTP.contains(&action) || HARMLESS.contains(&action) {
        Trace::Nothing
    } else {
        Trace::Entry
    }
}

pub(super) fn request(action: &str, scene: &Scene, cast: &Cast) -> Request {
    let Scene { conversation, own, others, invite, scheduled, actor, .. } = scene;
    let in_it = |rest: &str| format!("/v1/conversations/{conversation}{rest}");
    let of_message = |message: &str, rest: &str| format!("/v1/messages/{message}{rest}");
    let about_it = |body: Value| with("conversation_id", conversation, body);
    let about = |message: &str, body: Value| with("message_id", message, body);
    let (anna, mia, nina, olga) = (cast.anna.id(), cast.mia.id(), cast.nina.id(), cast.olga.id());
    let member = |user: &Value| in_it(&format!("/members/{}", user.as_str().unwrap_or_default()));
    let remove = |user: Value| {
        both("DELETE", member(&user), Value::Null, "remove_member", about_it(json!({ "user_id": user })))
    };
    let ban = |method, user: Value, command| {
        let path = in_it(&format!("/bans/{}", user.as_str().unwrap_or_default()));
        both(method, path, Value::Null, command, about_it(json!({ "user_id": user })))
    };
    match action {
        "look at the conversation" => get(in_it("")),
        "read the history" => both("GET", in_it("/messages"), Value::Null, "history", about_it(json!({}))),
        "read the log" => {
            both("GET", in_it("/log?after=0"), Value::Null, "log", about_it(json!({ "after": 0 })))
        }
        "list the members" => get(in_it("/members")),
        "list the pins" => get(in_it("/pins")),
        "list the bans" => get(in_it("/bans")),
        "list the invites" => get(in_it("/invites")),
        "look at an invite" => get(format!("/v1/invites/{}", invite.1)),
        "read a message" => get(of_message(others, "")),
        "read its versions" => get(of_message(others, "/edits")),
        "read its receipts" => get(of_message(others, "/receipts")),
        "read its reactions" => get(of_message(others, "/reactions")),
        "read its thread" => get(of_message(others, "/thread")),
        "move the cursor" => {
            let cursor = json!({ "read": 1 });
            both("PUT", in_it("/cursor"), cursor.clone(), "cursor", about_it(cursor))
        }
        "show that one types" => {
            Request { http: None, command: Some(("typing", about_it(json!({ "typing": true })))) }
        }
        "change the own settings" => {
            let draft = json!({ "draft": { "text": "well" }, "marked_unread": true, "pinned": true });
            both("PATCH", in_it("/me"), draft.clone(), "update_membership", about_it(draft))
        }
        "put it first among the pinned ones" => {
            let order = json!({ "conversation_ids": [conversation] });
            both("PUT", "/v1/conversations/pinned".to_owned(), order.clone(), "order_pinned", order)
        }
        "star a message" => {
            both("PUT", of_message(others, "/star"), Value::Null, "star", about(others, json!({})))
        }
        "unstar a message" => {
            both("DELETE", of_message(others, "/star"), Value::Null, "unstar", about(others, json!({})))
        }
        "schedule a message" => {
            let later = about_it(json!({ "send_at": later(), "message": message() }));
            both("POST", "/v1/scheduled".to_owned(), later.clone(), "schedule", later)
        }
        "change a scheduled message" => {
            let change = json!({ "text": "later" });
            let command = with("scheduled_id", scheduled, change.clone());
            both("PATCH", format!("/v1/scheduled/{scheduled}"), change, "update_scheduled", command)
        }
        "cancel a scheduled message" => {
            let command = json!({ "scheduled_id": scheduled });
            both("DELETE", format!("/v1/scheduled/{scheduled}"), Value::Null, "cancel_scheduled", command)
        }
        "send a scheduled message now" => {
            let command = json!({ "scheduled_id": scheduled });
            both("POST", format!("/v1/scheduled/{scheduled}/send"), Value::Null, "send_scheduled", command)
        }
        "send" => {
            let message = message();
            both("POST", in_it("/messages"), message.clone(), "send", about_it(message))
        }
        "reply" => {
            let reply = with("reply_to", others, message());
            both("POST", in_it("/messages"), reply.clone(), "send", about_it(reply))
        }
        "edit the own message" => edit(own),
        "edit another's message" => edit(others),
        "delete the own message" => delete(own, "all"),
        "delete another's message" => delete(others, "all"),
        "delete a message for oneself" => delete(others, "me"),
        "react" => {
            let react = json!({ "reaction": "👍" });
            both("PUT", of_message(others, "/reaction"), react.clone(), "react", about(others, react))
        }
        "take the reaction back" => {
            both("DELETE", of_message(others, "/reaction"), Value::Null, "unreact", about(others, json!({})))
        }
        "pin a message" => {
            both("PUT", of_message(others, "/pin"), Value::Null, "pin", about(others, json!({})))
        }
        "unpin a message" => {
            both("DELETE", of_message(others, "/pin"), Value::Null, "unpin", about(others, json!({})))
        }
        "rename it" => update(conversation, json!({ "name": "Another" })),
        "set the timer" => update(conversation, json!({ "message_ttl_secs": 3_600 })),
        "change the permissions" => {
            update(conversation, json!({ "permissions": { "members_may_send": true } }))
        }
        "delete it for oneself" => {
            let command = about_it(json!({ "for": "me" }));
            both("DELETE", in_it("?for=me"), Value::Null, "delete_conversation", command)
        }
        "delete it for all" => {
            let command = about_it(json!({ "for": "all" }));
            both("DELETE", in_it("?for=all"), Value::Null, "delete_conversation", command)
        }
        "add somebody" => {
            let users = json!({ "user_ids": [nina] });
            both("POST", in_it("/members"), users.clone(), "add_members", about_it(users))
        }
        "remove a member" => remove(json!(mia)),
        "remove an admin" => remove(json!(anna)),
        "remove an owner" => remove(json!(olga)),
        "ban a member" => ban("PUT", json!(mia), "ban"),
        "ban an admin" => ban("PUT", json!(anna), "ban"),
        "ban an owner" => ban("PUT", json!(olga), "ban"),
        "ban somebody else" => ban("PUT", json!(nina), "ban"),
        "lift a ban" => ban("DELETE", json!(nina), "unban"),
        "remove oneself" => remove(json!(actor.id())),
        "leave" => both("POST", in_it("/leave"), Value::Null, "leave", about_it(json!({}))),
        "change a role" => {
            let command = about_it(json!({ "user_id": mia, "role": "admin" }));
            both("PATCH", member(&json!(mia)), json!({ "role": "admin" }), "set_role", command)
        }
        "hand it over" => {
            let to = json!({ "user_id": mia });
            both("PUT", in_it("/owner"), to.clone(), "transfer_ownership", about_it(to))
        }
        "make an invite" => both("POST", in_it("/invites"), json!({}), "create_invite", about_it(json!({}))),
        "revoke another's invite" => {
            let command = about_it(json!({ "invite_id": invite.0 }));
            both("DELETE", in_it(&format!("/invites/{}", invite.0)), Value::Null, "revoke_invite", command)
        }
        "join" => both("POST", in_it("/join"), Value::Null, "join", about_it(json!({}))),
        "join by an invite" => {
            let command = json!({ "token": invite.1 });
            both("POST", format!("/v1/invites/{}/join", invite.1), Value::Null, "join_by_invite", command)
        }
        unknown => panic!("nobody knows how to {unknown}"),
    }
}

fn get(path: String) -> Request {
    Request { http: Some(("GET", path, Value::Null)), command: None }
}

fn both(
    method: &'static str,
    path: String,
    body: Value,
    command: &'static str,
    command_body: Value,
) -> Request {
    Request { http: Some((method, path, body)), command: Some((command, command_body)) }
}

fn edit(message: &str) -> Request {
    let text = json!({ "text": "hello again" });
    both("PATCH", format!("/v1/messages/{message}"), text.clone(), "edit", with("message_id", message, text))
}

fn delete(message: &str, whom: &str) -> Request {
    let command = json!({ "message_id": message, "for": whom });
    both("DELETE", format!("/v1/messages/{message}?for={whom}"), Value::Null, "delete", command)
}

fn update(conversation: &str, change: Value) -> Request {
    let command = with("conversation_id", conversation, change.clone());
    both("PATCH", format!("/v1/conversations/{conversation}"), change, "update_conversation", command)
}

fn message() -> Value {
    json!({ "client_id": unique("c"), "kind": "text", "text": "hi" })
}

/// The body with one more field.
fn with(field: &str, value: &str, mut body: Value) -> Value {
    body[field] = json!(value);
    body
}
