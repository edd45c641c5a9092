//! Contradicting actions of two users on two nodes with separate caches: every outcome is an allowed one.

use godwit_domain::App;
use godwit_domain::actions::Refusal;
use godwit_domain::model::InviteToken;
use godwit_protocol::conversations::{Role, UpdateConversation, UpdatePermissions};
use godwit_protocol::groups::CreateInvite;

use crate::stage::{Stage, saying};

/// Enough rounds for either to win.
const ROUNDS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_joins_do_not_exceed_the_uses_of_an_invite() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let group = stage.group(&[ada]).await;
    let token = InviteToken::from_bits(7);
    let terms = CreateInvite { uses_max: Some(10), ..CreateInvite::default() };
    stage.app.groups.create_invite(ada, group, terms, token.clone()).await.unwrap();
    let nodes = [stage.app.clone(), stage.second_node()];
    let mut joins = Vec::new();
    for number in 0..50 {
        let (user, node, token) =
            (stage.user(&format!("user{number}")).await, nodes[number % 2].clone(), token.clone());
        joins.push(tokio::spawn(async move { node.groups.join_by_invite(user, token).await }));
    }
    let mut joined = 0;
    for join in joins {
        match join.await.unwrap() {
            Ok(_) => joined += 1,
            Err(refusal) => assert!(matches!(refusal, Refusal::InviteInvalid), "{refusal}"),
        }
    }
    assert_eq!((joined, stage.row(ada, group).await.member_count), (10, 11));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_demotions_leave_one_owner() {
    for _ in 0..ROUNDS {
        let stage = Stage::new();
        let [ada, bob] = stage.users(["ada", "bob"]).await;
        let group = stage.group(&[ada, bob]).await;
        stage.app.groups.set_role(ada, group, bob, Role::Owner).await.unwrap();
        let demote = |node: App, by, whom| {
            tokio::spawn(async move { node.groups.set_role(by, group, whom, Role::Member).await })
        };
        let (one, two) = (demote(stage.app.clone(), ada, bob), demote(stage.second_node(), bob, ada));
        let (one, two) = (one.await.unwrap(), two.await.unwrap());
        assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
        let fresh = stage.second_node();
        let role = async |user| fresh.inbox.conversation(user, group).await.unwrap().me.role;
        assert_eq!([role(ada).await, role(bob).await].iter().filter(|r| **r == Role::Owner).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_deleted_during_an_edit_has_no_content() {
    for _ in 0..ROUNDS {
        let stage = Stage::new();
        let [ada, bob] = stage.users(["ada", "bob"]).await;
        let group = stage.group(&[ada, bob]).await;
        let message = stage.say(ada, group, "a secret").await;
        let node = stage.second_node();
        let (edit, delete) = tokio::join!(
            tokio::spawn({
                let node = node.clone();
                async move { node.writing.edit(ada, message.id, "another secret".into()).await }
            }),
            stage.app.writing.delete_for_all(ada, message.id)
        );
        delete.unwrap();
        let fresh = stage.second_node();
        let found = fresh.reading.message(bob, message.id).await.unwrap();
        assert!(found.deleted_at.is_some() && found.text.is_none());
        let log = fresh.reading.log(bob, group, godwit_protocol::Seq::ZERO, 50).await.unwrap();
        assert!(!serde_json::to_string(&log).unwrap().contains("secret"), "{log:?} after {edit:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joining_during_a_deletion_creates_no_membership() {
    for _ in 0..ROUNDS {
        let stage = Stage::new();
        let [ada, bob] = stage.users(["ada", "bob"]).await;
        let group = stage.group(&[ada]).await;
        let open = UpdatePermissions { anyone_may_join: Some(true), ..UpdatePermissions::default() };
        let open = UpdateConversation { permissions: Some(open), ..UpdateConversation::default() };
        stage.app.groups.update(ada, group, &open).await.unwrap();
        let node = stage.second_node();
        let join = tokio::spawn(async move { node.groups.join(bob, group).await });
        stage.app.groups.delete_for_all(ada, group).await.unwrap();
        drop(join.await.unwrap());
        let fresh = stage.second_node();
        assert!(fresh.inbox.conversation(bob, group).await.is_err());
        let (rows, _) = fresh.inbox.page(bob, false, None, 50).await.unwrap();
        assert!(rows.is_empty());
        assert!(fresh.writing.send(bob, group, saying("x")).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_reactions_are_counted_once_each() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let mut users = vec![ada];
    for number in 0..3 {
        users.push(stage.user(&format!("user{number}")).await);
    }
    let group = stage.group(&users).await;
    let message = stage.say(ada, group, "hello").await;
    let nodes = [stage.app.clone(), stage.second_node()];
    let mut reactions = Vec::new();
    for round in 0..20 {
        for (number, user) in users.iter().copied().enumerate() {
            let node = nodes[(round + number) % 2].clone();
            let reaction = ["+", "!", "?"][round % 3];
            reactions.push(tokio::spawn(async move {
                node.writing.react(user, message.id, Some(reaction.into())).await.unwrap()
            }));
        }
    }
    for reaction in reactions {
        reaction.await.unwrap();
    }
    let fresh = stage.second_node();
    let counts = fresh.reading.message(ada, message.id).await.unwrap().reactions;
    assert_eq!(counts.iter().map(|count| count.count).sum::<u32>(), users.len() as u32, "{counts:?}");
    let (who, _) = fresh.reading.reactions(ada, message.id, None, 50).await.unwrap();
    for count in &counts {
        assert_eq!(who.iter().filter(|who| who.reaction == count.reaction).count(), count.count as usize);
    }
}
