//! What a call does that has to be repeated because its answer was lost: where it is not said elsewhere.

use godwit_protocol::conversations::Role;

use crate::stage::Stage;

#[tokio::test]
async fn what_is_done_to_members_can_be_repeated() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    for _ in 0..2 {
        stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    }
    // Who has handed the group over, or stepped down, may not do it a second time, and need not.
    for _ in 0..2 {
        stage.app.groups.transfer_ownership(ada, group, bob).await.unwrap();
    }
    stage.app.groups.set_role(bob, group, ada, Role::Owner).await.unwrap();
    for _ in 0..2 {
        stage.app.groups.set_role(bob, group, bob, Role::Member).await.unwrap();
    }
    let log = stage.log(ada, group).await;
    assert_eq!(log[1..], ["member_removed", "ownership_transferred", "role_changed", "role_changed"]);
    // It is no way to become something.
    assert!(stage.app.groups.transfer_ownership(bob, group, ada).await.is_err());
    assert!(stage.app.groups.set_role(bob, group, bob, Role::Admin).await.is_err());
}

#[tokio::test]
async fn disabling_somebody_ends_what_they_had_begun() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let eve = stage.user("eve").await;
    let group = stage.group(&[ada, bob]).await;
    let message = stage.say(ada, direct, "before").await;
    let node = stage.second_node();
    stage.app.accounts.set_disabled("ada", true).await.unwrap();
    // Whoever was let in before, on whichever node, is not let through any more.
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
