use godwit_client::protocol::ErrorCode;
use serde_json::{Value, json};

use super::Visitor;
use crate::groups::{NOBODY, each, text};

pub(super) async fn all([ada, bob, eve, kim]: &[Visitor; 4]) {
    let group = ada.make("group", "Members", &[bob]).await;
    let path = format!("/v1/conversations/{group}");
    adding_and_listing(ada, [bob, eve, kim], &path).await;
    roles(ada, bob, eve, &path).await;
    bans(ada, eve, &path).await;
    invites(ada, eve, kim, &path).await;
    joining(ada, kim).await;
}

async fn adding_and_listing(ada: &Visitor, [bob, eve, kim]: [&Visitor; 3], path: &str) {
    let members = format!("{path}/members");
    let users = json!({ "user_ids": [eve.id(), bob.id(), NOBODY, kim.id()] });
    let added = ada.ok("POST", &members, users).await;
    assert_eq!(each(&added["results"], "added"), [true, false, false, true]);
    let errors = each(&added["results"], "error");
    assert_eq!((errors[1], errors[2]), (&json!("already_member"), &json!("not_found")));

    let owners = ada.get(&format!("{members}?role=owner")).await;
    assert_eq!(each(&owners["members"], "id"), [&ada.id()]);
    let named = ada.get(&format!("{members}?query={}", bob.asker.person.handle)).await;
    assert_eq!(each(&named["members"], "role"), ["member"]);
    assert_eq!((&named["members"][0]["id"], named["members"][0]["joined_at"].is_string()), (&bob.id(), true));
    let (mut seen, mut next) = (Vec::new(), String::new());
    loop {
        let page = bob.get(&format!("{members}?limit=3{next}")).await;
        seen.extend(each(&page["members"], "id").into_iter().cloned());
        match page["next"].as_str() {
            Some(cursor) => next = format!("&after={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 4);
    assert!([ada, bob, eve, kim].iter().all(|member| seen.contains(&member.id())));
}

async fn roles(ada: &Visitor, bob: &Visitor, eve: &Visitor, path: &str) {
    let member = |user: &Visitor| format!("{path}/members/{}", user.asker.id());
    ada.done("PATCH", &member(bob), json!({ "role": "admin" })).await;
    assert_eq!(bob.get(path).await["me"]["role"], "admin");
    bob.done("DELETE", &member(eve), Value::Null).await;
    eve.asker.ask("GET", path, &Value::Null).refused(404, ErrorCode::NotFound).await;
    ada.done("PUT", &format!("{path}/owner"), json!({ "user_id": bob.id() })).await;
    assert_eq!(
        (&bob.get(path).await["me"]["role"], &ada.get(path).await["me"]["role"]),
        (&json!("owner"), &json!("admin"))
    );
    bob.done("PUT", &format!("{path}/owner"), json!({ "user_id": ada.id() })).await;
    bob.done("POST", &format!("{path}/leave"), Value::Null).await;
    bob.asker.ask("POST", &format!("{path}/leave"), &Value::Null).refused(404, ErrorCode::NotFound).await;
}

async fn bans(ada: &Visitor, eve: &Visitor, path: &str) {
    let bans = format!("{path}/bans");
    let banned = format!("{bans}/{}", eve.asker.id());
    ada.done("PUT", &banned, Value::Null).await;
    assert_eq!(each(&ada.get(&bans).await["bans"], "id"), [&eve.id()]);
    let added = ada.ok("POST", &format!("{path}/members"), json!({ "user_ids": [eve.id()] })).await;
    assert_eq!(added["results"][0]["error"], "banned");
    ada.done("DELETE", &banned, Value::Null).await;
    assert!(each(&ada.get(&bans).await["bans"], "id").is_empty());
}

async fn invites(ada: &Visitor, eve: &Visitor, kim: &Visitor, path: &str) {
    let created = ada.send("POST", &format!("{path}/invites"), json!({ "uses_max": 1 })).await;
    assert_eq!(created.status, 201);
    let invite = created.ok();
    let link = format!("/v1/invites/{}", text(&invite["token"]));
    let preview = eve.get(&link).await;
    assert_eq!((&preview["name"], &preview["member"]), (&json!("Members"), &json!(false)));
    assert_eq!(kim.get(&link).await["member"], true);
    kim.ok("POST", &format!("{link}/join"), Value::Null).await;
    let joined = eve.ok("POST", &format!("{link}/join"), Value::Null).await;
    assert_eq!(joined["me"]["role"], "member", "who is a member already did not use it up");
    eve.done("DELETE", &format!("{path}/members/{}", eve.asker.id()), Value::Null).await;
    for (method, rest) in [("GET", ""), ("POST", "/join")] {
        let ask = eve.asker.ask(method, &format!("{link}{rest}"), &Value::Null);
        ask.refused(404, ErrorCode::InviteInvalid).await;
    }

    let invite = ada.ok("POST", &format!("{path}/invites"), json!({})).await;
    assert_eq!(each(&ada.get(&format!("{path}/invites")).await["invites"], "id"), [&invite["id"]]);
    assert_eq!(kim.get(&format!("{path}/invites")).await["invites"], json!([]), "others see their own");
    ada.done("DELETE", &format!("{path}/invites/{}", text(&invite["id"])), Value::Null).await;
    let link = format!("/v1/invites/{}/join", text(&invite["token"]));
    eve.asker.ask("POST", &link, &Value::Null).refused(404, ErrorCode::InviteInvalid).await;
}

async fn joining(ada: &Visitor, kim: &Visitor) {
    let open = json!({ "kind": "channel", "name": "Open", "permissions": { "anyone_may_join": true } });
    let open = text(&ada.ok("POST", "/v1/conversations", open).await["id"]);
    let joined = kim.ok("POST", &format!("/v1/conversations/{open}/join"), Value::Null).await;
    assert_eq!((&joined["member_count"], &joined["me"]["role"]), (&json!(2), &json!("member")));
    let log = kim.get(&format!("/v1/conversations/{open}/log?after=1")).await;
    assert_eq!(each(&log["entries"], "type"), ["member_joined"]);
}
