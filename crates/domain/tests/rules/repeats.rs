//! Retries after a lost answer, for calls that no other test covers.

use godwit_domain::model::InviteToken;
use godwit_protocol::conversations::{NewConversation, Role};
use godwit_protocol::groups::CreateInvite;
use godwit_testkit::Lost;

use crate::stage::{ADDING, Stage};

#[tokio::test]
async fn membership_changes_are_idempotent() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    for _ in 0..2 {
        stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    }
    // A user who has transferred the ownership, or stepped down, may not do it again, and need not.
    for _ in 0..2 {
        stage.app.groups.transfer_ownership(ada, group, bob).await.unwrap();
    }
    stage.app.groups.set_role(bob, group, ada, Role::Owner).await.unwrap();
    for _ in 0..2 {
        stage.app.groups.set_role(bob, group, bob, Role::Member).await.unwrap();
    }
    let log = stage.log(ada, group).await;
    assert_eq!(log[1..], ["member_removed", "ownership_transferred", "role_changed", "role_changed"]);
    // A retry gives no rights.
    assert!(stage.app.groups.transfer_ownership(bob, group, ada).await.is_err());
    assert!(stage.app.groups.set_role(bob, group, bob, Role::Admin).await.is_err());
}

#[tokio::test]
async fn a_disabled_user_has_no_access_on_any_node() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let eve = stage.user("eve").await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, direct, "before").await;
    let node = stage.second_node();
    stage.app.accounts.set_disabled("ada", true).await.unwrap();
    // A disabled user has no access any more, on whichever node they had it before.
    for app in [stage.app.clone(), node] {
        use godwit_domain::actions::Refusal::Disabled;
        let sent = app.writing.send(ada, direct, crate::stage::saying("after")).await;
        assert!(matches!(sent, Err(Disabled)), "{sent:?}");
        assert!(matches!(app.writing.react(ada, message.id, Some("+".into())).await, Err(Disabled)));
        assert!(matches!(app.groups.remove_member(ada, group, bob).await, Err(Disabled)));
        assert!(matches!(app.groups.add_members(ada, group, &[eve]).await, Err(Disabled)));
    }
    assert_eq!(stage.history(bob, direct).await, ["before"]);
}

/// Even if the first call has used up the daily allowance, and whatever has happened to the added users.
#[tokio::test]
async fn creating_a_group_is_idempotent() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    stage.app.people.block(eve, ada).await.unwrap();
    let mut member_ids = vec![bob, eve];
    for number in 0..ADDING.strangers_per_day_max - 2 {
        member_ids.push(stage.user(&format!("person{number}")).await);
    }
    let new = NewConversation {
        name: "Birds".into(),
        client_id: Some("birds".into()),
        member_ids: member_ids.clone(),
        ..NewConversation::default()
    };
    let made = stage.app.groups.create(ada, false, new.clone()).await.unwrap();
    let id = made.opened.conversation.id;
    stage.app.people.unblock(eve, ada).await.unwrap();
    stage.app.groups.leave(bob, id, false).await.unwrap();
    for app in [&stage.app, &stage.second_node()] {
        let again = app.groups.create(ada, false, new.clone()).await.unwrap();
        assert!(!again.opened.made && again.opened.conversation.id == id);
        let added = |user| again.members.iter().find(|member| member.user_id == user).unwrap().added;
        assert_eq!((added(bob), added(eve)), (true, false), "as it was then");
    }
    // A retry does not count.
    let added = stage.app.groups.add_members(ada, id, &[bob]).await.unwrap();
    assert!(added[0].added);
}

/// An action that finds its change already decided is answered only once that change is durable.
#[tokio::test]
async fn a_repeated_action_fails_if_the_batch_of_the_first_fails() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    stage.app.groups.set_role(ada, group, bob, Role::Admin).await.unwrap();
    let message = stage.say(ada, group, "a mistake").await;
    // Both are in one batch, which the store cannot write.
    stage.store.lose([Lost::Request]);
    let (one, two) = tokio::join!(
        stage.app.writing.delete_for_all(ada, message.id),
        stage.app.writing.delete_for_all(bob, message.id)
    );
    assert_eq!((one.is_err(), two.is_err()), (true, true), "{one:?} {two:?}");
    assert!(stage.app.reading.message(eve, message.id).await.unwrap().deleted_at.is_none());
}

/// Two concurrent requests with one client id create one link, and both get it.
#[tokio::test]
async fn concurrent_requests_for_an_invite_link_create_one() {
    let stage = Stage::new();
    let ada = stage.user("ada").await;
    let group = stage.group(&[ada]).await;
    let terms = || CreateInvite { client_id: Some("link".into()), ..CreateInvite::default() };
    let (one, two) = tokio::join!(
        stage.app.groups.create_invite(ada, group, terms(), InviteToken::from_bits(1)),
        stage.app.groups.create_invite(ada, group, terms(), InviteToken::from_bits(2))
    );
    assert_eq!(one.unwrap().0.id, two.unwrap().0.id);
}
