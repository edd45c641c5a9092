//! Concurrent contradicting actions, through the whole server and on the store of the run: every outcome is an allowed one.

use futures_util::future::{join, join_all};
use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::{Asker, each, group, text};
use crate::unlimited::unlimited;

/// The number of users who join through a link at once, and the number of its uses.
const COMERS: usize = 50;
const USES_MAX: usize = 10;
/// Enough rounds for either to win.
const ROUNDS: usize = 8;

/// Creates a group and returns its path.
async fn new_group(by: &Asker, members: &[&Asker]) -> String {
    format!("/v1/conversations/{}", group(by, members).await)
}

#[tokio::test]
async fn concurrent_joins_do_not_exceed_the_uses_of_a_link() {
    let server = unlimited().await;
    let ada = Asker::register(&server, "ada").await;
    let comers = join_all((0..COMERS).map(|number| {
        let server = &server;
        async move { Asker::register(server, &format!("user{number}")).await }
    }))
    .await;
    let group = new_group(&ada, &[]).await;
    let invite = ada.ok("POST", &format!("{group}/invites"), json!({ "uses_max": USES_MAX })).await;
    let path = format!("/v1/invites/{}/join", text(&invite["token"]));
    let answers = join_all(comers.iter().map(|comer| comer.ask("POST", &path, &Value::Null).send())).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status >= 300).collect();
    for answer in &refused {
        answer.assert_problem(404, ErrorCode::InviteInvalid);
    }
    assert_eq!(refused.len(), COMERS - USES_MAX);
    assert_eq!(ada.get(&group).await["member_count"], USES_MAX + 1);
}

#[tokio::test]
async fn concurrent_demotions_leave_one_owner() {
    let server = unlimited().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    for _ in 0..ROUNDS {
        let group = new_group(&ada, &[&bob]).await;
        let member = |who: &Asker| format!("{group}/members/{}", who.id());
        ada.ok("PATCH", &member(&bob), json!({ "role": "owner" })).await;
        let demoted = json!({ "role": "member" });
        let (by_ada, by_bob) = join(
            ada.ask("PATCH", &member(&bob), &demoted).send(),
            bob.ask("PATCH", &member(&ada), &demoted).send(),
        )
        .await;
        let mut statuses = [by_ada.status, by_bob.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 403], "{} {}", by_ada.body, by_bob.body);
        let owners = ada.get(&format!("{group}/members?role=owner")).await;
        assert_eq!(each(&owners["members"], "role").len(), 1, "{owners}");
    }
}

#[tokio::test]
async fn a_message_deleted_during_an_edit_has_no_content() {
    let server = unlimited().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    let group = new_group(&ada, &[&bob]).await;
    for round in 0..ROUNDS {
        let new = json!({ "client_id": format!("{round}"), "kind": "text", "text": "a secret" });
        let sent = bob.ok("POST", &format!("{group}/messages"), new).await;
        let path = format!("/v1/messages/{}", text(&sent["id"]));
        let edit = json!({ "text": "another secret" });
        let (edited, deleted) = join(
            bob.ask("PATCH", &path, &edit).send(),
            ada.ask("DELETE", &format!("{path}?for=all"), &Value::Null).send(),
        )
        .await;
        assert!(deleted.status < 300, "{}", deleted.body);
        if edited.status != 200 {
            edited.assert_problem(410, ErrorCode::MessageGone);
        }
        for of in [
            path.clone(),
            format!("{group}/messages"),
            format!("{group}/log"),
            "/v1/conversations".to_owned(),
        ] {
            let shown = bob.ask("GET", &of, &Value::Null).send().await.body;
            assert!(!shown.contains("secret"), "{of}: {shown}");
        }
    }
}

#[tokio::test]
async fn joining_during_a_deletion_creates_no_membership() {
    let server = unlimited().await;
    let [ada, bob] = Asker::register_all(&server, ["ada", "bob"]).await;
    for _ in 0..ROUNDS {
        let group = new_group(&ada, &[]).await;
        ada.ok("PATCH", &group, json!({ "permissions": { "anyone_may_join": true } })).await;
        let (joined, deleted) = join(
            bob.ask("POST", &format!("{group}/join"), &Value::Null).send(),
            ada.ask("DELETE", &format!("{group}?for=all"), &Value::Null).send(),
        )
        .await;
        assert!(deleted.status < 300, "{}", deleted.body);
        if joined.status >= 300 {
            joined.assert_problem(404, ErrorCode::NotFound);
        }
        for who in [&ada, &bob] {
            who.ask("GET", &group, &Value::Null).refused(404, ErrorCode::NotFound).await;
            assert_eq!(who.get("/v1/conversations").await["conversations"], json!([]));
        }
    }
}
