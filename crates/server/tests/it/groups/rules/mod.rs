//! Permissions: every action by every role, in every kind of conversation and every state of it, over HTTP and on the
//! socket.

mod actions;
mod coverage;
mod scene;

use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::Value;

use self::actions::{Request, Trace};
use self::scene::{Cast, Kind, Role, Scene, Setting, State};
use super::Asker;
use crate::raw_socket::RawSocket;

/// The expected results, written by hand. The columns are:
///
/// ```text
/// direct: a member, a blocked one, another user
/// then for a group whose members may do everything, one whose members may do nothing, and a channel:
///         owner, admin, member; a removed user, one who never was a member, a member of a deleted one
///
/// .  succeeds           f  forbidden      w  wrong_kind      b  blocked
/// -  not available      n  not_found      i  invite_invalid
/// ```
///
/// A block changes nothing in groups: there, a blocked user can do what their role allows.
const TABLE: &[(&str, &str)] = &[
    ("look at the conversation", "..n ...nnn ...nnn ...nnn"),
    ("read the history", "..n ...nnn ...nnn ...nnn"),
    ("read the log", "..n ...nnn ...nnn ...nnn"),
    ("list the members", "..n ...nnn ...nnn ...nnn"),
    ("list the pins", "..n ...nnn ...nnn ...nnn"),
    ("list the bans", "wwn ..fnnn ..fnnn ..fnnn"),
    ("list the invites", "wwn ...nnn ...nnn ...nnn"),
    ("look at an invite", "--- .....i .....i .....i"),
    ("read a message", "..n ...nnn ...nnn ...nnn"),
    ("read its versions", "..n ...nnn ...nnn ...nnn"),
    ("read its receipts", "..n ...nnn ...nnn ...nnn"),
    ("read its reactions", "..n ...nnn ...nnn ...nnn"),
    ("read its thread", "..n ...nnn ...nnn ...nnn"),
    ("move the cursor", "..n ...nnn ...nnn ...nnn"),
    ("show that one types", ".bn ...nnn ..fnnn ..fnnn"),
    ("change the own settings", "..n ...nnn ...nnn ...nnn"),
    ("put it first among the pinned ones", "... ...... ...... ......"),
    ("star a message", "..n ...nnn ...nnn ...nnn"),
    ("unstar a message", "... ...... ...... ......"),
    ("schedule a message", "..n ...nnn ...nnn ...nnn"),
    ("change a scheduled message", "..n ....n. ....n. ....n."),
    ("cancel a scheduled message", "..n ....n. ....n. ....n."),
    ("send a scheduled message now", ".bn ...nnn ..fnnn ..fnnn"),
    ("send", ".bn ...nnn ..fnnn ..fnnn"),
    ("reply", ".bn ...nnn ..fnnn ..fnnn"),
    ("edit the own message", ".bn ...nnn ..fnnn ..fnnn"),
    ("edit another's message", "ffn fffnnn fffnnn fffnnn"),
    ("delete the own message", "..n ...nnn ...nnn ...nnn"),
    ("delete another's message", "ffn ..fnnn ..fnnn ..fnnn"),
    ("delete a message for oneself", "..n ...nnn ...nnn ...nnn"),
    ("react", ".bn ...nnn ...nnn ...nnn"),
    ("take the reaction back", ".bn ...nnn ...nnn ...nnn"),
    ("pin a message", ".bn ...nnn ..fnnn ..fnnn"),
    ("unpin a message", ".bn ...nnn ..fnnn ..fnnn"),
    ("rename it", "wwn ...nnn ..fnnn ..fnnn"),
    ("set the timer", ".bn ...nnn ..fnnn ..fnnn"),
    ("change the permissions", "wwn ..fnnn ..fnnn ..fnnn"),
    ("delete it for oneself", "..n ...nnn ...nnn ...nnn"),
    ("delete it for all", "wwn .ffnnn .ffnnn .ffnnn"),
    ("add somebody", "wwn ...nnn ..fnnn ..fnnn"),
    ("remove a member", "wwn ..fnnn ..fnnn ..fnnn"),
    ("remove an admin", "wwn .ffnnn .ffnnn .ffnnn"),
    ("remove an owner", "wwn .ffnnn .ffnnn .ffnnn"),
    ("ban a member", "wwn ..fnnn ..fnnn ..fnnn"),
    ("ban an admin", "wwn .ffnnn .ffnnn .ffnnn"),
    ("ban an owner", "wwn .ffnnn .ffnnn .ffnnn"),
    ("ban somebody else", "wwn ..fnnn ..fnnn ..fnnn"),
    ("lift a ban", "wwn ..fnnn ..fnnn ..fnnn"),
    ("remove oneself", "wwn ...nnn ...nnn ...nnn"),
    ("leave", "wwn ...nnn ...nnn ...nnn"),
    ("change a role", "wwn .ffnnn .ffnnn .ffnnn"),
    ("hand it over", "wwn .ffnnn .ffnnn .ffnnn"),
    ("make an invite", "wwn ...nnn ..fnnn ..fnnn"),
    ("revoke another's invite", "wwn ..fnnn ..fnnn ..fnnn"),
    ("join", "nnn .....n ...nnn ...nnn"),
    ("join by an invite", "--- .....i .....i .....i"),
];

/// Settings that are tested concurrently.
const AT_ONCE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Http,
    Socket,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permissions_match_the_table() {
    let cast = Cast::new().await;
    let settings = settings();
    let tried = futures_util::stream::iter(&settings).map(|setting| try_all(&cast, *setting));
    let wrong: Vec<Vec<String>> = tried.buffer_unordered(AT_ONCE).collect().await;
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{} answers are not those of the table:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every role in every kind and state of a conversation.
fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for state in [State::Member, State::Blocked, State::Never] {
        settings.push(Setting { kind: Kind::Direct, role: Role::Member, state });
    }
    for kind in [Kind::Group, Kind::Strict, Kind::Channel] {
        for state in [State::Member, State::Blocked, State::Removed, State::Deleted] {
            let roles = [Role::Owner, Role::Admin, Role::Member];
            settings.extend(roles.map(|role| Setting { kind, role, state }));
        }
        settings.push(Setting { kind, role: Role::Member, state: State::Never });
    }
    settings
}

/// Runs all actions in one setting. Refused actions and reads leave no trace: they share one conversation, whose log must
/// not grow. Actions with entries share another one, and each final action has its own.
async fn try_all(cast: &Cast, setting: Setting) -> Vec<String> {
    let (mut traceless, mut again, mut once) = (Vec::new(), Vec::new(), Vec::new());
    for (action, row) in TABLE {
        let expected = column(row, setting);
        for transport in [Transport::Http, Transport::Socket] {
            if expected == '-' || !actions::has(action, transport) {
                continue;
            }
            let trace = if expected == '.' { actions::trace(action) } else { Trace::Nothing };
            let cases = match trace {
                Trace::Nothing => &mut traceless,
                Trace::Entry => &mut again,
                Trace::Wreck => &mut once,
            };
            cases.push((*action, transport, expected));
        }
    }
    let actor = cast.actor(setting).await;
    let (quiet, busy, fresh) = tokio::join!(
        Scene::set(cast, setting, &actor),
        Scene::set(cast, setting, &actor),
        join_all(once.iter().map(|_| Scene::set(cast, setting, &actor))),
    );
    let before = quiet.head().await;
    let mut socket = actor.socket(&cast.server).await;
    let mut wrong = Vec::new();
    let cases = traceless.iter().map(|case| (case, &quiet));
    let cases = cases.chain(again.iter().map(|case| (case, &busy))).chain(once.iter().zip(&fresh));
    for ((action, transport, expected), scene) in cases {
        let request = actions::request(action, scene, cast);
        let answer = answer(&actor, &mut socket, *transport, request).await;
        let right = meaning(*expected);
        if answer.as_deref() != right {
            wrong.push(format!("{action} by {transport:?} in {setting:?}: {answer:?}, and not {right:?}"));
        }
    }
    if quiet.head().await != before {
        wrong.push(format!("something that was refused is in the log: {setting:?}"));
    }
    wrong
}

/// The code of the refusal. `None` if it succeeded.
async fn answer(
    actor: &Asker,
    socket: &mut RawSocket,
    transport: Transport,
    request: Request,
) -> Option<String> {
    let code = |problem: &Value| super::text(&problem["code"]);
    match transport {
        Transport::Http => {
            let (method, path, body) = request.http.expect("it can be asked by HTTP");
            let answer = actor.ask(method, &path, &body).send().await;
            let is_done = (200..300).contains(&answer.status);
            (!is_done).then(|| code(&serde_json::from_str(&answer.body).unwrap()))
        }
        Transport::Socket => {
            let (command, body) = request.command.expect("it can be asked on the socket");
            socket.call(command, body).await.get("error").map(code)
        }
    }
}

fn column(row: &str, setting: Setting) -> char {
    let columns: Vec<char> = row.chars().filter(|c| *c != ' ').collect();
    assert_eq!(columns.len(), 21, "{row}");
    columns[setting.column()]
}

fn meaning(expected: char) -> Option<&'static str> {
    match expected {
        '.' => None,
        'f' => Some("forbidden"),
        'w' => Some("wrong_kind"),
        'b' => Some("blocked"),
        'n' => Some("not_found"),
        'i' => Some("invite_invalid"),
        other => panic!("{other} means nothing"),
    }
}
