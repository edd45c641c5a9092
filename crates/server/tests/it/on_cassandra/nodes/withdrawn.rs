//! A change that takes something away is in effect on every node when it is answered.

use std::time::Duration;

use godwit_client::protocol::ErrorCode;
use godwit_client::protocol::accounts::UpdateMe;
use godwit_client::protocol::conversations::{DeleteFor, Role};
use godwit_client::protocol::socket::{CloseCode, Event};
use godwit_client::protocol::sync::AccountChange;
use godwit_client::{Closed, Draft};
use rustix::process::Signal;

use super::{Nodes, group_of, with};
use crate::logs::read_log;
use crate::people::Person;

const NODES: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_a_session_on_one_node_closes_its_sockets_on_others() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let ada = nodes.person(0, "ada").await;
    for node in 0..NODES {
        let phone = nodes.at(node, &ada).device("phone").await;
        ada.http.revoke_device(phone.id).await.unwrap();
        let closed = phone.closed().await;
        assert!(
            matches!(closed, Closed::ByServer { code, .. } if code == CloseCode::SignedOut.code()),
            "{closed:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_member_loses_access_on_every_node() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let (ada, bob, eve) =
        (nodes.person(0, "ada").await, nodes.person(1, "bob").await, nodes.person(2, "eve").await);
    for round in 0..5 {
        let group = group_of(&ada, &[bob.clone(), eve.clone()]).await;
        let phones = [nodes.at(1, &eve).device("phone").await, nodes.at(2, &eve).device("tablet").await];
        // Every node has the conversation in memory.
        for node in 0..NODES {
            nodes.at(node, &eve).http.send_message(group, Draft::text("here")).await.unwrap();
            assert!(nodes.at(node, &eve).http.conversation(group).await.is_ok());
        }
        let remover = nodes.at(round % NODES, &ada);
        remover.http.remove_member(group, eve.id).await.unwrap();
        for node in 0..NODES {
            let eve = nodes.at(node, &eve);
            let refused = [
                eve.http.conversation(group).await.map(drop),
                eve.http.log(group, Default::default(), None).await.map(drop),
                eve.http.send_message(group, Draft::text("still here")).await.map(drop),
            ];
            for refused in refused {
                assert_eq!(
                    refused.unwrap_err().code(),
                    Some(ErrorCode::NotFound),
                    "node {node}, round {round}"
                );
            }
        }
        let after = nodes.at(1, &bob).http.send_message(group, Draft::text("among us")).await.unwrap();
        let gone = |phone: &crate::people::Device| {
            let log = phone.heard_log(group);
            assert!(log.iter().all(|entry| entry.seq < after.seq), "nothing of it reaches who was removed");
        };
        for phone in &phones {
            phone.hears_account("that it is gone", |change| {
                matches!(change, godwit_client::protocol::sync::AccountChange::ConversationGone { conversation_id, .. } if *conversation_id == group)
            })
            .await;
            gone(phone);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revocations_apply_on_every_node_even_without_redis() {
    let (nodes, redis) = Nodes::start(NODES).await;
    let (ada, eve) = (nodes.person(0, "ada").await, nodes.person(1, "eve").await);
    let group = group_of(&ada, std::slice::from_ref(&eve)).await;
    for node in 0..NODES {
        nodes.at(node, &eve).http.send_message(group, Draft::text("here")).await.unwrap();
        read_log(&nodes.at(node, &eve).http, group).await;
    }
    with(&redis, |redis| redis.pause().unwrap()).await;
    ada.http.remove_member(group, eve.id).await.unwrap();
    for node in 0..NODES {
        let refused = nodes.at(node, &eve).http.log(group, Default::default(), None).await;
        assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::NotFound), "node {node}");
    }
    with(&redis, |redis| redis.resume().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn demotions_and_deletions_apply_on_every_node() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let (ada, bob) = (nodes.person(0, "ada").await, nodes.person(1, "bob").await);
    let group = group_of(&ada, std::slice::from_ref(&bob)).await;
    for node in 0..NODES {
        ada.http.set_role(group, bob.id, Role::Admin).await.unwrap();
        let sent = nodes.at(1, &bob).http.send_message(group, Draft::text("secret")).await.unwrap();
        for reader in (0..NODES).map(|node| nodes.at(node, &ada)) {
            let shown = reader.http.conversation(group).await.unwrap();
            assert_eq!(shown.last_message.unwrap().preview, "secret");
        }
        nodes.at(node, &bob).http.delete_message(sent.id, DeleteFor::All).await.unwrap();
        nodes.at(node, &ada).http.set_role(group, bob.id, Role::Member).await.unwrap();
        for node in 0..NODES {
            let shown = nodes.at(node, &bob).http.conversation(group).await.unwrap();
            assert_ne!(shown.last_message.unwrap().preview, "secret", "node {node}");
            assert_eq!(shown.me.role, Role::Member, "node {node}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_on_one_node_applies_on_others() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let (ada, eve) = (nodes.person(0, "ada").await, nodes.person(1, "eve").await);
    let chat = ada.open_direct(&eve).await;
    let phone = nodes.at(2, &ada).device("phone").await;
    for node in 0..NODES {
        let hello = nodes.at(node, &eve).http.send_message(chat, Draft::text("hello")).await.unwrap();
        phone.hears_log(chat, hello.seq).await;
    }
    ada.http.block(eve.id).await.unwrap();
    let heard = phone.heard_log(chat).len();
    for node in 0..NODES {
        let refused = nodes.at(node, &eve).http.send_message(chat, Draft::text("hello?")).await;
        assert_eq!(refused.unwrap_err().code(), Some(ErrorCode::Blocked), "node {node}");
    }
    rename(&ada).await;
    phone.hears("the new name", |event| is_new_profile(event).then_some(())).await;
    assert_eq!(phone.heard_log(chat).len(), heard);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_missed_a_hint_reads_the_store() {
    let (nodes, redis) = Nodes::start(2).await;
    let (ada, eve) = (nodes.person(0, "ada").await, nodes.person(0, "eve").await);
    let (phone, watcher) =
        (nodes.at(1, &ada).device("phone").await, nodes.at(1, &eve).device("watcher").await);
    let listed = watcher.socket.watch_presence(vec![ada.id]).await.unwrap();
    assert_eq!(listed.len(), 1);
    // The server is cut off in both directions, and messages to it are lost.
    nodes.servers[1].signal(Signal::STOP);
    with(&redis, |redis| redis.kill().unwrap()).await;
    ada.http.revoke_device(phone.id).await.unwrap();
    ada.http.block(eve.id).await.unwrap();
    with(&redis, |redis| redis.start_again().unwrap()).await;
    nodes.servers[1].signal(Signal::CONT);
    let closed = phone.closed().await;
    assert!(
        matches!(closed, Closed::ByServer { code, .. } if code == CloseCode::SignedOut.code()),
        "{closed:?}"
    );
    // Reads that the store could not answer are retried; in the end no event is sent.
    for _ in 0..10 {
        let presences = count(&watcher.heard(), is_presence);
        let names = count(&watcher.heard(), is_new_profile);
        let _tablet = ada.device("tablet").await;
        // A later event on the same path.
        rename(&eve).await;
        watcher.hears_all("the new name", |heard| (count(heard, is_new_profile) > names).then_some(())).await;
        if count(&watcher.heard(), is_presence) == presences {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("who is blocked is told nothing");
}

async fn rename(person: &Person) {
    let update = UpdateMe { display_name: Some("Somebody".into()), ..UpdateMe::default() };
    person.http.update_me(&update).await.unwrap();
}

fn count(heard: &[Event], fits: impl Fn(&Event) -> bool) -> usize {
    heard.iter().filter(|event| fits(event)).count()
}

fn is_presence(event: &Event) -> bool {
    matches!(event, Event::Presence(_))
}

fn is_new_profile(event: &Event) -> bool {
    matches!(event, Event::Account(entry) if entry.change == AccountChange::ProfileUpdated)
}
