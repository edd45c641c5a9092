//! The table covers every command and route about a conversation, except those listed here.

use std::collections::BTreeSet;

use godwit_client::protocol::socket::Command;

use super::actions::{self, FINAL, HARMLESS, ONLY_HTTP};
use super::scene::{Cast, Kind, Role, Scene, Setting, State};
use super::{TABLE, Transport};
use crate::groups::routes::{fits, operations};

/// Commands that are not about a conversation.
const OTHER_COMMANDS: &[&str] = &["sign_in", "ping", "sync", "watch_presence", "open_conversation"];

/// Routes that are not about a conversation: by tag, and individually.
const OTHER_TAGS: &[&str] = &["Operation", "Accounts", "Sessions", "People", "Sync"];
const OTHER_ROUTES: &[(&str, &str)] = &[
    ("GET", "/v1/conversations"),
    ("POST", "/v1/conversations"),
    ("GET", "/v1/conversations/gone"),
    ("GET", "/v1/refused-groups"),
    ("DELETE", "/v1/refused-groups/{id}"),
    ("GET", "/v1/scheduled"),
    ("GET", "/v1/stars"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_and_route_about_a_conversation_is_in_the_table() {
    let cast = Cast::new().await;
    let setting = Setting { kind: Kind::Group, role: Role::Owner, state: State::Member };
    let actor = cast.actor(setting).await;
    let scene = Scene::set(&cast, setting, &actor).await;
    let (mut commands, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for (action, _) in TABLE {
        let request = actions::request(action, &scene, &cast);
        assert_eq!(request.http.is_some(), actions::has(action, Transport::Http), "{action}");
        assert_eq!(request.command.is_some(), actions::has(action, Transport::Socket), "{action}");
        commands.extend(request.command.map(|(command, _)| command));
        paths.extend(request.http.map(|(method, path, _)| (method, path)));
    }

    commands.extend(OTHER_COMMANDS);
    assert_eq!(commands, Command::NAMES.iter().copied().collect(), "left: those of the table and the others");

    let operations = operations(&actor.raw).await;
    let is_tried = |method: &str, template: &str| {
        paths.iter().any(|(m, path)| *m == method && fits(path.split('?').next().unwrap(), template))
    };
    for operation in &operations {
        let (method, template) = (&*operation.method, &*operation.path);
        let is_other = OTHER_TAGS.contains(&&*operation.tag) || OTHER_ROUTES.contains(&(method, template));
        assert!(
            is_tried(method, template) != is_other,
            "{method} {template} is in the table, or one of the others"
        );
    }
    for (method, path) in OTHER_ROUTES {
        let is_there = operations.iter().any(|one| one.method == *method && one.path == *path);
        assert!(is_there, "there is no {method} {path}");
    }
}

#[test]
fn every_rule_about_actions_matches_an_action_in_the_table() {
    let all: Vec<&str> = TABLE.iter().map(|(action, _)| *action).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "each is there once");
    for action in [ONLY_HTTP, HARMLESS, FINAL].concat() {
        assert!(all.contains(&action), "{action}");
    }
}
