//! Stars and scheduled messages.

use godwit_domain::actions::Refusal;
use godwit_domain::personal::PersonalError;
use godwit_domain::ports::PersonalStore;
use godwit_protocol::limits::{SCHEDULED_SENT_KEPT_HOURS, SCHEDULED_SENT_KEPT_MAX};
use godwit_protocol::messages::{MessageKind, SendMessage};
use godwit_protocol::personal::{ScheduleMessage, Scheduled, UpdateScheduled};
use godwit_protocol::{ConversationId, ErrorCode, Timestamp, UserId};
use godwit_testkit::Moment;

use crate::stage::Stage;

fn later(conversation_id: ConversationId, client_id: &str, send_at: Timestamp) -> ScheduleMessage {
    let message = SendMessage {
        conversation_id: None,
        client_id: client_id.into(),
        kind: Some(MessageKind::Text),
        text: Some(format!("later {client_id}")),
        media: None,
        event: None,
        data: None,
        reply_to: None,
        forwarded_from: None,
    };
    ScheduleMessage { conversation_id, send_at, message }
}

/// Schedules a message.
async fn schedule(stage: &Stage, by: UserId, request: ScheduleMessage) -> Scheduled {
    stage.app.personal.schedule(by, request).await.unwrap().scheduling.scheduled.unwrap()
}

#[tokio::test]
async fn stars_are_listed_while_the_message_is_visible() {
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
    let scheduled = schedule(&stage, ada, later(direct, "a", soon)).await;
    let again = schedule(&stage, ada, later(direct, "a", soon)).await;
    assert_eq!(scheduled.id, again.id);
    stage.app.sweeper.sweep().await.unwrap();
    assert!(stage.history(bob, direct).await.is_empty());
    stage.clock.advance_ms(5_000);
    let node = stage.second_node();
    let (one, two) = tokio::join!(stage.app.sweeper.sweep(), node.sweeper.sweep());
    one.and(two).unwrap();
    node.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
    assert!(stage.app.personal.scheduled(ada, None).await.unwrap().0.is_empty());
}

#[tokio::test]
async fn a_scheduled_message_can_be_changed_and_cancelled() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let one = schedule(&stage, ada, later(direct, "a", at(5_000))).await;
    let two = schedule(&stage, ada, later(direct, "b", at(4_000))).await;
    let listed: Vec<_> = stage
        .app
        .personal
        .scheduled(ada, None)
        .await
        .unwrap()
        .0
        .iter()
        .map(|scheduled| scheduled.id)
        .collect();
    assert_eq!(listed, [two.id, one.id]);
    let change = UpdateScheduled { text: Some("another".into()), ..UpdateScheduled::default() };
    stage.app.personal.update_scheduled(ada, one.id, change).await.unwrap();
    stage.app.personal.cancel_scheduled(ada, two.id).await.unwrap();
    assert!(stage.app.personal.cancel_scheduled(bob, one.id).await.is_err());
    stage.clock.advance_ms(5_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["another"]);
    assert!(matches!(stage.app.personal.cancel_scheduled(ada, one.id).await, Err(PersonalError::TooLate)));
    assert!(matches!(stage.app.personal.cancel_scheduled(ada, two.id).await, Err(PersonalError::NotFound)));
    let past = stage.app.personal.schedule(ada, later(direct, "c", at(-1))).await;
    assert!(matches!(past, Err(PersonalError::Invalid(_))));
}

#[tokio::test]
async fn the_sweeper_does_not_undo_an_acknowledged_change() {
    for puts_off in [false, true] {
        let stage = Stage::new();
        let (ada, bob, direct) = stage.pair().await;
        let one = schedule(&stage, ada, later(direct, "a", stage.now().plus_millis(1_000))).await;
        stage.clock.advance_ms(1_000);
        // The sweeper has read the message before this change.
        let (app, send_at) = (stage.app.clone(), stage.now().plus_millis(60_000));
        stage.store.meanwhile(Moment::BeforeReplace, async move {
            let changed = UpdateScheduled {
                send_at: Some(send_at),
                text: Some("another".into()),
                ..UpdateScheduled::default()
            };
            app.personal.update_scheduled(ada, one.id, changed).await.unwrap();
            if !puts_off {
                app.personal.send_scheduled_now(ada, one.id).await.unwrap();
            }
        });
        stage.app.sweeper.sweep().await.unwrap();
        stage.app.sweeper.sweep().await.unwrap();
        let said: &[&str] = if puts_off { &[] } else { &["another"] };
        assert_eq!(stage.history(bob, direct).await, said);
        stage.clock.advance_ms(60_000);
        stage.app.sweeper.sweep().await.unwrap();
        assert_eq!(stage.history(bob, direct).await, ["another"]);
    }
}

#[tokio::test]
async fn a_message_postponed_after_the_sweep_found_it_is_not_sent() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let soon = stage.now().plus_millis(1_000);
    schedule(&stage, ada, later(direct, "a", soon)).await;
    let second = schedule(&stage, ada, later(direct, "b", soon.plus_millis(1))).await;
    stage.clock.advance_ms(1_001);
    // The sweeper has found both, and is about to send the first one.
    let (app, send_at) = (stage.app.clone(), Some(stage.now().plus_millis(60_000)));
    stage.store.meanwhile(Moment::BeforeReplace, async move {
        let put_off = UpdateScheduled { send_at, ..UpdateScheduled::default() };
        app.personal.update_scheduled(ada, second.id, put_off).await.unwrap();
    });
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
    stage.clock.advance_ms(60_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a", "later b"]);
}

#[tokio::test]
async fn two_devices_that_change_different_fields_lose_neither_change() {
    let stage = Stage::new();
    let (ada, _, direct) = stage.pair().await;
    let scheduled = schedule(&stage, ada, later(direct, "a", stage.now().plus_millis(1_000))).await;
    let (phone, send_at) = (stage.second_node(), stage.now().plus_millis(9_000));
    stage.store.meanwhile(Moment::BeforeReplace, async move {
        let put_off = UpdateScheduled { send_at: Some(send_at), ..UpdateScheduled::default() };
        phone.personal.update_scheduled(ada, scheduled.id, put_off).await.unwrap();
    });
    let reworded = UpdateScheduled { text: Some("another".into()), ..UpdateScheduled::default() };
    let answer = stage.app.personal.update_scheduled(ada, scheduled.id, reworded).await.unwrap();
    assert_eq!((answer.send_at, answer.message.text.as_deref()), (send_at, Some("another")));
    let stored = stage.app.personal.scheduled(ada, None).await.unwrap().0.remove(0);
    assert_eq!((stored.send_at, stored.message.text), (send_at, answer.message.text));

    // A cancellation removes the changes of another device too.
    let phone = stage.second_node();
    stage.store.meanwhile(Moment::BeforeReplace, async move {
        let again = UpdateScheduled { text: Some("yet another".into()), ..UpdateScheduled::default() };
        phone.personal.update_scheduled(ada, scheduled.id, again).await.unwrap();
    });
    stage.app.personal.cancel_scheduled(ada, scheduled.id).await.unwrap();
    assert!(stage.app.personal.scheduled(ada, None).await.unwrap().0.is_empty());
}

#[tokio::test]
async fn a_scheduled_message_can_be_sent_early_and_only_once() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let scheduled = schedule(&stage, ada, later(direct, "a", at(5_000))).await;
    let by_another = stage.app.personal.send_scheduled_now(bob, scheduled.id).await;
    assert!(matches!(by_another, Err(PersonalError::NotFound)));

    stage.app.people.block(bob, ada).await.unwrap();
    let refused = stage.app.personal.send_scheduled_now(ada, scheduled.id).await;
    assert!(matches!(refused, Err(PersonalError::Refused(Refusal::Blocked))));
    assert_eq!(stage.app.personal.scheduled(ada, None).await.unwrap().0[0].failed, Some(ErrorCode::Blocked));
    stage.app.people.unblock(bob, ada).await.unwrap();

    let sent = stage.app.personal.send_scheduled_now(ada, scheduled.id).await.unwrap();
    assert_eq!(sent.text.as_deref(), Some("later a"));
    assert!(stage.app.personal.scheduled(ada, None).await.unwrap().0.is_empty());
    let again = stage.app.personal.send_scheduled_now(ada, scheduled.id).await.unwrap();
    assert_eq!(again.id, sent.id);
    stage.clock.advance_ms(5_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
}

#[tokio::test]
async fn repeating_an_early_send_returns_the_message_even_if_it_is_hidden() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    let request = later(group, "a", stage.now().plus_millis(60_000));
    let scheduled = schedule(&stage, ada, request.clone()).await;
    let sent = stage.app.personal.send_scheduled_now(ada, scheduled.id).await.unwrap();
    stage.app.writing.delete_for_me(ada, sent.id).await.unwrap();
    let again = stage.app.personal.send_scheduled_now(ada, scheduled.id).await.unwrap();
    let kept = stage.app.personal.schedule(ada, request).await.unwrap();
    assert!(kept.repeated);
    for message in [again, *kept.scheduling.message.unwrap()] {
        assert_eq!((message.id, message.text), (sent.id, None));
    }
}

#[tokio::test]
async fn a_scheduled_message_that_cannot_be_sent_reports_why_and_can_be_retried() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let scheduled = schedule(&stage, ada, later(direct, "a", at(1_000))).await;
    stage.app.people.block(bob, ada).await.unwrap();
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    let failed = stage.app.personal.scheduled(ada, None).await.unwrap().0;
    assert_eq!(failed[0].failed, Some(ErrorCode::Blocked));
    stage.app.people.unblock(bob, ada).await.unwrap();
    let again = UpdateScheduled { send_at: Some(at(1_000)), ..UpdateScheduled::default() };
    stage.app.personal.update_scheduled(ada, scheduled.id, again).await.unwrap();
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
}

#[tokio::test]
async fn scheduling_and_sending_the_same_client_id_is_one_message() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let soon = stage.now().plus_millis(1_000);
    let scheduling = async |client_id: &str| {
        stage.app.personal.schedule(ada, later(direct, client_id, soon)).await.unwrap()
    };
    // Scheduled, sent, scheduled again even after its time, and sent again.
    scheduling("a").await;
    stage.clock.advance_ms(1_000);
    let late = scheduling("a").await;
    assert!(late.repeated && late.scheduling.scheduled.is_some(), "it is about to be sent");
    stage.app.sweeper.sweep().await.unwrap();
    let sent = scheduling("a").await.scheduling.message.unwrap();
    assert_eq!((sent.client_id.as_deref(), sent.text.as_deref()), (Some("a"), Some("later a")));
    let resent = stage.app.writing.send(ada, direct, crate::stage::text("a")).await.unwrap();
    assert_eq!((resent.message.id, resent.repeated), (sent.id, true));
    // First sent, then scheduled.
    let first = stage.app.writing.send(ada, direct, crate::stage::text("b")).await.unwrap().message;
    let kept = scheduling("b").await;
    assert_eq!((kept.scheduling.message.unwrap().id, kept.repeated), (first.id, true));
    // Scheduled, and sent directly before its time.
    let soon = stage.now().plus_millis(1_000);
    let waiting = schedule(&stage, ada, later(direct, "c", soon)).await;
    let overtaken = stage.app.writing.send(ada, direct, crate::stage::text("c")).await.unwrap().message;
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.app.personal.send_scheduled_now(ada, waiting.id).await.unwrap().id, overtaken.id);
    assert_eq!(stage.history(bob, direct).await, ["later a", "text of b", "text of c"]);
    assert!(stage.app.personal.scheduled(ada, None).await.unwrap().0.is_empty());
}

#[tokio::test]
async fn after_cancelling_the_client_id_is_free_again() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let soon = stage.now().plus_millis(1_000);
    let first = schedule(&stage, ada, later(direct, "a", soon)).await;
    stage.app.personal.cancel_scheduled(ada, first.id).await.unwrap();
    let second = schedule(&stage, ada, later(direct, "a", soon)).await;
    assert_ne!(first.id, second.id);
    let nodes = [stage.app.clone(), stage.second_node()];
    let sends = nodes.iter().map(|node| node.personal.send_scheduled_now(ada, second.id));
    let sent: Vec<_> = futures_util::future::join_all(sends).await;
    let ids: Vec<_> = sent.into_iter().map(|sent| sent.unwrap().id).collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!(stage.history(bob, direct).await, ["later a"]);
}

#[tokio::test]
async fn sent_scheduled_messages_are_remembered_within_limits() {
    let stage = Stage::new();
    let (ada, _, direct) = stage.pair().await;
    let at = |ms| stage.now().plus_millis(ms);
    let first = schedule(&stage, ada, later(direct, "first", at(1_000))).await;
    stage.app.personal.send_scheduled_now(ada, first.id).await.unwrap();
    for number in 0..SCHEDULED_SENT_KEPT_MAX {
        stage.clock.advance_ms(1);
        let next = schedule(&stage, ada, later(direct, &format!("m{number}"), at(1_000))).await;
        stage.app.personal.send_scheduled_now(ada, next.id).await.unwrap();
    }
    let again = stage.app.personal.send_scheduled_now(ada, first.id).await;
    assert!(matches!(again, Err(PersonalError::NotFound)), "others have taken its place");
    assert_eq!(stage.store.scheduled(ada).await.unwrap().len(), SCHEDULED_SENT_KEPT_MAX);
    stage.clock.advance_ms(i64::from(SCHEDULED_SENT_KEPT_HOURS) * 3_600_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert!(stage.store.scheduled(ada).await.unwrap().is_empty());
}

#[tokio::test]
async fn permissions_of_a_scheduled_message_are_checked_at_send_time() {
    let stage = Stage::new();
    let [ada, bob, eve] = stage.users(["ada", "bob", "eve"]).await;
    let group = stage.group(&[ada, bob, eve]).await;
    let soon = stage.now().plus_millis(1_000);
    for user in [bob, eve] {
        schedule(&stage, user, later(group, "a", soon)).await;
    }
    stage.app.accounts.set_disabled("bob", true).await.unwrap();
    stage.app.groups.remove_member(ada, group, eve).await.unwrap();
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert!(!stage.history(ada, group).await.contains(&"later a".to_owned()));
    // It stays failed after the account is enabled again: the user decides what to do with it.
    stage.app.accounts.set_disabled("bob", false).await.unwrap();
    stage.app.sweeper.sweep().await.unwrap();
    for (user, reason) in [(bob, ErrorCode::AccountDisabled), (eve, ErrorCode::NotFound)] {
        assert_eq!(stage.app.personal.scheduled(user, None).await.unwrap().0[0].failed, Some(reason));
    }
    let failed = stage.app.personal.scheduled(bob, None).await.unwrap().0[0].id;
    stage.app.personal.send_scheduled_now(bob, failed).await.unwrap();
    assert_eq!(stage.history(ada, group).await.last().unwrap(), "later a");
}
