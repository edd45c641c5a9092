use godwit_domain::actions::Refusal;
use godwit_domain::inbox::InboxError;
use godwit_domain::people::PeopleError;
use godwit_testkit::delivery::Delivered;

use crate::stage::{Stage, text};

#[tokio::test]
async fn a_block_prevents_sending_in_both_directions_and_keeps_the_history() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    stage.app.writing.send(ada, conversation, text("before")).await.unwrap();
    stage.app.people.block(bob, ada).await.unwrap();
    for sender in [ada, bob] {
        let send = stage.app.writing.send(sender, conversation, text("after")).await;
        assert!(matches!(send, Err(Refusal::Blocked)));
        let typing = stage.app.presence.typing(sender, conversation, true).await;
        assert!(matches!(typing, Err(Refusal::Blocked)));
        assert!(
            !stage.app.inbox.open_direct(sender, if sender == ada { bob } else { ada }).await.unwrap().made
        );
    }
    let retry = stage.app.writing.send(ada, conversation, text("before")).await.unwrap();
    assert!(retry.repeated, "what was sent before the block is still acknowledged");
    stage.app.people.unblock(bob, ada).await.unwrap();
    stage.app.writing.send(ada, conversation, text("after")).await.unwrap();
}

#[tokio::test]
async fn nothing_is_delivered_once_a_block_has_returned() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    let flood: Vec<_> = (0..500)
        .map(|i| {
            let app = stage.app.clone();
            tokio::spawn(async move { app.writing.send(ada, conversation, text(&format!("m{i}"))).await })
        })
        .collect();
    tokio::task::yield_now().await;
    stage.app.people.block(bob, ada).await.unwrap();
    stage.delivery.take();
    let mut refused = 0;
    for send in flood {
        refused += usize::from(matches!(send.await.unwrap(), Err(Refusal::Blocked)));
    }
    assert!(refused > 0, "the block must have come before some of them");
    let after: Vec<_> = stage.delivery.take();
    assert!(after.is_empty(), "{} deliveries after the block", after.len());
}

#[tokio::test]
async fn a_block_hides_cursors_and_presence() {
    let stage = Stage::new();
    let (ada, bob, conversation) = stage.pair().await;
    let message = stage.app.writing.send(ada, conversation, text("a")).await.unwrap().message;
    stage.delivery.set_online(ada, true);
    assert!(stage.app.people.user(bob, ada).await.unwrap().presence.unwrap().online);
    stage.app.people.block(ada, bob).await.unwrap();
    assert_eq!(stage.app.people.user(bob, ada).await.unwrap().presence, None);
    assert!(stage.app.presence.visible(bob, &[ada]).await.unwrap().is_empty());
    stage.delivery.take();
    stage.app.cursors.advance(bob, conversation, None, Some(message.seq)).await.unwrap();
    stage.app.cursors.flush().await.unwrap();
    assert!(stage.delivery.events_for(ada).is_empty());
    assert!(!stage.delivery.events_for(bob).is_empty(), "the own devices still follow each other");
}

#[tokio::test]
async fn typing_notices_in_groups_respect_blocks_in_both_directions() {
    let stage = Stage::new();
    let [ada, bob, eve, dan] = stage.users(["ada", "bob", "eve", "dan"]).await;
    let group = stage.group(&[ada, bob, eve, dan]).await;
    stage.app.people.block(ada, bob).await.unwrap();
    stage.app.people.block(eve, ada).await.unwrap();
    stage.delivery.take();
    stage.app.presence.typing(ada, group, true).await.unwrap();
    let told = [ada, bob, eve, dan].map(|user| stage.delivery.events_for(user).len());
    assert_eq!(told, [0, 0, 0, 1]);
}

#[tokio::test]
async fn blocking_ends_presence_watching_in_both_directions() {
    let stage = Stage::new();
    let (ada, bob, _) = stage.pair().await;
    stage.app.people.block(ada, bob).await.unwrap();
    let stopped =
        stage.delivery.take().into_iter().filter(|d| matches!(d, Delivered::WatchStopped { .. })).count();
    assert_eq!(stopped, 2);
}

#[tokio::test]
async fn a_block_prevents_a_new_direct_conversation() {
    let stage = Stage::new();
    let (ada, bob) = (stage.user("ada").await, stage.user("bob").await);
    assert!(matches!(stage.app.inbox.open_direct(ada, ada).await, Err(InboxError::NotWithSelf)));
    assert!(matches!(stage.app.people.block(ada, ada).await, Err(PeopleError::NotWithSelf)));
    stage.app.people.block(ada, bob).await.unwrap();
    assert!(matches!(stage.app.inbox.open_direct(bob, ada).await, Err(InboxError::Blocked)));
}
