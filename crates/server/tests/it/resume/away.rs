//! Clients that were away: pages of the log, sync tokens, other processes.

use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::protocol::limits::{PAGE_MAX, TEXT_CHARS_MAX};
use godwit_client::protocol::{ErrorCode, Seq};
use godwit_client::{Draft, ResumeState};
use tokio::time::sleep;

use super::send_many;
use crate::changes::{AWAY, Changes, Kind};
use crate::follower::Follower;
use crate::logs::{assert_part_of, assert_rest_of, read_log};
use crate::people::{Person, open_socket};
use crate::store::TestStore;
use crate::unlimited::{unlimited, unlimited_on};
use crate::wire::Wire;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_read_from_any_point_in_pages_of_200() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let head = send_many(&ada, chat, 650).await;
    let (socket, _events) = open_socket(&bob.http).await;
    let log = read_log(&bob.http, chat).await;
    assert_eq!(log.len(), 651);
    let (mut after, mut sizes, mut read) = (Seq::new(7), Vec::new(), Vec::new());
    loop {
        let page = socket.log(chat, after, Some(PAGE_MAX)).await.unwrap();
        let over_http = bob.http.log(chat, after, Some(PAGE_MAX)).await.unwrap();
        assert_eq!(page, over_http, "the socket and HTTP answer alike");
        assert_eq!((page.head, page.truncated), (head, false));
        sizes.push(page.entries.len());
        after = page.entries.last().unwrap().seq;
        read.extend(page.entries);
        if !page.more {
            break;
        }
    }
    assert_eq!(sizes, [200, 200, 200, 44]);
    assert_part_of(&log, "a client that resumes", &read);
    assert_eq!(socket.log(chat, Seq::ZERO, None).await.unwrap().entries.len(), 50, "unless asked otherwise");
    let nothing = socket.log(chat, head, None).await.unwrap();
    assert!(nothing.entries.is_empty() && !nothing.more && !nothing.truncated);
    for refused in [Some(0), Some(PAGE_MAX + 1)] {
        let error = socket.log(chat, Seq::ZERO, refused).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::InvalidField));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_page_fits_through_a_socket() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    // Each of these characters takes two bytes, escaped or not.
    let largest = "\"".repeat(TEXT_CHARS_MAX);
    join_all((0..usize::from(PAGE_MAX)).map(|_| ada.http.send_message(chat, Draft::text(&largest))))
        .await
        .into_iter()
        .for_each(|sent| assert!(sent.unwrap().is_new));
    let (_, http) = bob.sign_in("phone").await;
    let follower = Follower::start("bob's phone", http);
    let log = read_log(&ada.http, chat).await;
    follower.reaches(chat, log.last().unwrap().seq).await;
    assert!(follower.finish().await.log(chat) == log);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_resumes_even_after_a_restart() {
    let mut server = unlimited().await;
    let wire = Wire::to(server.address()).await;
    let [ada, bob] = Person::register_all(&wire.url, ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let (_, http) = bob.sign_in("phone").await;
    let mut whole = Vec::new();
    let mut state = ResumeState::default();
    // More than a page is missed each time; in between, the server is stopped, killed, or left alone.
    for round in 0..4 {
        let head = send_many(&ada, chat, 250).await;
        match round {
            1 => server.stop().await,
            2 => server.kill().await,
            _ => {}
        }
        if round == 1 || round == 2 {
            server.start_again().await;
            wire.lead_to(server.address());
        }
        let follower = Follower::resume(&format!("life {round}"), http.clone(), state);
        follower.reaches(chat, head).await;
        let mut followed = follower.finish().await;
        assert_eq!((followed.resets.len(), followed.all_reset), (0, 0));
        whole.extend(followed.log(chat));
        state = serde_json::from_str(&serde_json::to_string(&followed.state).unwrap()).unwrap();
        assert!(state.token.is_some());
    }
    assert!(whole == read_log(&ada.http, chat).await, "the lives together have exactly the log");
}

/// Uses `sync` only: the phone has no other source for the time while it was away. It is away for longer than the activity
/// lag of `sync`, so that nothing is found only because of a recent message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_returning_client_has_the_same_state_as_a_connected_one() {
    // No other test sets expiring messages on this store.
    let store = tokio::task::spawn_blocking(|| TestStore::of_run_for("away")).await.unwrap();
    let server = unlimited_on(store).await;
    let [ada, bob, eve] = Person::register_all(&server.url(), ["ada", "bob", "eve"]).await;
    let changes = Changes::prepare(&ada, &eve, &bob, Some(AWAY + Duration::from_secs(20))).await;
    let laptop = Follower::start("bob's laptop", bob.sign_in("laptop").await.1);
    let (_, phone_http) = bob.sign_in("phone").await;
    let phone = Follower::start("bob's phone", phone_http.clone());
    join_all([laptop.catches_up(), phone.catches_up()]).await;
    let mut before = phone.finish().await;
    sleep(AWAY).await;
    changes.happen().await;

    // The phone is done when it has caught up, without any other event.
    let phone = Follower::resume("bob's phone", phone_http, before.state.clone());
    phone.catches_up().await;
    let mut after = phone.finish().await;
    assert_eq!((after.resets.len(), after.all_reset), (0, 0));
    let mut all = Vec::new();
    for group in changes.groups() {
        let log = read_log(&bob.http, group.id).await;
        let mut seen = before.log(group.id);
        seen.extend(after.log(group.id));
        assert_rest_of(&log, &format!("bob's phone, after {:?}", group.kind), &seen);
        laptop.reaches(group.id, log.last().unwrap().seq).await;
        all.extend(log);
    }
    Changes::assert_all_kinds(&all);
    let there = laptop.finish().await;
    for group in changes.groups().iter().filter(|group| group.kind == Kind::Read) {
        let mark = (group.id, eve.id);
        assert!(there.cursors.contains_key(&mark), "the laptop was told of it");
        assert_eq!(after.cursors.get(&mark), there.cursors.get(&mark));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_token_is_valid_after_a_restart() {
    let mut server = unlimited().await;
    let wire = Wire::to(server.address()).await;
    let [ada, bob, eve] = Person::register_all(&wire.url, ["ada", "bob", "eve"]).await;
    let chat = ada.open_direct(&bob).await;
    ada.http.send_message(chat, Draft::text("hello")).await.unwrap();
    let first = bob.http.sync(None, None).await.unwrap();
    assert_eq!(first.conversations.iter().map(|c| (c.id, c.head)).collect::<Vec<_>>(), [(chat, Seq::new(2))]);
    assert!(!first.more && !first.truncated);

    for kill in [false, true] {
        let before = bob.http.sync(Some(&first.token), None).await.unwrap();
        let new_chat = if kill { chat } else { eve.open_direct(&bob).await };
        let by = if kill { &ada } else { &eve };
        let sent = by.http.send_message(new_chat, Draft::text("news")).await.unwrap();
        if kill {
            server.kill().await;
        } else {
            server.stop().await;
        }
        server.start_again().await;
        wire.lead_to(server.address());
        let (socket, _events) = open_socket(&bob.http).await;
        let after = socket.sync(Some(before.token), None).await.unwrap();
        assert!(!after.truncated && !after.more);
        let changed = after.conversations.iter().find(|c| c.id == new_chat).expect("what changed is listed");
        assert_eq!(changed.head, sent.seq);
    }

    let tampered = format!("{}x", &first.token[..first.token.len() - 1]);
    let mut foreign = Vec::new();
    for (by, token) in [(&bob, tampered.as_str()), (&ada, &first.token), (&bob, "")] {
        foreign.push(by.http.sync(Some(token), None).await.unwrap_err().code());
    }
    assert_eq!(foreign, [Some(ErrorCode::InvalidCursor); 3]);
}
