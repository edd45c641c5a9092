//! Stars and scheduled messages.

use godwit_domain::actions::Refusal;
use godwit_domain::personal::PersonalError;
use godwit_protocol::messages::{MessageKind, SendMessage};
use godwit_protocol::personal::{ScheduleMessage, UpdateScheduled};
use godwit_protocol::{ConversationId, ErrorCode, Timestamp};

use crate::stage::Stage;

fn later(conversation_id: ConversationId, client_id: &str, send_at: Timestamp) -> ScheduleMessage {
    let message = SendMessage {
        conversation_id: None,
        client_id: client_id.into(),
        kind: MessageKind::Text,
        text: Some(format!("later {client_id}")),
        media: None,
        event: None,
        reply_to: None,
        forwarded_from: None,
    };
    ScheduleMessage { conversation_id, send_at, message }
}

#[tokio::test]
async fn stars_are_found_again_while_the_message_can_be_seen() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let (one, two) = (stage.say(ada, group, "one").await, stage.say(ada, group, "two").await);
    for message in [two.id, one.id, two.id] {
        stage.app.personal.star(bob, message).await.unwrap();
    }
    let starred = async || {
        let (messages, _) = stage.app.personal.stars(bob, None, 50).await.unwrap();
        messages.into_iter().map(|message| message.id).collect::<Vec<_>>()
    };
    assert_eq!(starred().await, [two.id, one.id]);
    assert!(stage.app.personal.stars(ada, None, 50).await.unwrap().0.is_empty());
    stage.app.personal.unstar(bob, two.id).await.unwrap();
    assert_eq!(starred().await, [one.id]);
    stage.app.groups.remove_member(ada, group, bob).await.unwrap();
    assert!(starred().await.is_empty());
    assert!(matches!(stage.app.personal.star(bob, one.id).await, Err(PersonalError::NotFound)));
}

#[tokio::test]
async fn a_scheduled_message_is_sent_once_when_its_time_comes() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let soon = stage.now().plus_millis(5_000);
    let scheduled = stage.app.personal.schedule(ada, later(direct, "a", soon)).await.unwrap();
    let again = stage.app.personal.schedule(ada, later(direct, "a", soon)).await.unwrap();
    assert_eq!(scheduled.id, again.id);
    stage.app.sweeper.sweep().await.unwrap();
    assert!(stage.history(bob, direct).await.is_empty());
    stage.clock.advance_ms(5_000);
    let node = stage.second_node();
    let (one, two) = tokio::join!(stage.app.sweeper.sweep(), node.sweeper.sweep());
    one.and(two).unwrap();
    node.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
    assert!(stage.app.personal.scheduled(ada).await.unwrap().is_empty());
}

#[tokio::test]
async fn it_can_be_changed_and_cancelled_before() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let one = stage.app.personal.schedule(ada, later(direct, "a", at(5_000))).await.unwrap();
    let two = stage.app.personal.schedule(ada, later(direct, "b", at(4_000))).await.unwrap();
    let listed: Vec<_> =
        stage.app.personal.scheduled(ada).await.unwrap().iter().map(|scheduled| scheduled.id).collect();
    assert_eq!(listed, [two.id, one.id]);
    let change = UpdateScheduled { text: Some("another".into()), ..UpdateScheduled::default() };
    stage.app.personal.update_scheduled(ada, one.id, change).await.unwrap();
    stage.app.personal.cancel_scheduled(ada, two.id).await.unwrap();
    assert!(stage.app.personal.cancel_scheduled(bob, one.id).await.is_err());
    stage.clock.advance_ms(5_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["another"]);
    assert!(matches!(stage.app.personal.cancel_scheduled(ada, one.id).await, Err(PersonalError::NotFound)));
    let past = stage.app.personal.schedule(ada, later(direct, "c", at(-1))).await;
    assert!(matches!(past, Err(PersonalError::Invalid(_))));
}

#[tokio::test]
async fn it_can_be_sent_before_its_time_and_then_only_once() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let scheduled = stage.app.personal.schedule(ada, later(direct, "a", at(5_000))).await.unwrap();
    let by_another = stage.app.personal.send_scheduled_now(bob, scheduled.id).await;
    assert!(matches!(by_another, Err(PersonalError::NotFound)));

    stage.app.people.block(bob, ada).await.unwrap();
    let refused = stage.app.personal.send_scheduled_now(ada, scheduled.id).await;
    assert!(matches!(refused, Err(PersonalError::Refused(Refusal::Blocked))));
    assert_eq!(stage.app.personal.scheduled(ada).await.unwrap()[0].failed, Some(ErrorCode::Blocked));
    stage.app.people.unblock(bob, ada).await.unwrap();

    let sent = stage.app.personal.send_scheduled_now(ada, scheduled.id).await.unwrap();
    assert_eq!(sent.text.as_deref(), Some("later a"));
    assert!(stage.app.personal.scheduled(ada).await.unwrap().is_empty());
    let again = stage.app.personal.send_scheduled_now(ada, scheduled.id).await;
    assert!(matches!(again, Err(PersonalError::NotFound)));
    stage.clock.advance_ms(5_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
}

#[tokio::test]
async fn one_that_may_not_be_sent_says_so_and_can_be_tried_again() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let scheduled = stage.app.personal.schedule(ada, later(direct, "a", at(1_000))).await.unwrap();
    stage.app.people.block(bob, ada).await.unwrap();
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    let failed = stage.app.personal.scheduled(ada).await.unwrap();
    assert_eq!(failed[0].failed, Some(ErrorCode::Blocked));
    stage.app.people.unblock(bob, ada).await.unwrap();
    let again = UpdateScheduled { send_at: Some(at(1_000)), ..UpdateScheduled::default() };
    stage.app.personal.update_scheduled(ada, scheduled.id, again).await.unwrap();
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
}
