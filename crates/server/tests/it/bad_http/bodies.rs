use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::limits::REQUEST_BODY_BYTES_MAX;
use serde_json::{Map, Value, json};

use super::stage::Stage;
use crate::raw_http::RawConnection;

#[tokio::test]
async fn a_body_needs_the_json_content_type() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    for (operation, body) in stage.operations_with_body().await {
        let body = Value::Object(body).to_string();
        let ask = || stage.ask(&operation.method, &operation.path).body(body.clone());
        ask().because("no content type").refused(415, ErrorCode::UnsupportedMediaType).await;
        for content_type in
            ["", "text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonp"]
        {
            let ask = ask().header("content-type", content_type).because(content_type);
            ask.refused(415, ErrorCode::UnsupportedMediaType).await;
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn a_body_must_be_valid_json_of_the_expected_shape() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let deep_in_object = format!("{{\"handle\":{}", "[".repeat(20_000));
    let bodies: Vec<Vec<u8>> = vec![
        b"".into(),
        b"{".into(),
        b"}".into(),
        b"null".into(),
        b"true".into(),
        b"5".into(),
        b"\"text\"".into(),
        b"[]".into(),
        b"[{}]".into(),
        b"{}{}".into(),
        b"{'handle':'ada'}".into(),
        b"{\"handle\":\"ada\",}".into(),
        b"{\"no_such_field\":1}".into(),
        b"{\"\":1}".into(),
        b"{\"__proto__\":{\"admin\":true}}".into(),
        b"\xef\xbb\xbf{}".into(),
        b"{\"handle\":\"\xff\xfe\"}".into(),
        b"\xff\xfe{\x00}\x00".into(),
        b"{\"handle\":\"\\ud800\"}".into(),
        b"\x00\x00\x00\x00".into(),
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00".into(),
        "[".repeat(50_000).into(),
        "{\"a\":".repeat(10_000).into(),
        deep_in_object.into(),
        format!("{{\"{}\":1}}", "x".repeat(60_000)).into(),
        format!("{{\"limit\":1{}}}", "0".repeat(60_000)).into(),
    ];
    for (operation, _) in stage.operations_with_body().await {
        for body in &bodies {
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            let ask = stage.ask(&operation.method, &operation.path).json_text(body.clone()).because(&shown);
            ask.refused(400, ErrorCode::InvalidRequest).await;
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn every_field_must_be_known_and_of_its_type() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    for (operation, good) in stage.operations_with_body().await {
        for bad in bad_variants(&good) {
            let ask = stage.ask(&operation.method, &operation.path).json_text(bad.clone()).because(&bad);
            ask.refused(400, ErrorCode::InvalidRequest).await;
        }
    }
    stage.assert_unharmed(&before).await;
}

/// The good body with an unknown field, with one field twice, and with each field in turn with every wrong type.
fn bad_variants(good: &Map<String, Value>) -> Vec<String> {
    let text = Value::Object(good.clone()).to_string();
    let mut bad = vec![text.replacen('{', "{\"no_such_field\":1,", 1)];
    for (name, value) in good {
        bad.push(text.replacen('{', &format!("{{\"{name}\":{value},"), 1));
        for wrong in wrong_types(value) {
            let mut changed = good.clone();
            changed.remove(name);
            let rest = Value::Object(changed).to_string();
            let comma = if rest == "{}" { "" } else { "," };
            bad.push(rest.replacen('{', &format!("{{\"{name}\":{wrong}{comma}"), 1));
        }
        if let Value::Object(inner) = value {
            for inner in bad_variants(inner) {
                let mut changed = good.clone();
                changed[name] = json!("INNER");
                bad.push(Value::Object(changed).to_string().replace("\"INNER\"", &inner));
            }
        }
    }
    bad
}

fn wrong_types(value: &Value) -> &'static [&'static str] {
    match value {
        Value::String(_) => &["5", "true", "[]", "{}", "[\"a\"]", "{\"a\":\"b\"}", "1e400"],
        Value::Bool(_) => &["0", "\"true\"", "[]", "{}"],
        Value::Number(_) => {
            &["\"1\"", "true", "-1", "1.5", "1e3", "18446744073709551616", "1e999", "[]", "{}"]
        }
        Value::Object(_) => &["0", "\"a\"", "[1]", "true"],
        Value::Array(_) => &["0", "\"a\"", "true", "{}", "[1]", "[null]", "[[]]", "[{}]", "[\"x\"]"],
        Value::Null => panic!("no body has one"),
    }
}

#[tokio::test]
async fn required_fields_must_be_present() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let needed: &[(&str, &[&str])] = &[
        ("register", &["handle", "password"]),
        ("sign_in", &["handle", "password"]),
        ("refresh_session", &["refresh_token"]),
        ("change_password", &["current_password", "new_password"]),
        ("open_conversation", &["kind", "user_id"]),
        ("send_message", &["client_id"]),
        ("order_pinned", &["conversation_ids"]),
        ("add_members", &["user_ids"]),
        ("set_role", &["role"]),
        ("transfer_ownership", &["user_id"]),
        ("edit_message", &["text"]),
        ("react", &["reaction"]),
        ("schedule_message", &["conversation_id", "send_at", "message"]),
    ];
    let operations = stage.operations_with_body().await;
    for (id, fields) in needed {
        let (operation, good) = operations.iter().find(|(operation, _)| operation.id == *id).unwrap();
        for field in *fields {
            for absent in [true, false] {
                let mut body = good.clone();
                if absent {
                    body.remove(*field)
                } else {
                    body.insert((*field).to_owned(), Value::Null)
                };
                let ask =
                    stage.ask(&operation.method, &operation.path).json(&Value::Object(body)).because(field);
                ask.refused(400, ErrorCode::InvalidRequest).await;
            }
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn kinds_that_do_not_exist_are_refused() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    for kind in ["Text", "TEXT", "sticker", "", "text ", "text\u{0}"] {
        let body = json!({ "client_id": "c", "kind": kind, "text": "hi" });
        stage.ask("POST", &stage.messages_path()).json(&body).refused(400, ErrorCode::InvalidRequest).await;
    }
    for kind in ["group", "channel", "Direct", ""] {
        let body = json!({ "kind": kind, "user_id": stage.eve.id });
        stage.ask("POST", "/v1/conversations").json(&body).refused(400, ErrorCode::InvalidRequest).await;
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn a_body_has_a_size_limit() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    for (operation, good) in stage.operations_with_body().await {
        let mut body = Value::Object(good).to_string();
        body.push_str(&" ".repeat(REQUEST_BODY_BYTES_MAX + 1 - body.len()));
        stage.ask(&operation.method, &operation.path).json_text(body).refused(413, ErrorCode::TooLarge).await;
    }
    let largest = json!({ "client_id": "largest", "kind": "text", "text": "x" }).to_string();
    let largest = largest.clone() + &" ".repeat(REQUEST_BODY_BYTES_MAX - largest.len());
    let sent =
        stage.raw.ask("POST", &stage.messages_path()).by(&stage.bob.http).json_text(largest).send().await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    let mut after = stage.everything().await;
    after["largest"] = json!("sent");
    assert_ne!(after, before);
    stage.assert_unharmed(&after_without(after, "largest")).await;
}

fn after_without(mut after: Value, key: &str) -> Value {
    after.as_object_mut().unwrap().remove(key);
    after
}

/// An answer that comes before the end of its request says whether the connection closes, and the connection does so.
#[tokio::test]
async fn an_early_answer_closes_the_connection_if_the_body_is_unread() {
    let stage = Stage::start().await;
    let token = stage.ada.http.access_token().unwrap();
    let authorization = format!("authorization: Bearer {token}\r\n");
    let json = "content-type: application/json\r\n";
    let messages = stage.messages_path();
    let large = 4 * REQUEST_BODY_BYTES_MAX;
    for (what, path, headers, status) in [
        ("too large", messages.as_str(), format!("{authorization}{json}"), 413),
        ("no token", &messages, json.to_owned(), 401),
        ("no type", &messages, authorization.clone(), 415),
        ("no route", "/nowhere", json.to_owned(), 404),
        ("no method", "/healthz", json.to_owned(), 405),
    ] {
        let head = |framing: &str| {
            format!("POST {path} HTTP/1.1\r\nhost: godwit.test\r\n{headers}{framing}\r\n\r\n")
        };
        let chunk = format!("{large:x}\r\n{}\r\n", " ".repeat(large));
        for (framing, body) in [
            (format!("content-length: {large}"), " ".repeat(large)),
            ("transfer-encoding: chunked".to_owned(), chunk),
        ] {
            let mut connection = RawConnection::open(stage.server.address()).await;
            // Writes everything before it reads: the answer must arrive nevertheless.
            assert!(
                connection.write(format!("{}{body}", head(&framing)).as_bytes()).await,
                "{what}, {framing}"
            );
            let answer = connection.read_to_end().await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{what}, {framing}: {answer}");
            assert!(answer.contains("connection: close\r\n"), "{what}, {framing}: {answer}");
            assert!(answer.ends_with('}'), "{what}, {framing}: {answer}");
        }
    }
}

/// A small body is read to its end, so that the next request on the connection can be parsed.
#[tokio::test]
async fn a_refusal_does_not_cost_a_connection() {
    let stage = Stage::start().await;
    let body = "x".repeat(1_000);
    let refused = format!(
        "POST {} HTTP/1.1\r\nhost: godwit.test\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        stage.messages_path(),
        body.len()
    );
    let mut connection = RawConnection::open(stage.server.address()).await;
    let last = "GET /healthz HTTP/1.1\r\nhost: godwit.test\r\nconnection: close\r\n\r\n";
    assert!(connection.write(format!("{refused}{refused}{last}").as_bytes()).await);
    let answers = connection.read_to_end().await;
    assert_eq!(answers.matches("HTTP/1.1 401 ").count(), 2, "{answers}");
    assert!(answers.contains("HTTP/1.1 200 "), "{answers}");
    assert_eq!(answers.matches("connection: close").count(), 1, "{answers}");
}

/// Endless bodies that announce a small size, a huge one, or none.
#[tokio::test]
async fn an_endless_body_is_not_read() {
    let stage = Stage::start().await;
    let before = stage.everything().await;
    let token = stage.ada.http.access_token().unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: godwit.test\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n",
        stage.messages_path()
    );
    for framing in ["transfer-encoding: chunked", "content-length: 1000000000000"] {
        let mut connection = RawConnection::open(stage.server.address()).await;
        assert!(connection.write(format!("{head}{framing}\r\n\r\n").as_bytes()).await);
        let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
        // Far more than the limit of a body, and far less than it could be; the server closes long before.
        let mut taken = 0;
        while taken < 100 * REQUEST_BODY_BYTES_MAX && connection.write(chunk.as_bytes()).await {
            taken += chunk.len();
        }
        assert!(taken < 100 * REQUEST_BODY_BYTES_MAX, "{framing}: all of it was taken");
        let answer = connection.read_to_end().await;
        // The answer can be lost when the server closes while the client is still sending.
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413 "), "{framing}: {answer}");
    }
    stage.assert_unharmed(&before).await;
}
