//! A conversation in which actions are tested.

use serde_json::{Value, json};

use crate::groups::{Asker, text};
use crate::people::{later, unique};
use crate::process::ServerProcess;
use crate::unlimited::unlimited;

/// The users, who are the same in every scene, except the actor.
pub(super) struct Cast {
    pub(super) server: ServerProcess,
    /// Creates and owns all groups.
    pub(super) olga: Asker,
    /// An admin who wrote a message.
    pub(super) anna: Asker,
    /// A member.
    pub(super) mia: Asker,
    /// In no conversation.
    pub(super) nina: Asker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Direct,
    /// A group whose members have all permissions, and which anybody may join.
    Group,
    /// A group whose members have no permissions.
    Strict,
    Channel,
}

/// The role of the actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Owner,
    Admin,
    Member,
}

/// The state of the actor or of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Member,
    /// By another user in the conversation.
    Blocked,
    Removed,
    Never,
    Deleted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) kind: Kind,
    pub(super) role: Role,
    pub(super) state: State,
}

pub(super) struct Scene {
    pub(super) conversation: String,
    /// A message of the actor, if they were ever a member.
    pub(super) own: String,
    /// A message of another user.
    pub(super) others: String,
    /// An invite of another user: its id and its token.
    pub(super) invite: (String, String),
    /// A scheduled message of the actor, if they were ever a member.
    pub(super) scheduled: String,
    /// A member other than the actor.
    witness: Asker,
    pub(super) actor: Asker,
}

impl Setting {
    /// The column of the table.
    pub(super) const fn column(self) -> usize {
        let group = match self.kind {
            Kind::Direct => {
                return match self.state {
                    State::Member => 0,
                    State::Blocked => 1,
                    State::Removed | State::Never | State::Deleted => 2,
                };
            }
            Kind::Group => 3,
            Kind::Strict => 9,
            Kind::Channel => 15,
        };
        group
            + match (self.state, self.role) {
                (State::Member | State::Blocked, Role::Owner) => 0,
                (State::Member | State::Blocked, Role::Admin) => 1,
                (State::Member | State::Blocked, Role::Member) => 2,
                (State::Removed, _) => 3,
                (State::Never, _) => 4,
                (State::Deleted, _) => 5,
            }
    }
}

impl Cast {
    pub(super) async fn new() -> Self {
        let server = unlimited().await;
        let [olga, anna, mia, nina] = Asker::register_all(&server, ["olga", "anna", "mia", "nina"]).await;
        Self { server, olga, anna, mia, nina }
    }

    /// A new actor for this setting, so that their socket receives no events of other settings.
    pub(super) async fn actor(&self, setting: Setting) -> Asker {
        let actor = Asker::register(&self.server, "actor").await;
        if setting.state == State::Blocked {
            self.anna.ok("PUT", &format!("/v1/blocks/{}", actor.id()), Value::Null).await;
        }
        actor
    }
}

impl Scene {
    pub(super) async fn set(cast: &Cast, setting: Setting, actor: &Asker) -> Self {
        match setting.kind {
            Kind::Direct => Self::direct(cast, setting, actor).await,
            _ => Self::group(cast, setting, actor).await,
        }
    }

    /// Two people have one conversation, so every scene has another peer.
    async fn direct(cast: &Cast, setting: Setting, actor: &Asker) -> Self {
        let peer = Asker::register(&cast.server, "peer").await;
        let first = if setting.state == State::Never { &cast.nina } else { actor };
        let conversation = open(first, json!({ "kind": "direct", "user_id": peer.id() })).await;
        let own = send(first, &conversation).await;
        let others = send(&peer, &conversation).await;
        let scheduled = match setting.state {
            State::Never => super::super::NOBODY.to_owned(),
            _ => schedule(actor, &conversation).await,
        };
        if setting.state == State::Blocked {
            peer.ok("PUT", &format!("/v1/blocks/{}", first.id()), Value::Null).await;
        }
        let invite = (super::super::NOBODY.to_owned(), "A".repeat(22));
        Self { conversation, own, others, invite, scheduled, witness: peer, actor: actor.clone() }
    }

    async fn group(cast: &Cast, setting: Setting, actor: &Asker) -> Self {
        let Cast { olga, anna, mia, .. } = cast;
        let mut members = vec![anna.id(), mia.id()];
        if setting.state != State::Never {
            members.push(actor.id());
        }
        let kind = if setting.kind == Kind::Channel { "channel" } else { "group" };
        let mut new = json!({ "kind": kind, "name": format!("{setting:?}"), "member_ids": members });
        if setting.kind != Kind::Channel {
            let all = setting.kind == Kind::Group;
            new["permissions"] = json!({
                "anyone_may_join": all, "members_may_send": all, "members_may_add_members": all,
                "members_may_edit": all,
            });
        }
        let conversation = open(olga, new).await;
        let path = format!("/v1/conversations/{conversation}");
        let set_role = async |user: &Asker, role: &str| {
            let path = format!("{path}/members/{}", user.id());
            olga.ok("PATCH", &path, json!({ "role": role })).await;
        };
        set_role(anna, "admin").await;
        let others = send(anna, &conversation).await;
        let (mut own, mut scheduled) = (others.clone(), super::super::NOBODY.to_owned());
        if setting.state != State::Never {
            // An ordinary member of a channel wrote while they were an admin.
            set_role(actor, "admin").await;
            own = send(actor, &conversation).await;
            scheduled = schedule(actor, &conversation).await;
            match setting.role {
                Role::Owner => set_role(actor, "owner").await,
                Role::Admin => {}
                Role::Member => set_role(actor, "member").await,
            }
        }
        let invite = olga.ok("POST", &format!("{path}/invites"), json!({})).await;
        let invite = (text(&invite["id"]), text(&invite["token"]));
        match setting.state {
            State::Removed => {
                olga.ok("DELETE", &format!("{path}/members/{}", actor.id()), Value::Null).await;
            }
            State::Deleted => {
                olga.ok("DELETE", &format!("{path}?for=all"), Value::Null).await;
            }
            State::Member | State::Blocked | State::Never => {}
        }
        Self { conversation, own, others, invite, scheduled, witness: olga.clone(), actor: actor.clone() }
    }

    /// The head of the log. Null if the conversation is deleted.
    pub(super) async fn head(&self) -> Value {
        let path = format!("/v1/conversations/{}", self.conversation);
        let answer = self.witness.ask("GET", &path, &Value::Null).send().await;
        serde_json::from_str::<Value>(&answer.body).unwrap()["head"].take()
    }
}

async fn open(by: &Asker, new: Value) -> String {
    text(&by.ok("POST", "/v1/conversations", new).await["id"])
}

async fn send(by: &Asker, conversation: &str) -> String {
    let body = json!({ "client_id": "first", "kind": "text", "text": "hello" });
    text(&by.ok("POST", &format!("/v1/conversations/{conversation}/messages"), body).await["id"])
}

async fn schedule(by: &Asker, conversation: &str) -> String {
    let message = json!({ "client_id": unique("later"), "kind": "text", "text": "hello" });
    let new = json!({ "conversation_id": conversation, "send_at": later(), "message": message });
    text(&by.ok("POST", "/v1/scheduled", new).await["scheduled"]["id"])
}
