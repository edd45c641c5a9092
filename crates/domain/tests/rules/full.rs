//! A store that has too little room: nothing new is stored, and what takes something away continues.

use godwit_domain::actions::Refusal;
use godwit_protocol::ErrorCode;
use godwit_protocol::conversations::UpdateConversation;

use crate::stage::{Stage, text};

fn assert_unavailable<T: std::fmt::Debug>(outcome: Result<T, Refusal>) {
    let refusal = outcome.expect_err("there is no room for it");
    assert_eq!(refusal.code(), ErrorCode::Unavailable, "{refusal}");
}

#[tokio::test]
async fn without_room_people_can_delete_leave_and_be_removed() {
    let stage = Stage::new();
    let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
    let group = stage.group(&[ada, bob, eve, dan]).await;
    let writing = &stage.app.writing;
    let said = stage.say(ada, group, "much").await;
    let timer = UpdateConversation { message_ttl_secs: Some(Some(60)), ..UpdateConversation::default() };
    stage.app.groups.update(ada, group, &timer).await.unwrap();
    stage.say(ada, group, "for a while").await;
    stage.store.fill(true);
    assert_unavailable(writing.send(ada, group, text("more")).await);
    assert_unavailable(writing.edit(ada, said.id, "more".into()).await);
    writing.delete_for_all(ada, said.id).await.unwrap();
    stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    stage.app.groups.leave(dan, group, false).await.unwrap();
    stage.clock.advance_ms(60_000);
    stage.app.sweeper.sweep().await.unwrap();
    let log = stage.log(bob, group).await;
    assert_eq!(log[log.len() - 4..], ["deleted", "member_removed", "member_left", "expired"]);
    stage.store.fill(false);
    writing.send(ada, group, text("more")).await.unwrap();
}

/// In a busy conversation every batch has something that is refused.
#[tokio::test]
async fn a_deletion_is_not_refused_for_the_messages_beside_it() {
    let stage = Stage::new();
    let (ada, bob, chat) = stage.pair().await;
    let writing = &stage.app.writing;
    let said = stage.say(ada, chat, "much").await;
    stage.store.fill(true);
    let (before, deleted, after) = tokio::join!(
        writing.send(bob, chat, text("one")),
        writing.delete_for_all(ada, said.id),
        writing.send(bob, chat, text("two"))
    );
    assert_unavailable(before);
    assert_unavailable(after);
    deleted.unwrap();
    assert_eq!(stage.log(bob, chat).await.last().unwrap(), "deleted");
}
