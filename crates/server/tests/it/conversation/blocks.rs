//! Blocks: nothing passes between the two users any more, on any device.

use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::Draft;
use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::socket::Event;
use godwit_client::protocol::sync::AccountChange;

use super::Stage;
use crate::logs::{assert_rest_of, read_log, texts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_can_write_to_the_other_until_the_block_ends() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (adas, phone, laptop) =
        (ada.device("phone").await, bob.device("phone").await, bob.device("laptop").await);
    let before = ada.http.send_message(chat, Draft::text("before").client_id("first")).await.unwrap();
    bob.http.block(ada.id).await.unwrap();
    for device in [&phone, &laptop] {
        device.hears_account("the block", |change| is_block(change, true)).await;
    }
    for device in [&adas, &phone] {
        let over_socket = device.socket.send(chat, Draft::text("x")).await.unwrap_err();
        let over_http = device.http.send_message(chat, Draft::text("x")).await.unwrap_err();
        let typing = device.socket.typing(chat, true).await.unwrap_err();
        for refused in [over_socket, over_http, typing] {
            assert_eq!(refused.code(), Some(ErrorCode::Blocked), "{}", device.name);
        }
    }
    let retried = ada.http.send_message(chat, Draft::text("x").client_id("first")).await.unwrap();
    assert_eq!((retried.is_new, retried.value), (false, before.value.clone()), "a retry is no new message");
    assert_eq!(texts(&read_log(&ada.http, chat).await), ["before"], "the history stays readable");
    assert_eq!(ada.open_direct(&bob).await, chat, "the conversation is still found");
    let (by_bob, by_ada) = (bob.http.user(ada.id).await.unwrap(), ada.http.user(bob.id).await.unwrap());
    assert_eq!((by_bob.blocked, by_bob.presence), (true, None));
    assert_eq!((by_ada.blocked, by_ada.presence), (false, None), "who is blocked is not told");
    assert_eq!(bob.http.blocks(None, None).await.unwrap().users[0].id, ada.id);

    bob.http.unblock(ada.id).await.unwrap();
    laptop.hears_account("the end of the block", |change| is_block(change, false)).await;
    let after = adas.socket.send(chat, Draft::text("after")).await.unwrap();
    for device in [&adas, &phone, &laptop] {
        let heard = device.hears_log(chat, after.seq).await;
        assert_eq!(texts(&heard), ["before", "after"], "{}", device.name);
        assert!(!device.heard().iter().any(|event| matches!(event, Event::Typing(_))));
    }
    assert!(
        !adas.heard().iter().any(|event| matches!(event, Event::Account(_))),
        "who is blocked is not told"
    );
}

fn is_block(change: &AccountChange, blocked: bool) -> bool {
    match change {
        AccountChange::UserBlocked { .. } => blocked,
        AccountChange::UserUnblocked { .. } => !blocked,
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_delivered_after_the_answer_to_a_block() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (adas, bobs) = (ada.device("phone").await, bob.device("phone").await);
    // In each round, the block meets messages at different stages.
    for round in 0..20 {
        let sends = (0..40).map(|_| adas.socket.send(chat, Draft::text(format!("round {round}"))));
        let (outcomes, settled) = tokio::join!(join_all(sends), async {
            tokio::time::sleep(Duration::from_millis(round / 2)).await;
            bob.http.block(ada.id).await.unwrap();
            bob.http.conversation(chat).await.unwrap().head
        });
        for outcome in outcomes {
            match outcome {
                Ok(message) => {
                    assert!(message.seq <= settled, "{} was delivered after the block", message.seq);
                }
                Err(refused) => assert_eq!(refused.code(), Some(ErrorCode::Blocked)),
            }
        }
        assert_eq!(bob.http.conversation(chat).await.unwrap().head, settled);
        assert!(bobs.heard_log(chat).last().is_none_or(|entry| entry.seq <= settled));
        bob.http.unblock(ada.id).await.unwrap();
    }
    let last = adas.socket.send(chat, Draft::text("after all")).await.unwrap();
    assert_rest_of(&read_log(&bob.http, chat).await, &bobs.name, &bobs.hears_log(chat, last.seq).await);
}
