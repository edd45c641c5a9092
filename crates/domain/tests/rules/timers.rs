//! Disappearing messages.

use godwit_protocol::conversations::UpdateConversation;
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::stage::Stage;

async fn set_timer(stage: &Stage, by: UserId, conversation: ConversationId, secs: Option<u32>) {
    let update = UpdateConversation { message_ttl_secs: Some(secs), ..UpdateConversation::default() };
    stage.app.groups.update(by, conversation, &update).await.unwrap();
}

#[tokio::test]
async fn an_expired_message_is_gone_everywhere() {
    let stage = Stage::new();
    let (ada, bob, direct) = stage.pair().await;
    stage.say(ada, direct, "stays").await;
    set_timer(&stage, bob, direct, Some(60)).await;
    let message = stage.say(ada, direct, "a secret").await;
    assert_eq!(message.expires_at, Some(message.created_at.plus_millis(60_000)));
    stage.app.writing.edit(ada, message.id, "another secret".into()).await.unwrap();
    let everything = async |app: &godwit_domain::App| {
        let log = app.reading.log(bob, direct, Seq::ZERO, 200).await.unwrap();
        let row = app.inbox.conversation(bob, direct).await.unwrap();
        let message = app.reading.message(bob, message.id).await.unwrap();
        serde_json::to_string(&(log, row, message)).unwrap()
    };
    assert!(everything(&stage.app).await.contains("secret"));
    stage.clock.advance_ms(60_000);
    let unswept = stage.app.reading.message(bob, message.id).await.unwrap();
    assert!(unswept.text.is_none() && unswept.deleted_at.is_some(), "also before it is swept");
    stage.app.sweeper.sweep().await.unwrap();
    for app in [stage.app.clone(), stage.second_node()] {
        let all = everything(&app).await;
        assert!(!all.contains("secret"), "{all}");
    }
    assert_eq!(stage.log(bob, direct).await.last().unwrap(), "expired");
    assert_eq!(stage.history(bob, direct).await, ["stays", "[details.changed]", "(gone)"]);
    let head = stage.row(bob, direct).await.head;
    stage.second_node().sweeper.sweep().await.unwrap();
    assert_eq!(stage.row(bob, direct).await.head, head, "it disappears once");
}

#[tokio::test]
async fn messages_of_one_conversation_disappear_together_and_a_timer_can_end() {
    let stage = Stage::new();
    let [ada, bob] = stage.users(["ada", "bob"]).await;
    let group = stage.group(&[ada, bob]).await;
    set_timer(&stage, ada, group, Some(60)).await;
    for number in 0..10 {
        stage.say(ada, group, &format!("secret {number}")).await;
    }
    set_timer(&stage, ada, group, None).await;
    stage.say(ada, group, "stays").await;
    stage.clock.advance_ms(60_000);
    let before = stage.row(ada, group).await.head;
    let node = stage.second_node();
    let (one, two) = tokio::join!(stage.app.sweeper.sweep(), node.sweeper.sweep());
    one.and(two).unwrap();
    let fresh = stage.second_node();
    let head = fresh.inbox.conversation(ada, group).await.unwrap().head;
    assert_eq!(head, before.next(), "one entry for all of them");
    let history = stage.history(bob, group).await;
    assert_eq!(history.iter().filter(|shown| *shown == "(gone)").count(), 10);
    assert_eq!(history.last().unwrap(), "stays");
}
