//! Every kind of change of a group, each in its own group, so that no change is noticed only because of another one.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::protocol::conversations::{
    DeleteFor, MoveCursor, Role, UpdateConversation, UpdatePermissions,
};
use godwit_client::protocol::groups::CreateInvite;
use godwit_client::protocol::messages::{Change, LogEntry};
use godwit_client::protocol::{ConversationId, ErrorCode, InviteId, MessageId, Seq, UserId};
use godwit_client::{Draft, Error, Http};
use serde_json::Value;
use tokio::time::sleep;

use crate::follower::Follower;
use crate::logs::{assert_rest_of, read_log};
use crate::people::{Person, answered, soon};

const OPENAPI: &str = include_str!("../../../../docs/openapi.json");
/// How long a client stays offline: longer than the activity lag of `sync` on either store, with the settings of
/// [`TestStore`](crate::store::TestStore).
pub(crate) const AWAY: Duration = Duration::from_secs(75);
const STEP: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    Edited,
    Deleted,
    Expired,
    Reacted,
    Pinned,
    Unpinned,
    MembersAdded,
    MemberJoined,
    MemberLeft,
    MemberRemoved,
    MemberBanned,
    MemberUnbanned,
    RoleChanged,
    OwnershipTransferred,
    DetailsChanged,
    InviteCreated,
    InviteRevoked,
    /// No entry: a member has read something.
    Read,
}

impl Kind {
    const ALL: [Self; 19] = [
        Self::Message,
        Self::Edited,
        Self::Deleted,
        Self::Expired,
        Self::Reacted,
        Self::Pinned,
        Self::Unpinned,
        Self::MembersAdded,
        Self::MemberJoined,
        Self::MemberLeft,
        Self::MemberRemoved,
        Self::MemberBanned,
        Self::MemberUnbanned,
        Self::RoleChanged,
        Self::OwnershipTransferred,
        Self::DetailsChanged,
        Self::InviteCreated,
        Self::InviteRevoked,
        Self::Read,
    ];
}

/// Groups without any change yet.
pub(crate) struct Changes {
    groups: Vec<Group>,
}

/// A group that is ready for its change.
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) id: ConversationId,
    owner: Person,
    other: Person,
    message: MessageId,
    message_seq: Seq,
    invite: InviteId,
}

impl Changes {
    /// Creates the groups as the owner; the watcher and the other person are in each. Expiring messages expire after `ttl`;
    /// without one, there are none.
    pub(crate) async fn prepare(
        owner: &Person,
        other: &Person,
        watcher: &Person,
        ttl: Option<Duration>,
    ) -> Self {
        let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Expired || ttl.is_some());
        let ttl = ttl.unwrap_or_default();
        let groups = kinds.map(|kind| Group::prepare(kind, owner, other, watcher.id, ttl));
        Self { groups: join_all(groups).await }
    }

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub(crate) async fn happen(&self) {
        for group in &self.groups {
            group.change().await;
        }
    }

    /// The changes happen spread over this time, each of them until a server answers.
    pub(crate) async fn happen_despite_faults(&self, time: Duration) {
        let step = time / self.groups.len() as u32;
        let changes = self.groups.iter().zip(0..).map(|(group, number)| async move {
            sleep(step * number).await;
            group.change_despite_faults().await;
        });
        join_all(changes).await;
    }

    /// Asserts that the watcher has got every change, and only reads: nothing else tells the watcher of what was missed. The
    /// follower has all entries from the beginning.
    pub(crate) async fn have_reached(self, watcher: &Http, follower: Follower) {
        let mut logs = Vec::new();
        for group in &self.groups {
            if group.kind == Kind::Expired {
                group.disappears(watcher).await;
            }
            let log = read_log(watcher, group.id).await;
            follower.reaches(group.id, log.last().unwrap().seq).await;
            if group.kind == Kind::Read {
                let cursors = watcher.conversation(group.id).await.unwrap().cursors;
                let mark = cursors.into_iter().find(|cursor| cursor.user_id == group.other.id).unwrap();
                assert!(mark.read >= group.message_seq, "{mark:?} was acknowledged");
                follower.is_told_of(group.id, mark).await;
            }
            logs.push((group, log));
        }
        let mut followed = follower.finish().await;
        assert_eq!((followed.resets.len(), followed.all_reset), (0, 0), "the watcher was always caught up");
        for (group, log) in &logs {
            assert_rest_of(log, &format!("the watcher, after {:?}", group.kind), &followed.log(group.id));
        }
        Self::assert_all_kinds(logs.iter().flat_map(|(_, log)| log));
    }

    /// Asserts that these entries contain every kind that a remaining member can get.
    pub(crate) fn assert_all_kinds<'a>(entries: impl IntoIterator<Item = &'a LogEntry>) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let kind = |entry| text(&serde_json::to_value(entry).unwrap()["type"]);
        let seen: BTreeSet<String> = entries.into_iter().map(kind).collect();
        let document: Value = serde_json::from_str(OPENAPI).unwrap();
        let kinds = document["components"]["schemas"]["Change"]["oneOf"].as_array().unwrap();
        let name = |kind: &Value| kind["properties"]["type"]["enum"][0].as_str().map(str::to_owned);
        let parts = |kind: &Value| kind["allOf"].as_array().cloned().unwrap_or_default();
        let kinds: BTreeSet<String> = kinds
            .iter()
            .map(|kind| name(kind).or_else(|| parts(kind).iter().find_map(name)).unwrap())
            .collect();
        let missing: Vec<&String> = kinds.difference(&seen).collect();
        assert_eq!(
            missing,
            ["conversation_deleted", "unknown", "withheld"],
            "kinds of changes that are not made here"
        );
    }
}

impl Group {
    async fn prepare(kind: Kind, owner: &Person, other: &Person, watcher: UserId, ttl: Duration) -> Self {
        let http = &owner.http;
        let members: &[UserId] = match kind {
            Kind::MembersAdded | Kind::MemberJoined => &[watcher],
            _ => &[watcher, other.id],
        };
        let id = answered(async || http.group("birds", members).await).await.conversation.id;
        let update = UpdateConversation {
            permissions: Some(UpdatePermissions {
                anyone_may_join: Some(true),
                ..UpdatePermissions::default()
            }),
            message_ttl_secs: (kind == Kind::Expired).then(|| Some(u32::try_from(ttl.as_secs()).unwrap())),
            ..UpdateConversation::default()
        };
        answered(async || http.update_conversation(id, &update).await).await;
        let draft = Draft::text("before").client_id("before");
        let message = answered(async || http.send_message(id, draft.clone()).await).await;
        let invite = CreateInvite { client_id: Some("before".to_owned()), ..CreateInvite::default() };
        let invite = answered(async || http.create_invite(id, &invite).await).await.id;
        match kind {
            Kind::Unpinned => answered(async || http.pin_message(message.id).await).await,
            Kind::MemberUnbanned => answered(async || http.ban(id, other.id).await).await,
            _ => {}
        }
        let (owner, other) = (owner.clone(), other.clone());
        Self { kind, id, owner, other, message: message.id, message_seq: message.seq, invite }
    }

    async fn change(&self) {
        match self.kind {
            Kind::Expired => self.disappears(&self.owner.http).await,
            _ => answered(async || self.try_to_change().await).await,
        }
    }

    /// Retries the change until a server answers, whatever fails. A message disappears on its own.
    async fn change_despite_faults(&self) {
        let changing = async {
            while let Err(error) = self.try_to_change().await {
                // The first call was carried out: who has left is not told that the group exists.
                if self.kind == Kind::MemberLeft && error.code() == Some(ErrorCode::NotFound) {
                    return;
                }
                assert!(error.is_temporary(), "{:?}: {error:?}", self.kind);
                sleep(STEP).await;
            }
        };
        soon("a change to be answered", changing).await;
    }

    async fn try_to_change(&self) -> Result<(), Error> {
        let (id, message, other) = (self.id, self.message, self.other.id);
        let (http, others) = (&self.owner.http, &self.other.http);
        match self.kind {
            Kind::Message => {
                let draft = Draft::text("after").client_id("after");
                http.send_message(id, draft).await.map(drop)
            }
            Kind::Edited => http.edit_message(message, "after").await.map(drop),
            Kind::Deleted => http.delete_message(message, DeleteFor::All).await,
            Kind::Expired => Ok(()),
            Kind::Reacted => others.react(message, "👍").await.map(drop),
            Kind::Pinned => http.pin_message(message).await,
            Kind::Unpinned => http.unpin_message(message).await,
            Kind::MembersAdded => http.add_members(id, &[other]).await.map(drop),
            Kind::MemberJoined => others.join(id).await.map(drop),
            Kind::MemberLeft => others.leave(id).await,
            Kind::MemberRemoved => http.remove_member(id, other).await,
            Kind::MemberBanned => http.ban(id, other).await,
            Kind::MemberUnbanned => http.unban(id, other).await,
            Kind::RoleChanged => http.set_role(id, other, Role::Admin).await,
            Kind::OwnershipTransferred => http.transfer_ownership(id, other).await,
            Kind::DetailsChanged => {
                let update =
                    UpdateConversation { name: Some("fish".to_owned()), ..UpdateConversation::default() };
                http.update_conversation(id, &update).await.map(drop)
            }
            Kind::InviteCreated => {
                let invite = CreateInvite { client_id: Some("after".to_owned()), ..CreateInvite::default() };
                http.create_invite(id, &invite).await.map(drop)
            }
            Kind::InviteRevoked => http.revoke_invite(id, self.invite).await,
            Kind::Read => {
                let read =
                    MoveCursor { conversation_id: None, delivered: None, read: Some(self.message_seq) };
                others.move_cursor(id, &read).await.map(drop)
            }
        }
    }

    async fn disappears(&self, by: &Http) {
        let disappearing = async {
            let is_end = |entry: &LogEntry| matches!(entry.change, Change::Expired { .. });
            while !read_log(by, self.id).await.iter().any(is_end) {
                sleep(STEP).await;
            }
        };
        soon("a message to disappear", disappearing).await;
    }
}
