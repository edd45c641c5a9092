//! Typing and presence.

use godwit_client::Draft;
use godwit_client::protocol::accounts::UpdateMe;
use godwit_client::protocol::limits::TYPING_TTL_MS;
use godwit_client::protocol::people::Presence;
use godwit_client::protocol::socket::{Event, TypingEvent};
use godwit_client::protocol::{ErrorCode, UserId};

use super::Stage;
use crate::people::{Device, Person};

fn typing(event: &Event) -> Option<TypingEvent> {
    match event {
        Event::Typing(typing) => Some(*typing),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_notices_reach_the_other_member() {
    let stage = Stage::new().await;
    let (ada, bob, chat) = (&stage.ada, &stage.bob, stage.chat);
    let (phone, laptop) = (ada.device("phone").await, ada.device("laptop").await);
    let (bobs, bobs_other) = (bob.device("phone").await, bob.device("laptop").await);
    bobs.socket.typing(chat, true).await.unwrap();
    bobs.socket.typing(chat, false).await.unwrap();
    for device in [&phone, &laptop] {
        let heard = device.hears_all("that bob types and stops", |events| {
            let notices: Vec<_> = events.iter().filter_map(typing).collect();
            (notices.len() == 2).then_some(notices)
        });
        let heard = heard.await;
        assert!(heard.iter().all(|n| n.conversation_id == chat && n.user_id == bob.id));
        assert_eq!((heard[0].typing, heard[1].typing), (true, false));
        assert_eq!(heard[0].ttl_ms, TYPING_TTL_MS);
    }
    // A later event on the same sockets proves that no earlier one came.
    let last = bobs.socket.send(chat, Draft::text("well")).await.unwrap();
    for device in [&bobs, &bobs_other] {
        device.hears_log(chat, last.seq).await;
        assert!(!device.heard().iter().any(|event| typing(event).is_some()), "{}", device.name);
    }
    let eves = stage.stranger().await.device("phone").await;
    let refused = eves.socket.typing(chat, true).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::NotFound));
}

/// The presence changes of a user, as the device has received them, once there are this many. A repeated state is no change.
async fn presence_changes(device: &Device, of: UserId, count: usize) -> Vec<Presence> {
    device
        .hears_all(&format!("{count} changes of presence"), |events| {
            let of_user = |event: &Event| match event {
                Event::Presence(event) if event.user_id == of => Some(event.presence),
                _ => None,
            };
            let mut changes: Vec<_> = events.iter().filter_map(of_user).collect();
            changes.dedup_by_key(|change| change.online);
            (changes.len() >= count).then_some(changes)
        })
        .await
}

async fn shown(to: &Person, of: UserId) -> Option<Presence> {
    to.http.user(of).await.unwrap().presence
}

async fn set_visible(person: &Person, visible: bool) {
    let update = UpdateMe { presence_visible: Some(visible), ..UpdateMe::default() };
    person.http.update_me(&update).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_online_while_a_device_is_and_last_seen_when_the_last_one_goes() {
    let Stage { ada, bob, chat: _, server: _server } = Stage::new().await;
    let watcher = ada.device("phone").await;
    let now = watcher.socket.watch_presence(vec![bob.id]).await.unwrap();
    assert_eq!(now[0].presence, Presence { online: false, last_seen_at: None });
    let (phone, laptop) = (bob.device("phone").await, bob.device("laptop").await);
    assert!(presence_changes(&watcher, bob.id, 1).await[0].online);
    assert!(shown(&ada, bob.id).await.unwrap().online);
    phone.socket.close().await;
    laptop.socket.ping().await.unwrap();
    laptop.socket.close().await;
    let gone = presence_changes(&watcher, bob.id, 2).await[1];
    assert!(!gone.online && gone.last_seen_at.is_some());
    let seen = shown(&ada, bob.id).await.unwrap();
    assert!(!seen.online && seen.last_seen_at >= gone.last_seen_at);
    bob.device("phone").await;
    assert!(presence_changes(&watcher, bob.id, 3).await[2].online);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hidden_presence_is_not_revealed() {
    let Stage { ada, bob, chat, server: _server } = Stage::new().await;
    let (watcher, phone) = (ada.device("phone").await, bob.device("phone").await);
    let now = watcher.socket.watch_presence(vec![bob.id]).await.unwrap();
    assert!(now[0].presence.online);
    set_visible(&bob, false).await;
    let hidden = presence_changes(&watcher, bob.id, 1).await[0];
    assert_eq!(hidden, Presence { online: false, last_seen_at: None });
    assert_eq!(shown(&ada, bob.id).await, None);
    assert!(ada.device("laptop").await.socket.watch_presence(vec![bob.id]).await.unwrap().is_empty());
    // Connecting and disconnecting causes no event; the next message on the same socket proves it.
    bob.device("laptop").await.socket.close().await;
    let last = phone.socket.send(chat, Draft::text("still here")).await.unwrap();
    watcher.hears_log(chat, last.seq).await;
    assert_eq!(presence_changes(&watcher, bob.id, 1).await.len(), 1);
    set_visible(&bob, true).await;
    let changes = presence_changes(&watcher, bob.id, 2).await;
    assert_eq!(changes.iter().map(|change| change.online).collect::<Vec<_>>(), [false, true]);
    assert!(shown(&ada, bob.id).await.unwrap().online);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_replaces_the_previous_one() {
    let stage = Stage::new().await;
    let eve = stage.stranger().await;
    let watcher = stage.ada.device("phone").await;
    watcher.socket.watch_presence(vec![stage.bob.id]).await.unwrap();
    watcher.socket.watch_presence(vec![eve.id]).await.unwrap();
    stage.bob.device("phone").await;
    eve.device("phone").await;
    presence_changes(&watcher, eve.id, 1).await;
    assert!(presence_changes(&watcher, stage.bob.id, 0).await.is_empty());
}
