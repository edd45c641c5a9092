use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::raw_http::Ask;

/// A well-formed id of nothing.
const NOBODY: &str = "9007199254740993";
/// Malformed ids.
const MALFORMED: &[&str] = &[
    "0",
    "-1",
    "+1",
    "007",
    "1e3",
    "abc",
    "9223372036854775808",
    "18446744073709551616",
    "%00",
    "1%00",
    "%F0%9F%98%80",
    "1%2F2",
];

/// Both refusals have the same bytes, so that they do not reveal whether the thing exists.
async fn assert_same_refusal(hidden: Ask, missing: Ask, code: ErrorCode) {
    let (hidden, missing) = (hidden.send().await, missing.send().await);
    hidden.assert_problem(404, code);
    missing.assert_problem(404, code);
    assert_eq!(hidden.body, missing.body);
    let mut headers = [hidden.headers, missing.headers];
    for headers in &mut headers {
        headers.remove("x-request-id").unwrap();
        headers.remove("date").unwrap();
    }
    assert_eq!(headers[0], headers[1]);
}

#[tokio::test]
async fn invisible_resources_are_not_found() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let (bobs_device, _) = stage.bob.sign_in("another").await;
    let conversation_requests: &[(&str, &str, Value)] = &[
        ("GET", "", Value::Null),
        ("PATCH", "/me", json!({ "pinned": true })),
        ("PUT", "/cursor", json!({ "read": 1 })),
        ("GET", "/log?after=0", Value::Null),
        ("POST", "/messages", json!({ "client_id": "c", "kind": "text", "text": "let me in" })),
        ("GET", "/messages", Value::Null),
        ("GET", "/messages?around=1", Value::Null),
        ("PATCH", "", json!({ "name": "Ours" })),
        ("DELETE", "?for=me", Value::Null),
        ("DELETE", "?for=all", Value::Null),
        ("GET", "/members", Value::Null),
        ("POST", "/members", json!({ "user_ids": [stage.ada.id] })),
        ("PUT", "/owner", json!({ "user_id": stage.ada.id })),
        ("POST", "/join", Value::Null),
        ("POST", "/leave", Value::Null),
        ("GET", "/invites", Value::Null),
        ("POST", "/invites", json!({})),
        ("DELETE", "/invites/5", Value::Null),
        ("GET", "/pins", Value::Null),
    ];
    let mut requests: Vec<(&str, String, String, Value)> = Vec::new();
    for (method, rest, body) in conversation_requests {
        let path = |id: &str| format!("/v1/conversations/{id}{rest}");
        requests.push((method, path(&stage.unseen.to_string()), path(NOBODY), body.clone()));
    }
    for (method, body) in [("PATCH", json!({ "role": "owner" })), ("DELETE", Value::Null)] {
        let path = |id: &str| format!("/v1/conversations/{id}/members/{}", stage.ada.id);
        requests.push((method, path(&stage.unseen.to_string()), path(NOBODY), body));
    }
    let message_requests: &[(&str, &str, Value)] = &[
        ("GET", "", Value::Null),
        ("GET", "/receipts", Value::Null),
        ("GET", "/edits", Value::Null),
        ("GET", "/reactions", Value::Null),
        ("GET", "/thread", Value::Null),
        ("PATCH", "", json!({ "text": "mine" })),
        ("DELETE", "?for=me", Value::Null),
        ("DELETE", "?for=all", Value::Null),
        ("PUT", "/reaction", json!({ "reaction": "👍" })),
        ("DELETE", "/reaction", Value::Null),
        ("PUT", "/pin", Value::Null),
        ("DELETE", "/pin", Value::Null),
        ("PUT", "/star", Value::Null),
    ];
    for (method, rest, body) in message_requests {
        let path = |id: &str| format!("/v1/messages/{id}{rest}");
        requests.push((method, path(&stage.unseen_message.to_string()), path(NOBODY), body.clone()));
    }
    let path = |id: &str| format!("/v1/devices/{id}");
    requests.push(("DELETE", path(&bobs_device.to_string()), path(NOBODY), Value::Null));
    // The position of a message in another conversation, whether or not Ada could see it there.
    for elsewhere in [stage.unseen_message, stage.other_message] {
        for parameter in ["before", "after", "around"] {
            let path = |id: &str| format!("{}?{parameter}={id}", stage.messages_path());
            requests.push(("GET", path(&elsewhere.to_string()), path(NOBODY), Value::Null));
        }
    }
    for (method, hidden, missing, body) in &requests {
        let ask = |path: &str| match body {
            Value::Null => stage.ask(method, path),
            body => stage.ask(method, path).json(body),
        };
        assert_same_refusal(ask(hidden), ask(missing), ErrorCode::NotFound).await;
        for malformed in MALFORMED.iter().filter(|_| !missing.contains('=')) {
            ask(&missing.replace(NOBODY, malformed)).refused(404, ErrorCode::NotFound).await;
        }
    }
    stage.bob.http.revoke_device(bobs_device).await.unwrap();
    stage.assert_unharmed_but_for(&before, "bob sync").await;
}

#[tokio::test]
async fn replies_and_forwards_name_what_the_sender_can_see() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let send = |field: &str, id: &str| {
        let body = json!({ "client_id": "c", "kind": "text", "text": "hi", field: id });
        stage.ask("POST", &stage.messages_path()).json(&body)
    };
    for elsewhere in [stage.unseen_message, stage.other_message] {
        assert_same_refusal(
            send("reply_to", &elsewhere.to_string()),
            send("reply_to", NOBODY),
            ErrorCode::ReplyNotFound,
        )
        .await;
    }
    assert_same_refusal(
        send("forwarded_from", &stage.unseen_message.to_string()),
        send("forwarded_from", NOBODY),
        ErrorCode::ForwardNotFound,
    )
    .await;
    for id in [stage.direct.to_string(), stage.ada.id.to_string()] {
        send("reply_to", &id).refused(404, ErrorCode::ReplyNotFound).await;
        send("forwarded_from", &id).refused(404, ErrorCode::ForwardNotFound).await;
    }
    for malformed in ["0", "-1", "abc", "", "9223372036854775808"] {
        send("reply_to", malformed).refused(400, ErrorCode::InvalidRequest).await;
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn unknown_invite_links_are_refused() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let elsewhere = format!("/v1/conversations/{}/invites/{}", stage.direct, stage.invite.0);
    stage.ask("DELETE", &elsewhere).refused(409, ErrorCode::WrongKind).await;
    for id in MALFORMED {
        let path = format!("/v1/conversations/{}/invites/{id}", stage.group);
        stage.ask("DELETE", &path).refused(404, ErrorCode::NotFound).await;
    }
    // An invite that does not exist gets the same answer as a revoked one.
    let nobodys = format!("/v1/conversations/{}/invites/{NOBODY}", stage.group);
    assert_eq!(stage.ask("DELETE", &nobodys).send().await.status, 204);
    let unknown = "A".repeat(stage.invite.1.len());
    for token in ["a", "5", "%20", &unknown, &stage.invite.1[1..], &format!("{}A", stage.invite.1)] {
        for (method, rest) in [("GET", ""), ("POST", "/join")] {
            let ask = stage.ask(method, &format!("/v1/invites/{token}{rest}"));
            ask.refused(404, ErrorCode::InviteInvalid).await;
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn users_who_do_not_exist_cannot_be_found_met_or_blocked() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    stage.ask("GET", &format!("/v1/users/{NOBODY}")).refused(404, ErrorCode::NotFound).await;
    stage.ask("PUT", &format!("/v1/blocks/{NOBODY}")).refused(404, ErrorCode::NotFound).await;
    let body = json!({ "kind": "direct", "user_id": NOBODY });
    stage.ask("POST", "/v1/conversations").json(&body).refused(404, ErrorCode::NotFound).await;
    for malformed in MALFORMED {
        for (method, path) in [("GET", "users"), ("PUT", "blocks"), ("DELETE", "blocks")] {
            stage.ask(method, &format!("/v1/{path}/{malformed}")).refused(404, ErrorCode::NotFound).await;
        }
    }
    stage.assert_unharmed(&before).await;
}
