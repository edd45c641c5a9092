//! A client that was away and catches up through `sync` alone has the same state as one that was always connected.

use std::collections::BTreeMap;

use godwit_domain::model::InviteToken;
use godwit_domain::ports::Store;
use godwit_domain::sync::SyncToken;
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::conversations::{Role, UpdateConversation};
use godwit_protocol::groups::CreateInvite;
use godwit_protocol::messages::Message;
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::stage::Stage;

/// The state of a client.
struct Replica {
    user: UserId,
    token: Option<SyncToken>,
    heads: BTreeMap<ConversationId, Seq>,
    cursors: BTreeMap<(ConversationId, UserId), (Seq, Seq)>,
}

impl Replica {
    async fn new(stage: &Stage, user: UserId) -> Self {
        let mut replica = Self { user, token: None, heads: BTreeMap::new(), cursors: BTreeMap::new() };
        replica.sync(stage).await;
        for id in replica.heads.keys().copied().collect::<Vec<_>>() {
            for cursor in stage.row(user, id).await.cursors {
                replica.cursors.insert((id, cursor.user_id), (cursor.delivered, cursor.read));
            }
        }
        replica
    }

    async fn sync(&mut self, stage: &Stage) {
        loop {
            let (page, token) = stage.app.sync.since(self.user, self.token, 2).await.unwrap();
            assert!(!page.truncated);
            for conversation in &page.conversations {
                assert!(conversation.cursors.is_empty(), "a list has no cursors");
                self.heads.insert(conversation.id, conversation.head);
            }
            for moved in &page.cursors {
                assert!(self.token.is_some(), "one that is opened has them all");
                for cursor in &moved.cursors {
                    let marks = (cursor.delivered, cursor.read);
                    self.cursors.insert((moved.conversation_id, cursor.user_id), marks);
                }
            }
            self.token = Some(token);
            if !page.more {
                return;
            }
        }
    }

    async fn is_up_to_date(&self, stage: &Stage, what: &str) {
        for (id, head) in &self.heads {
            let now = stage.row(self.user, *id).await;
            assert_eq!(*head, now.head, "{what}");
            for cursor in now.cursors {
                let known = self.cursors.get(&(*id, cursor.user_id)).copied().unwrap_or_default();
                assert_eq!(known, (cursor.delivered, cursor.read), "{what}");
            }
        }
    }
}

/// Changes without activity, and activity.
const CHANGES: [&str; 16] = [
    "edit",
    "react",
    "take back",
    "pin",
    "unpin",
    "rename",
    "role",
    "invite",
    "revoke",
    "delete",
    "expire",
    "delivered",
    "read",
    "message",
    "guest",
    "leave",
];

struct Talk {
    id: ConversationId,
    owner: UserId,
    other: UserId,
    message: Message,
}

impl Talk {
    async fn change(&mut self, stage: &Stage, what: &str) {
        let Self { id, owner, other, message } = self;
        let (id, owner, other, app) = (*id, *owner, *other, &stage.app);
        match what {
            "edit" => {
                *message = stage.say(owner, id, "old").await;
                stage.clock.advance_ms(AWAY_MS);
                app.writing.edit(owner, message.id, "new".into()).await.unwrap();
            }
            "react" => drop(app.writing.react(other, message.id, Some("+".into())).await.unwrap()),
            "take back" => drop(app.writing.react(other, message.id, None).await.unwrap()),
            "pin" => app.writing.pin(owner, message.id).await.unwrap(),
            "unpin" => app.writing.unpin(owner, message.id).await.unwrap(),
            "rename" => {
                let update = UpdateConversation { name: Some(stage.now().to_string()), ..Default::default() };
                app.groups.update(owner, id, &update).await.unwrap();
            }
            "role" => app.groups.set_role(owner, id, other, Role::Admin).await.unwrap(),
            "invite" => {
                let token = InviteToken::from_bits(u128::from(id.get()));
                drop(app.groups.create_invite(owner, id, CreateInvite::default(), token).await.unwrap());
            }
            "revoke" => {
                let invites = app.groups.invites(owner, id).await.unwrap();
                app.groups.revoke_invite(owner, id, invites[0].id).await.unwrap();
            }
            "delete" => {
                let message = stage.say(owner, id, "a mistake").await;
                stage.clock.advance_ms(AWAY_MS);
                app.writing.delete_for_all(owner, message.id).await.unwrap();
            }
            "expire" => {
                let timer = |secs| UpdateConversation { message_ttl_secs: Some(secs), ..Default::default() };
                app.groups.update(owner, id, &timer(Some(5))).await.unwrap();
                stage.say(owner, id, "a secret").await;
                app.groups.update(owner, id, &timer(None)).await.unwrap();
                stage.clock.advance_ms(AWAY_MS);
                app.sweeper.sweep().await.unwrap();
            }
            "delivered" | "read" => {
                let head = stage.row(owner, id).await.head;
                let read = (what == "read").then_some(head);
                app.cursors.advance(other, id, Some(head), read).await.unwrap();
                app.cursors.flush().await.unwrap();
            }
            "message" => *message = stage.say(other, id, "hello").await,
            "guest" => {
                let guest = stage.user(&format!("guest{}", id.get() % 100_000)).await;
                app.groups.add_members(owner, id, &[guest]).await.unwrap();
            }
            "leave" => app.groups.leave(other, id, false).await.unwrap(),
            _ => unreachable!("{what}"),
        }
        if what == "message" {
            *message = stage.say(owner, id, "hello yourself").await;
        }
    }
}

/// Longer than every look-back.
const AWAY_MS: i64 = 20 * 60_000;

async fn talks(stage: &Stage, names: &str) -> (UserId, Vec<Talk>) {
    let users = {
        let mut users = Vec::new();
        for number in 0..5 {
            users.push(stage.user(&format!("{names}{number}")).await);
        }
        users
    };
    let group = stage.group(&users[..3]).await;
    let channel = stage.channel(&users[..3]).await;
    let large = stage.group(&users).await;
    let mut talks = Vec::new();
    for id in [group, channel, large] {
        let message = stage.say(users[0], id, "first").await;
        talks.push(Talk { id, owner: users[0], other: users[1], message });
    }
    (users[2], talks)
}

#[tokio::test]
async fn a_returning_client_is_up_to_date_after_each_change() {
    let stage = Stage::new();
    let (reader, mut talks) = talks(&stage, "user").await;
    assert!(AWAY_MS > 2 * stage.store.activity_lag_ms());
    let mut replica = Replica::new(&stage, reader).await;
    for talk in &mut talks {
        for what in CHANGES {
            stage.clock.advance_ms(AWAY_MS);
            replica.sync(&stage).await;
            stage.clock.advance_ms(AWAY_MS);
            if what == "role" || !(talk.is_channel(&stage, reader).await && what == "message") {
                talk.change(&stage, what).await;
            }
            replica.sync(&stage).await;
            replica.is_up_to_date(&stage, what).await;
        }
    }
}

#[tokio::test]
async fn a_returning_client_is_up_to_date_after_all_changes() {
    let stage = Stage::new();
    let (reader, mut talks) = talks(&stage, "user").await;
    let mut replica = Replica::new(&stage, reader).await;
    stage.clock.advance_ms(AWAY_MS);
    replica.sync(&stage).await;
    for what in CHANGES {
        for talk in &mut talks {
            stage.clock.advance_ms(7_000);
            if !(talk.is_channel(&stage, reader).await && what == "message") {
                talk.change(&stage, what).await;
            }
        }
    }
    replica.sync(&stage).await;
    replica.is_up_to_date(&stage, "all of them").await;
}

/// A user who hides read marks also hides that they have moved.
#[tokio::test]
async fn sync_omits_hidden_cursor_moves() {
    let stage = Stage::new();
    let (ada, bob, id) = stage.pair().await;
    let head = stage.say(bob, id, "hello").await.seq;
    let said = stage.say(ada, id, "who is there?").await.seq;
    let mut replica = Replica::new(&stage, ada).await;
    let off = UpdateMe { read_receipts: Some(false), ..UpdateMe::default() };
    stage.app.accounts.update_me(bob, off).await.unwrap();
    let mut moves = async |delivered, read| {
        stage.clock.advance_ms(AWAY_MS);
        replica.sync(&stage).await;
        let token = replica.token;
        stage.app.cursors.advance(bob, id, Some(delivered), Some(read)).await.unwrap();
        stage.app.cursors.flush().await.unwrap();
        let page = stage.app.sync.since(ada, token, 10).await.unwrap().0;
        assert_eq!(page.conversations.len(), page.cursors.len());
        page.cursors.into_iter().flat_map(|moved| moved.cursors).map(|to| (to.delivered, to.read)).collect()
    };
    let nothing: [(Seq, Seq); 0] = [];
    let told: Vec<(Seq, Seq)> = moves(said, head).await;
    assert_eq!(told, [(said, Seq::ZERO)], "that it was delivered is told");
    assert_eq!(moves(said, said).await, nothing, "that it was read is not");
    let (next, _) = (stage.say(ada, id, "one more").await, stage.say(ada, id, "and another").await);
    assert_eq!(moves(next.seq, said).await, [(next.seq, Seq::ZERO)], "the delivery of an older message is");
    assert_eq!(moves(next.seq, next.seq).await, nothing);
    let said = next.seq.next();
    assert_eq!(moves(said, said).await, [(said, Seq::ZERO)], "a mark that moves because it was read");
    let said = stage.say(ada, id, "and this?").await.seq;
    stage.app.people.block(bob, ada).await.unwrap();
    assert_eq!(moves(said, said).await, nothing, "a block hides deliveries too");
    assert_eq!(stage.row(ada, id).await.cursors.len(), 1, "also in the conversation");
    stage.app.people.unblock(bob, ada).await.unwrap();
    stage
        .app
        .accounts
        .update_me(bob, UpdateMe { read_receipts: Some(true), ..UpdateMe::default() })
        .await
        .unwrap();
    let said = stage.say(ada, id, "and now?").await.seq;
    stage.app.people.block(bob, ada).await.unwrap();
    assert_eq!(moves(head, said).await, nothing, "nor anything of who has blocked one");
    stage.app.people.unblock(bob, ada).await.unwrap();
    let said = stage.say(ada, id, "still there?").await.seq;
    assert_eq!(moves(said, said).await, [(said, said)]);
}

/// The store gets both moves at once.
#[tokio::test]
async fn the_time_of_a_delivery_does_not_reveal_when_the_message_was_read() {
    let stage = Stage::new();
    let (ada, bob, id) = stage.pair().await;
    let first = stage.say(ada, id, "one").await;
    stage.say(ada, id, "two").await;
    let off = UpdateMe { read_receipts: Some(false), ..UpdateMe::default() };
    stage.app.accounts.update_me(bob, off).await.unwrap();
    let mut replica = Replica::new(&stage, ada).await;
    stage.clock.advance_ms(AWAY_MS);
    replica.sync(&stage).await;
    stage.app.cursors.advance(bob, id, Some(first.seq), None).await.unwrap();
    let delivered_at = stage.now();
    stage.clock.advance_ms(300);
    stage.app.cursors.advance(bob, id, None, Some(first.seq)).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    replica.sync(&stage).await;
    replica.is_up_to_date(&stage, "delivered").await;
    let receipts = stage.app.reading.receipts(ada, first.id, None, 10).await.unwrap().0.receipts;
    assert_eq!((receipts[0].delivered_at, receipts[0].read_at), (Some(delivered_at), None));
}

#[tokio::test]
async fn a_returning_client_is_up_to_date_on_another_node() {
    let stage = Stage::new();
    let (reader, mut talks) = talks(&stage, "user").await;
    let mut replica = Replica::new(&stage, reader).await;
    stage.clock.advance_ms(AWAY_MS);
    replica.sync(&stage).await;
    stage.clock.advance_ms(AWAY_MS);
    talks[0].change(&stage, "react").await;
    talks[0].change(&stage, "read").await;
    let (page, _) = stage.second_node().sync.since(reader, replica.token, 50).await.unwrap();
    assert_eq!(page.conversations.iter().map(|row| row.id).collect::<Vec<_>>(), [talks[0].id]);
    assert_eq!(page.cursors.len(), 1, "only what moved");
    assert_eq!(
        page.cursors[0].cursors.iter().map(|cursor| cursor.user_id).collect::<Vec<_>>(),
        [talks[0].other]
    );
}

impl Talk {
    /// Members of a channel do not write.
    async fn is_channel(&self, stage: &Stage, reader: UserId) -> bool {
        let row = stage.row(reader, self.id).await;
        row.permissions.is_some_and(|permissions| !permissions.members_may_send)
    }
}
