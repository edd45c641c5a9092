//! Forwards: which parts are copied.

use godwit_domain::actions::Refusal;
use godwit_domain::model::{ClientId, Draft};
use godwit_protocol::MessageId;
use godwit_protocol::conversations::UpdateConversation;
use godwit_protocol::messages::SendMessage;
use godwit_protocol::personal::ScheduleMessage;

use crate::stage::{Stage, saying, text};

/// A forward without a text of its own.
fn forward(client_id: &str, of: MessageId) -> Draft {
    let client_id = ClientId::parse(client_id).unwrap();
    Draft { client_id, body: None, reply_to: None, forwarded_from: Some(of) }
}

#[tokio::test]
async fn a_forward_copies_the_current_content() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let eve = stage.user("eve").await;
    let group = stage.group(&[bob, eve, ada]).await;
    let original = stage.say(ada, direct, "hello @eve").await;
    stage.app.writing.edit(ada, original.id, "hello all of you, @eve".into()).await.unwrap();
    let sent = stage.app.writing.send(bob, group, forward("f", original.id)).await.unwrap().message;
    assert_eq!(sent.text.as_deref(), Some("hello all of you, @eve"));
    let from = sent.forwarded_from.unwrap();
    assert_eq!((from.message_id, from.sender_id), (original.id, ada));
    assert!(sent.mentions.is_empty(), "the words called nobody here");
    // A client may repeat the content, but it must be equal.
    let same = Draft { forwarded_from: Some(original.id), ..saying("hello all of you, @eve") };
    stage.app.writing.send(bob, group, same).await.unwrap();
    let forged = Draft { forwarded_from: Some(original.id), ..saying("I resign") };
    let refused = stage.app.writing.send(bob, group, forged).await;
    assert!(matches!(&refused, Err(Refusal::Invalid(field)) if field.field == "text"), "{refused:?}");
    // The text of a forward cannot be edited.
    let edited = stage.app.writing.edit(bob, sent.id, "I resign".into()).await;
    assert!(matches!(edited, Err(Refusal::NotEditable)));
}

#[tokio::test]
async fn a_forward_of_an_own_message_names_no_origin() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[ada, bob]).await;
    let original = stage.say(ada, direct, "news").await;
    let own = stage.app.writing.send(ada, group, forward("a", original.id)).await.unwrap().message;
    assert_eq!((own.text.as_deref(), own.forwarded_from), (Some("news"), None));
    let by_bob = stage.app.writing.send(bob, group, forward("b", original.id)).await.unwrap().message;
    let back = stage.app.writing.send(ada, direct, forward("c", by_bob.id)).await.unwrap().message;
    assert_eq!(back.forwarded_from, None, "also when it came back");
    stage.app.writing.edit(ada, own.id, "newer".into()).await.unwrap();
}

#[tokio::test]
async fn disappearing_deleted_and_system_messages_cannot_be_forwarded() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[bob, ada]).await;
    let refused = async |of: MessageId| {
        let sent = stage.app.writing.send(bob, group, forward("f", of)).await;
        assert!(matches!(sent, Err(Refusal::ForwardNotFound)), "{sent:?}");
    };
    let deleted = stage.say(ada, direct, "oops").await;
    stage.app.writing.delete_for_all(ada, deleted.id).await.unwrap();
    refused(deleted.id).await;
    let hidden = stage.say(ada, direct, "not for me").await;
    stage.app.writing.delete_for_me(bob, hidden.id).await.unwrap();
    refused(hidden.id).await;
    let event: SendMessage =
        serde_json::from_str(r#"{"client_id":"e","kind":"system","event":"app.x","data":{"a":[1]}}"#)
            .unwrap();
    let event = stage.app.writing.send(ada, direct, Draft::parse(event).unwrap()).await.unwrap().message;
    assert_eq!(event.data, Some(serde_json::json!({"a": [1]})));
    refused(event.id).await;
    let timer = UpdateConversation { message_ttl_secs: Some(Some(60)), ..UpdateConversation::default() };
    stage.app.groups.update(ada, direct, &timer).await.unwrap();
    let disappearing = stage.say(ada, direct, "for a minute").await;
    refused(disappearing.id).await;
    let notice = stage.app.reading.history(bob, group, godwit_domain::messages::HistoryPage::Newest, 9);
    refused(notice.await.unwrap().messages[0].id).await;
}

#[tokio::test]
async fn a_repeated_forward_is_idempotent_after_changes_of_the_original() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[bob, ada]).await;
    let original = stage.say(ada, direct, "news").await;
    let sent = stage.app.writing.send(bob, group, forward("f", original.id)).await.unwrap().message;
    stage.app.writing.delete_for_all(ada, original.id).await.unwrap();
    let again = stage.app.writing.send(bob, group, forward("f", original.id)).await.unwrap();
    assert_eq!((again.message.id, again.repeated), (sent.id, true));
    // So is a reply to a deleted message; and a user who may not see the conversation learns nothing about it.
    let reply = |client_id: &str| Draft { reply_to: Some(original.id), ..text(client_id) };
    let eve = stage.user("eve").await;
    let outside = stage.app.writing.send(eve, direct, reply("r")).await;
    let elsewhere = stage.app.writing.send(eve, group, reply("r")).await;
    assert!(matches!((outside, elsewhere), (Err(Refusal::NotFound), Err(Refusal::NotFound))));
}

#[tokio::test]
async fn a_scheduled_forward_is_copied_when_it_is_sent() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    let group = stage.group(&[bob, ada]).await;
    let originals = [stage.say(ada, direct, "one").await, stage.say(ada, direct, "two").await];
    let send_at = stage.now().plus_millis(1_000);
    let schedule = async |client_id: &str, message: MessageId| {
        let message = format!(r#"{{"client_id":"{client_id}","forwarded_from":"{message}"}}"#);
        let message: SendMessage = serde_json::from_str(&message).unwrap();
        let request = ScheduleMessage { conversation_id: group, send_at, message };
        stage.app.personal.schedule(bob, request).await
    };
    for (client_id, original) in ["a", "b"].into_iter().zip(&originals) {
        schedule(client_id, original.id).await.unwrap();
    }
    stage.app.writing.edit(ada, originals[0].id, "one, corrected".into()).await.unwrap();
    stage.app.writing.delete_for_all(ada, originals[1].id).await.unwrap();
    assert!(schedule("c", originals[1].id).await.is_err(), "what is gone cannot be scheduled");
    assert!(schedule("b", originals[1].id).await.unwrap().repeated);
    stage.clock.advance_ms(1_000);
    stage.app.sweeper.sweep().await.unwrap();
    assert_eq!(stage.history(ada, group).await[1..], ["one, corrected"]);
    let failed = stage.app.personal.scheduled(bob, None).await.unwrap().0;
    assert_eq!(failed[0].failed, Some(godwit_protocol::ErrorCode::ForwardNotFound));
}
