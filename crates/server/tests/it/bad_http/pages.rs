use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::stage::Stage;
use crate::people::{Person, unique};

/// The lists with cursors, and the parameter for the next page.
const LISTS: &[(&str, &str)] = &[
    ("/v1/conversations?", "after"),
    ("/v1/conversations?archived=true&", "after"),
    ("/v1/users?query=PEOPLE&", "after"),
    ("/v1/blocks?", "after"),
    ("/v1/sync?", "since"),
    ("/v1/stars?", "after"),
    ("/v1/conversations/GROUP/members?", "after"),
    ("/v1/messages/MESSAGE/reactions?", "after"),
    ("/v1/messages/MESSAGE/thread?", "after"),
];

/// The data in the lists.
struct Filled {
    /// The common prefix of the handles.
    people: String,
    group: String,
    /// In the group, with reactions and replies.
    message: String,
}

fn lists(filled: &Filled) -> Vec<(String, &'static str)> {
    let fill = |list: &str| {
        list.replace("PEOPLE", &filled.people)
            .replace("GROUP", &filled.group)
            .replace("MESSAGE", &filled.message)
    };
    LISTS.iter().map(|(list, parameter)| (fill(list), *parameter)).collect()
}

/// Creates two pages for every list.
async fn fill(stage: &Stage) -> Filled {
    let people = unique("page");
    for number in 0..4 {
        let other = Person::register_as(&stage.server.url(), format!("{people}{number}")).await;
        for person in [&stage.ada, &stage.bob] {
            let conversation = person.open_direct(&other).await;
            if number % 2 == 0 {
                let path = format!("/v1/conversations/{conversation}/me");
                let archived = json!({ "archived": true });
                stage.raw.ask("PATCH", &path).by(&person.http).json(&archived).send().await.ok();
            }
            person.http.block(other.id).await.unwrap();
        }
    }
    let group = stage.group.clone();
    let path = format!("/v1/conversations/{group}/messages");
    let send = async |client_id: &str, reply_to: Option<&str>| {
        let mut body = json!({ "client_id": client_id, "kind": "text", "text": "hi" });
        if let Some(message) = reply_to {
            body["reply_to"] = json!(message);
        }
        let sent = stage.ask("POST", &path).json(&body).send().await.ok();
        sent["id"].as_str().unwrap().to_owned()
    };
    let message = send("root", None).await;
    let (first, second) = (send("first", Some(&message)).await, send("second", Some(&message)).await);
    for person in [&stage.ada, &stage.bob] {
        let ask = |path: String| stage.raw.ask("PUT", &path).by(&person.http);
        let reaction = json!({ "reaction": "👍" });
        ask(format!("/v1/messages/{message}/reaction")).json(&reaction).send().await.ok();
        for starred in [&first, &second] {
            ask(format!("/v1/messages/{starred}/star")).send().await.ok();
        }
    }
    Filled { people, group, message }
}

/// A valid cursor of each list for this person.
async fn cursors(stage: &Stage, person: &Person, filled: &Filled) -> Vec<String> {
    let mut cursors = Vec::new();
    for (list, _) in lists(filled) {
        let page = stage.raw.get(&person.http, &format!("{list}limit=1")).await;
        let cursor = page.get("next").or_else(|| page.get("token"));
        cursors.push(cursor.and_then(Value::as_str).unwrap_or_else(|| panic!("{list}: {page}")).to_owned());
    }
    cursors
}

#[tokio::test]
async fn a_page_cursor_is_valid_only_unchanged_for_its_list_and_user() {
    let stage = Stage::start().await;
    let filled = fill(&stage).await;
    let (own, bobs) =
        (cursors(&stage, &stage.ada, &filled).await, cursors(&stage, &stage.bob, &filled).await);
    let before = stage.everything().await;
    for (position, (list, parameter)) in lists(&filled).iter().enumerate() {
        let path = |cursor: &str| format!("{list}{parameter}={cursor}");
        stage.raw.get(&stage.ada.http, &path(&own[position])).await;
        let good = &own[position];
        let mut bad = vec![bobs[position].clone()];
        bad.extend(
            own.iter().enumerate().filter(|(other, _)| *other != position).map(|(_, cursor)| cursor.clone()),
        );
        for at in 0..good.len() {
            let mut tampered = good.clone().into_bytes();
            tampered[at] = if tampered[at] == b'A' { b'B' } else { b'A' };
            bad.push(String::from_utf8(tampered).unwrap());
        }
        bad.extend([
            String::new(),
            good[1..].to_owned(),
            good[..good.len() - 1].to_owned(),
            format!("{good}A"),
        ]);
        bad.extend([
            format!("{good}%3D"),
            format!("{good}%00"),
            "1".to_owned(),
            "%FF%FE".to_owned(),
            "A".repeat(5_000),
        ]);
        for cursor in bad {
            stage.ask("GET", &path(&cursor)).refused(400, ErrorCode::InvalidCursor).await;
        }
    }
    stage.assert_unharmed(&before).await;
}

#[tokio::test]
async fn page_limits_are_enforced() {
    let stage = Stage::start().await;
    let mut checked = 0;
    for operation in
        stage.operations().await.iter().filter(|operation| operation.query.contains(&"limit".to_owned()))
    {
        let joint = if operation.path.contains('?') { '&' } else { '?' };
        let path = |limit: &str| format!("{}{joint}limit={limit}", operation.path);
        let largest = if operation.id == "find_users" { 50 } else { 200 };
        for limit in [1, largest] {
            stage.ask("GET", &path(&limit.to_string())).send().await.ok();
        }
        for limit in [0, largest + 1, 65_535] {
            let problem =
                stage.ask("GET", &path(&limit.to_string())).refused(422, ErrorCode::InvalidField).await;
            assert_eq!(problem.field.as_deref(), Some("limit"));
        }
        for limit in ["", "abc", "-1", "1.5", "1e1", "65536", "99999999999999999999", "%00", "5%20"] {
            stage.ask("GET", &path(limit)).refused(400, ErrorCode::InvalidRequest).await;
        }
        stage.ask("GET", &path("1&limit=2")).refused(400, ErrorCode::InvalidRequest).await;
        checked += 1;
    }
    assert_eq!(
        checked, 12,
        "inbox, users, blocks, history, log, sync, members, bans, receipts, reactions, thread, stars"
    );
    stage.raw.assert_healthy().await;
}

#[tokio::test]
async fn parameters_must_be_known() {
    let stage = Stage::start().await;
    for operation in stage.operations().await.iter().filter(|operation| !operation.query.is_empty()) {
        let joint = if operation.path.contains('?') { '&' } else { '?' };
        for unknown in ["no_such_parameter=1", "Limit=5", "limit[]=5", "=", "offset=10"] {
            let ask = stage.ask(&operation.method, &format!("{}{joint}{unknown}", operation.path));
            ask.refused(400, ErrorCode::InvalidRequest).await;
        }
    }
    for query in ["", "?query=ada&ids=1"] {
        stage.ask("GET", &format!("/v1/users{query}")).refused(400, ErrorCode::InvalidRequest).await;
    }
    let log = format!("/v1/conversations/{}/log", stage.direct);
    stage.ask("GET", &log).refused(400, ErrorCode::InvalidRequest).await;
    for after in ["", "-1", "abc", "1.5", "18446744073709551616"] {
        stage.ask("GET", &format!("{log}?after={after}")).refused(400, ErrorCode::InvalidRequest).await;
    }
    for path in [format!("/v1/conversations/{}", stage.direct), format!("/v1/messages/{}", stage.message)] {
        for query in ["", "?for=", "?for=us", "?for=Me", "?for=me&for=all"] {
            stage.ask("DELETE", &format!("{path}{query}")).refused(400, ErrorCode::InvalidRequest).await;
        }
    }
    for since in ["", "yesterday", "2026-01-01", "0"] {
        let ask = stage.ask("GET", &format!("/v1/conversations/gone?since={since}"));
        ask.refused(400, ErrorCode::InvalidRequest).await;
    }
    for role in ["", "Owner", "king"] {
        let ask = stage.ask("GET", &format!("/v1/conversations/{}/members?role={role}", stage.group));
        ask.refused(400, ErrorCode::InvalidRequest).await;
    }
    for archived in ["", "yes", "1", "TRUE"] {
        let ask = stage.ask("GET", &format!("/v1/conversations?archived={archived}"));
        ask.refused(400, ErrorCode::InvalidRequest).await;
    }
}

#[tokio::test]
async fn a_page_of_history_has_one_position() {
    let stage = Stage::start().await;
    let path = |query: &str| format!("{}?{query}", stage.messages_path());
    let time = "before_time=2999-01-01T00:00:00Z";
    for two in [
        "before=1&after=1",
        "before=1&around=1",
        "after=1&around=1",
        &format!("before=1&{time}"),
        &format!("around=2&{time}"),
    ] {
        stage.ask("GET", &path(two)).refused(400, ErrorCode::InvalidRequest).await;
    }
    for parameter in ["before", "after", "around"] {
        for anchor in ["", "abc", "-1", "1.5", "9223372036854775808", "18446744073709551616", "%00"] {
            let problem = stage
                .ask("GET", &path(&format!("{parameter}={anchor}")))
                .refused(422, ErrorCode::InvalidField)
                .await;
            assert_eq!(problem.field.as_deref(), Some(parameter), "{anchor}");
        }
    }
    for time in ["", "yesterday", "2026-01-01", "2026-13-01T00:00:00Z", "1767225600"] {
        stage.ask("GET", &path(&format!("before_time={time}"))).refused(400, ErrorCode::InvalidRequest).await;
    }
    // A distant position is valid: the page is empty or complete.
    for (far, count) in [
        ("before=9007199254740991", 1),
        ("after=9007199254740991", 0),
        ("after=0", 1),
        ("before=0", 0),
        ("around=0&limit=1", 1),
        ("around=9007199254740991", 1),
        ("before_time=1970-01-01T00:00:00Z", 0),
        ("before_time=9999-12-30T00:00:00Z", 1),
    ] {
        let page = stage.raw.get(&stage.ada.http, &path(far)).await;
        assert_eq!(page["messages"].as_array().unwrap().len(), count, "{far}: {page}");
    }
    let log = format!("/v1/conversations/{}/log?after={}", stage.direct, u64::MAX);
    let page = stage.raw.get(&stage.ada.http, &log).await;
    assert_eq!((&page["truncated"], &page["entries"]), (&Value::Bool(true), &json!([])));
}
