use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::limits::{
    AVATAR_BYTES_MAX, CLIENT_ID_BYTES_MAX, CONTENT_TYPE_BYTES_MAX, CONVERSATION_NAME_CHARS_MAX,
    DESCRIPTION_CHARS_MAX, DEVICE_NAME_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, DRAFT_CHARS_MAX, HANDLE_CHARS_MAX,
    INVITE_USES_MAX, MEDIA_NAME_CHARS_MAX, MEDIA_URL_BYTES_MAX, MEMBERS_ADDED_AT_ONCE_MAX,
    MESSAGE_TTL_SECS_MAX, MESSAGE_TTL_SECS_MIN, PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN,
    PINNED_CONVERSATIONS_MAX, REACTION_CHARS_MAX, SEARCH_CHARS_MAX, SEARCH_PAGE_MAX, SYSTEM_EVENT_BYTES_MAX,
    TEXT_CHARS_MAX,
};
use serde_json::{Value, json};

use super::stage::Stage;

/// Names that break the line, hide characters or are too long.
fn bad_names(chars_max: usize) -> Vec<String> {
    let mut names: Vec<String> =
        ["", " ", "\u{a0}", "a\nb", "a\rb", "a\tb", "a\0b", "\u{1b}[2J", "a\u{7f}", "a\u{85}b", "a\u{202e}b"]
            .map(str::to_owned)
            .into();
    names.extend(["a\u{200b}b", "a\u{2028}b", "a\u{2066}b", "\u{feff}a"].map(str::to_owned));
    names.push("x".repeat(chars_max + 1));
    names.push("😀".repeat(chars_max + 1));
    names
}

async fn assert_field_refused(stage: &Stage, method: &str, path: &str, body: &Value, field: &str) {
    let ask = stage.ask(method, path).json(body).because(&format!("{field} in {body}"));
    let problem = ask.refused(422, ErrorCode::InvalidField).await;
    assert_eq!(problem.field.as_deref(), Some(field), "{body}");
    assert!(problem.detail.is_some(), "{body}");
}

#[tokio::test]
async fn accounts_have_plain_names_and_real_passwords() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let good = json!({ "handle": stage.mallory, "password": "correct horse" });
    let long = "x".repeat(HANDLE_CHARS_MAX + 1);
    let handles = [
        "",
        "ab",
        ".ada",
        "ada.",
        "a..da",
        "ada lovelace",
        "ada\n",
        "ada\0",
        "ädä",
        "аda",
        "@ada",
        "<b>ada",
        &long,
    ];
    let mut bad: Vec<(&str, Value)> = handles.iter().map(|handle| ("handle", json!(handle))).collect();
    bad.extend(bad_names(DISPLAY_NAME_CHARS_MAX).iter().map(|name| ("display_name", json!(name))));
    bad.extend(bad_names(DEVICE_NAME_CHARS_MAX).iter().map(|name| ("device_name", json!(name))));
    bad.push(("password", json!("")));
    bad.push(("password", json!("x".repeat(PASSWORD_CHARS_MIN - 1))));
    bad.push(("password", json!("x".repeat(PASSWORD_CHARS_MAX + 1))));
    for phone in ["", "+", "600111222", "+0600111222", "+34 600 111 222", "+1234567890123456", "+٣٤٦٠٠١١١٢٢٢"]
    {
        bad.push(("phone", json!(phone)));
    }
    for (field, value) in &bad {
        let mut body = good.clone();
        body[*field] = value.clone();
        assert_field_refused(&stage, "POST", "/v1/accounts", &body, field).await;
    }
    for (field, value) in bad.iter().filter(|(field, _)| ["handle", "display_name", "phone"].contains(field))
    {
        assert_field_refused(&stage, "PATCH", "/v1/me", &json!({ *field: value }), field).await;
    }
    let long = format!("https://a.example/{}", "x".repeat(AVATAR_BYTES_MAX));
    for avatar in [
        "",
        "a.png",
        "javascript:alert(1)",
        "data:image/png;base64,AA==",
        "https://",
        "https://a b",
        "https://ä",
        &long,
    ] {
        assert_field_refused(&stage, "PATCH", "/v1/me", &json!({ "avatar": avatar }), "avatar").await;
    }
    let body = json!({ "current_password": "a long enough password", "new_password": "short" });
    assert_field_refused(&stage, "PUT", "/v1/me/password", &body, "new_password").await;
    let body =
        json!({ "current_password": "x".repeat(PASSWORD_CHARS_MAX + 1), "new_password": "long enough" });
    assert_field_refused(&stage, "PUT", "/v1/me/password", &body, "current_password").await;
    let body = json!({ "handle": stage.ada.handle, "password": "x".repeat(PASSWORD_CHARS_MAX + 1) });
    assert_field_refused(&stage, "POST", "/v1/sessions", &body, "password").await;
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn messages_have_the_parts_of_their_kind() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let media = json!({ "url": "https://a.example/a.png", "content_type": "image/png", "size_bytes": 10 });
    let recording = json!({ "url": "https://a.example/a.ogg", "content_type": "audio/ogg", "size_bytes": 1, "duration_ms": 9 });
    let too_many_chars = "x".repeat(TEXT_CHARS_MAX + 1);
    let too_many_wide = "😀".repeat(TEXT_CHARS_MAX + 1);
    let text = |text: &str| json!({ "kind": "text", "text": text });
    let mut bad: Vec<(&str, Value)> = vec![
        ("text", json!({ "kind": "text" })),
        ("text", text("")),
        ("text", text(" ")),
        ("text", text(" \n\t\r ")),
        ("text", text("\u{a0}\u{2003}")),
        ("text", text("a\0b")),
        ("text", text("a\u{7}b")),
        ("text", text("\u{1b}[31mred")),
        ("text", text("a\u{9b}b")),
        ("text", text(&too_many_chars)),
        ("text", text(&too_many_wide)),
        ("media", json!({ "kind": "text", "text": "hi", "media": media })),
        ("event", json!({ "kind": "text", "text": "hi", "event": "app.x" })),
        ("media", json!({ "kind": "image" })),
        ("media", json!({ "kind": "file", "text": "a caption" })),
        ("text", json!({ "kind": "image", "media": media, "text": "" })),
        ("media", json!({ "kind": "voice" })),
        ("media.duration_ms", json!({ "kind": "voice", "media": media })),
        ("text", json!({ "kind": "voice", "media": recording, "text": "hi" })),
        ("event", json!({ "kind": "system" })),
        ("media", json!({ "kind": "system", "event": "app.x", "media": media })),
        ("text", json!({ "kind": "system", "event": "app.x", "text": " " })),
    ];
    for event in
        ["", "app", "app.", "app..x", "app.X", "app.x y", "app.x\0", "member.joined", "godwit.created"]
    {
        bad.push(("event", json!({ "kind": "system", "event": event })));
    }
    let long = format!("app.{}", "x".repeat(SYSTEM_EVENT_BYTES_MAX));
    bad.push(("event", json!({ "kind": "system", "event": long })));
    let long = "x".repeat(CLIENT_ID_BYTES_MAX + 1);
    for client_id in ["", " ", "a b", "a\0b", "a\nb", "é", "😀", &long] {
        bad.push(("client_id", json!({ "kind": "text", "text": "hi", "client_id": client_id })));
    }
    let long_url = format!("https://a.example/{}", "x".repeat(MEDIA_URL_BYTES_MAX));
    for url in [
        "",
        "a.png",
        "ftp://a",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "https://a\0",
        "https://a\r\nb",
        &long_url,
    ] {
        bad.push(("media.url", json!({ "kind": "file", "media": changed(&media, "url", url) })));
    }
    let long_type = format!("a/{}", "x".repeat(CONTENT_TYPE_BYTES_MAX));
    for content_type in
        ["", "image", "/", "image/", "/png", "a/b/c", "image/png\r\nx: y", "image/png; a=b", &long_type]
    {
        bad.push((
            "media.content_type",
            json!({ "kind": "file", "media": changed(&media, "content_type", content_type) }),
        ));
    }
    let long_name = "x".repeat(MEDIA_NAME_CHARS_MAX + 1);
    let wide_name = "😀".repeat(MEDIA_NAME_CHARS_MAX + 1);
    for name in ["", " ", "a\nb", "a\0b", "a\u{202e}gpj.exe", &long_name, &wide_name] {
        bad.push(("media.name", json!({ "kind": "file", "media": changed(&media, "name", name) })));
    }
    for (field, mut body) in bad {
        if body.get("client_id").is_none() {
            body["client_id"] = json!("c-1");
        }
        assert_field_refused(&stage, "POST", &stage.messages_path(), &body, field).await;
    }
    stage.assert_unharmed(&before).await;
}

fn changed(media: &Value, field: &str, value: &str) -> Value {
    let mut media = media.clone();
    media[field] = json!(value);
    media
}

#[tokio::test]
async fn groups_have_plain_names_and_terms_that_make_sense() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let group = format!("/v1/conversations/{}", stage.group);
    let long = "x".repeat(DESCRIPTION_CHARS_MAX + 1);
    let mut bad: Vec<(&str, Value)> =
        bad_names(CONVERSATION_NAME_CHARS_MAX).iter().map(|name| ("name", json!(name))).collect();
    bad.extend(["", " ", "a\0b", &long].map(|text| ("description", json!(text))));
    bad.extend(["", "a.png", "javascript:alert(1)", "https://"].map(|url| ("image", json!(url))));
    for (field, value) in &bad {
        let mut new = json!({ "kind": "group", "name": "Four" });
        new[*field] = value.clone();
        assert_field_refused(&stage, "POST", "/v1/conversations", &new, field).await;
        assert_field_refused(&stage, "PATCH", &group, &json!({ *field: value }), field).await;
    }
    let many = vec![stage.bob.id; MEMBERS_ADDED_AT_ONCE_MAX + 1];
    let new = json!({ "kind": "channel", "name": "Many", "member_ids": many });
    assert_field_refused(&stage, "POST", "/v1/conversations", &new, "member_ids").await;
    let new = json!({ "kind": "group", "name": "Four", "client_id": "a b" });
    assert_field_refused(&stage, "POST", "/v1/conversations", &new, "client_id").await;
    for secs in [0, 1, MESSAGE_TTL_SECS_MIN - 1, MESSAGE_TTL_SECS_MAX + 1, u32::MAX] {
        let body = json!({ "message_ttl_secs": secs });
        assert_field_refused(&stage, "PATCH", &group, &body, "message_ttl_secs").await;
    }
    for users in [json!([]), json!(many)] {
        let body = json!({ "user_ids": users });
        assert_field_refused(&stage, "POST", &format!("{group}/members"), &body, "user_ids").await;
    }
    for (field, value) in [
        ("uses_max", json!(0)),
        ("uses_max", json!(INVITE_USES_MAX + 1)),
        ("expires_at", json!("2026-01-01T00:00:00Z")),
    ] {
        assert_field_refused(&stage, "POST", &format!("{group}/invites"), &json!({ field: value }), field)
            .await;
    }
    let long = "x".repeat(REACTION_CHARS_MAX + 1);
    for reaction in ["", " ", "a b", "\u{7}", &long] {
        let path = format!("/v1/messages/{}/reaction", stage.message);
        assert_field_refused(&stage, "PUT", &path, &json!({ "reaction": reaction }), "reaction").await;
    }
    let nothing = json!({ "client_id": "c", "text": "hi" });
    assert_field_refused(&stage, "POST", &stage.messages_path(), &nothing, "kind").await;
    let event = json!({ "client_id": "c", "kind": "system", "event": "app.x", "data": [[[[[[[[[1]]]]]]]]] });
    assert_field_refused(&stage, "POST", &stage.messages_path(), &event, "data").await;
    let forged = json!({ "client_id": "c", "kind": "text", "text": "hi", "forwarded_from": stage.message });
    assert_field_refused(&stage, "POST", &stage.messages_path(), &forged, "text").await;
    let path = format!("/v1/messages/{}", stage.message);
    for text in ["", " ", "a\0b"] {
        assert_field_refused(&stage, "PATCH", &path, &json!({ "text": text }), "text").await;
    }
    let path = format!("/v1/scheduled/{}", stage.scheduled);
    for time in ["2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z"] {
        assert_field_refused(&stage, "PATCH", &path, &json!({ "send_at": time }), "send_at").await;
    }
    let path = format!("/v1/conversations/{}/me", stage.direct);
    let both = json!({ "pinned": true, "archived": true });
    assert_field_refused(&stage, "PATCH", &path, &both, "archived").await;
    let draft = json!({ "draft": { "text": "x".repeat(DRAFT_CHARS_MAX + 1) } });
    assert_field_refused(&stage, "PATCH", &path, &draft, "draft.text").await;
    let many = json!({ "conversation_ids": vec![stage.direct; PINNED_CONVERSATIONS_MAX + 1] });
    assert_field_refused(&stage, "PUT", "/v1/conversations/pinned", &many, "conversation_ids").await;
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn texts_may_be_as_long_as_the_limits_say() {
    let stage = Stage::start().await;
    for (number, text) in
        ["x".repeat(TEXT_CHARS_MAX), "😀".repeat(TEXT_CHARS_MAX), "\"\\\n".repeat(2_000)].iter().enumerate()
    {
        let body = json!({ "client_id": format!("long-{number}"), "kind": "text", "text": text });
        let sent = stage.ask("POST", &stage.messages_path()).json(&body).send().await.ok();
        assert_eq!(sent["text"], json!(text));
    }
}

#[tokio::test]
async fn paths_bodies_and_times_must_make_sense() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let body = json!({ "client_id": "c", "kind": "text", "text": "hi", "conversation_id": stage.other });
    let problem =
        stage.ask("POST", &stage.messages_path()).json(&body).refused(400, ErrorCode::PathBodyMismatch).await;
    assert_eq!(problem.field.as_deref(), Some("conversation_id"));
    // The same for a conversation that Ada may not see: the answer must not reveal it.
    let body = json!({ "client_id": "c", "kind": "text", "text": "hi", "conversation_id": stage.unseen });
    let unseen =
        stage.ask("POST", &stage.messages_path()).json(&body).refused(400, ErrorCode::PathBodyMismatch).await;
    assert_eq!(problem, unseen);

    let cursor = format!("/v1/conversations/{}/cursor", stage.direct);
    let body = json!({ "conversation_id": stage.other, "read": 1 });
    stage.ask("PUT", &cursor).json(&body).refused(400, ErrorCode::PathBodyMismatch).await;
    for ahead in [json!({ "read": 3 }), json!({ "delivered": 3 }), json!({ "read": u64::MAX })] {
        stage.ask("PUT", &cursor).json(&ahead).refused(422, ErrorCode::SeqAheadOfLog).await;
    }

    let other = json!(stage.other);
    for (method, path, field) in [
        ("PATCH", format!("/v1/conversations/{}", stage.group), "conversation_id"),
        ("PATCH", format!("/v1/conversations/{}/me", stage.direct), "conversation_id"),
        ("POST", format!("/v1/conversations/{}/invites", stage.group), "conversation_id"),
        ("PATCH", format!("/v1/scheduled/{}", stage.scheduled), "scheduled_id"),
    ] {
        let ask = stage.ask(method, &path).json(&json!({ field: other }));
        let problem = ask.refused(400, ErrorCode::PathBodyMismatch).await;
        assert_eq!(problem.field.as_deref(), Some(field));
    }
    let members = format!("/v1/conversations/{}/members", stage.group);
    for (method, path, body) in [
        ("POST", members.clone(), json!({ "conversation_id": other, "user_ids": [stage.eve.id] })),
        ("PATCH", format!("{members}/{}", stage.eve.id), json!({ "user_id": stage.bob.id, "role": "admin" })),
        (
            "PATCH",
            format!("{members}/{}", stage.eve.id),
            json!({ "conversation_id": other, "role": "admin" }),
        ),
        (
            "PUT",
            members.replace("members", "owner"),
            json!({ "conversation_id": other, "user_id": stage.eve.id }),
        ),
        ("PATCH", format!("/v1/messages/{}", stage.message), json!({ "message_id": other, "text": "hi" })),
        (
            "PUT",
            format!("/v1/messages/{}/reaction", stage.message),
            json!({ "message_id": other, "reaction": "x" }),
        ),
    ] {
        stage.ask(method, &path).json(&body).refused(400, ErrorCode::PathBodyMismatch).await;
    }

    let membership = format!("/v1/conversations/{}/me", stage.direct);
    for past in ["1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z"] {
        assert_field_refused(&stage, "PATCH", &membership, &json!({ "muted_until": past }), "muted_until")
            .await;
    }
    for nonsense in
        ["tomorrow", "2999-13-01T00:00:00Z", "2999-01-01", "99999-01-01T00:00:00Z", "-0001-01-01T00:00:00Z"]
    {
        let ask = stage.ask("PATCH", &membership).json(&json!({ "muted_until": nonsense })).because(nonsense);
        ask.refused(400, ErrorCode::InvalidRequest).await;
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn an_empty_search_is_refused() {
    let stage = Stage::start().await;
    let long = "x".repeat(SEARCH_CHARS_MAX + 1);
    for query in ["", "%20", "%00", "a%00b", "%0A", "@", "%E2%80%AE", &long] {
        let ask = stage.ask("GET", &format!("/v1/users?query={query}"));
        let problem = ask.refused(422, ErrorCode::InvalidField).await;
        assert_eq!(problem.field.as_deref(), Some("query"));
    }
    let nobody = "9007199254740993";
    let many = vec![nobody; usize::from(SEARCH_PAGE_MAX) + 1].join(",");
    for ids in ["", ",", "ada", "1,x", &many] {
        let problem =
            stage.ask("GET", &format!("/v1/users?ids={ids}")).refused(422, ErrorCode::InvalidField).await;
        assert_eq!(problem.field.as_deref(), Some("ids"));
    }
    // Valid searches without a result.
    for query in ["%FF%FE", "%25", "..", "'%20or%201=1", "%F0%9F%98%80"] {
        let found = stage.raw.get(&stage.ada.http, &format!("/v1/users?query={query}")).await;
        assert_eq!(found["users"], json!([]), "{query}");
    }
    stage.raw.assert_healthy().await;
}

#[tokio::test]
async fn a_direct_conversation_with_oneself_is_refused() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let body = json!({ "kind": "direct", "user_id": stage.ada.id });
    stage.ask("POST", "/v1/conversations").json(&body).refused(422, ErrorCode::NotWithSelf).await;
    stage.ask("PUT", &format!("/v1/blocks/{}", stage.ada.id)).refused(422, ErrorCode::NotWithSelf).await;
    let body = json!({ "handle": stage.bob.handle.to_uppercase(), "password": "correct horse" });
    let problem = stage.ask("POST", "/v1/accounts").json(&body).refused(409, ErrorCode::HandleTaken).await;
    assert_eq!(problem.field.as_deref(), Some("handle"));
    stage
        .ask("PATCH", "/v1/me")
        .json(&json!({ "handle": stage.bob.handle.replace("bob", "Bob") }))
        .refused(409, ErrorCode::HandleTaken)
        .await;
    stage.assert_unharmed(&before).await;
}
