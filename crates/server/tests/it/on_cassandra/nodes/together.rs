//! Events reach all users at all nodes.

use futures_util::future::join_all;
use godwit_client::Draft;
use godwit_client::protocol::socket::Event;
use godwit_client::protocol::{ConversationId, Seq};

use super::{Nodes, group_of};
use crate::follower::Follower;
use crate::logs::{assert_rest_of, read_log, texts};
use crate::people::{Person, soon};
use crate::process::run;

const NODES: usize = 3;
/// Two per node.
const MEMBERS: usize = 6;
const MESSAGES_EACH: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_at_different_nodes_see_one_log() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let people = join_all((0..MEMBERS).map(|number| nodes.person(number % NODES, "member"))).await;
    let group = group_of(&people[0], &people[1..]).await;
    let followers: Vec<Follower> =
        people.iter().map(|person| Follower::start(&person.handle, person.http.clone())).collect();
    join_all(followers.iter().map(Follower::catches_up)).await;
    // All send concurrently, each in order, half over sockets and half over HTTP.
    join_all(people.iter().zip(&followers).enumerate().map(|(number, (person, follower))| async move {
        for count in 0..MESSAGES_EACH {
            let draft = Draft::text(format!("{number}/{count}"));
            if number % 2 == 0 {
                person.http.send_message(group, draft).await.unwrap();
            } else {
                follower.live.send(group, draft).await.unwrap();
            }
        }
    }))
    .await;
    let log = read_log(&people[0].http, group).await;
    assert_eq!(texts(&log).len(), MEMBERS * MESSAGES_EACH);
    for number in 0..MEMBERS {
        let own: Vec<&str> =
            texts(&log).into_iter().filter(|text| text.starts_with(&format!("{number}/"))).collect();
        let sent: Vec<String> = (0..MESSAGES_EACH).map(|count| format!("{number}/{count}")).collect();
        assert_eq!(own, sent, "the messages of one sender are in the order in which they were sent");
    }
    let head = log.last().unwrap().seq;
    for follower in followers {
        follower.reaches(group, head).await;
        let name = follower.name.clone();
        let mut followed = follower.finish().await;
        assert_eq!((followed.connections, followed.all_reset), (1, 0), "{name} was never away");
        assert_rest_of(&log, &name, &followed.log(group));
    }
    // Every node returns the same.
    for node in 0..NODES {
        let reader = nodes.at(node, &people[1]);
        assert!(read_log(&reader.http, group).await == log);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_shows_acknowledged_changes_of_the_others() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let (ada, bob) = (nodes.person(0, "ada").await, nodes.person(1, "bob").await);
    let chat = ada.open_direct(&bob).await;
    for round in 0..10 {
        for node in 0..NODES {
            let text = format!("{round} at {node}");
            nodes.at(node, &ada).http.send_message(chat, Draft::text(&text)).await.unwrap();
            for reader in (0..NODES).map(|node| nodes.at(node, &bob)) {
                let log = read_log(&reader.http, chat).await;
                assert_eq!(texts(&log).last(), Some(&&*text));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn typing_presence_cursors_and_account_changes_reach_other_nodes() {
    let (nodes, _redis) = Nodes::start(NODES).await;
    let (ada, bob) = (nodes.person(0, "ada").await, nodes.person(1, "bob").await);
    let chat = ada.open_direct(&bob).await;
    let sent = ada.http.send_message(chat, Draft::text("hello")).await.unwrap();
    let watcher = ada.device("phone").await;
    let listed = watcher.socket.watch_presence(vec![bob.id]).await.unwrap();
    assert!(!listed[0].presence.online);

    let phone = nodes.at(1, &bob).device("phone").await;
    let tablet = nodes.at(2, &bob).device("tablet").await;
    is_seen(&watcher, &bob, true).await;
    assert!(nodes.at(2, &ada).http.user(bob.id).await.unwrap().presence.unwrap().online);

    phone.socket.typing(chat, true).await.unwrap();
    watcher
        .hears("that bob writes", |event| match event {
            Event::Typing(typing) => (typing.user_id == bob.id && typing.typing).then_some(()),
            _ => None,
        })
        .await;

    phone.socket.read(chat, sent.seq).await.unwrap();
    watcher
        .hears("that bob has read it", |event| match event {
            Event::Cursor(event) => {
                (event.cursor.user_id == bob.id && event.cursor.read == sent.seq).then_some(())
            }
            _ => None,
        })
        .await;
    // Every node knows, including those without a hint about Bob's devices.
    for node in 0..NODES {
        let reader = nodes.at(node, &ada);
        soon("the status of the message", async {
            while !is_read(&reader, chat, sent.seq).await {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
    }
    tablet
        .hears_account("that it was read on the other device", |change| {
            matches!(change, godwit_client::protocol::sync::AccountChange::ReadMoved { .. })
        })
        .await;

    // Bob is online until the last of his devices has disconnected, at any node.
    phone.socket.close().await;
    phone.closed().await;
    tablet.socket.close().await;
    tablet.closed().await;
    is_seen(&watcher, &bob, false).await;
}

async fn is_read(reader: &Person, chat: ConversationId, seq: Seq) -> bool {
    let page = reader.http.log(chat, Seq::new(seq.get() - 1), Some(1)).await.unwrap();
    crate::logs::messages(&page.entries)
        .any(|message| message.status == godwit_client::protocol::messages::MessageStatus::Read)
}

async fn is_seen(watcher: &crate::people::Device, of: &Person, online: bool) {
    watcher
        .hears_all("presence", |events| {
            let last = events.iter().rev().find_map(|event| match event {
                Event::Presence(event) if event.user_id == of.id => Some(event.presence.online),
                _ => None,
            });
            (last == Some(online)).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_sees_all_nodes() {
    let (mut nodes, _redis) = Nodes::start(NODES).await;
    let ada = nodes.person(0, "ada").await;
    let _phone = ada.device("phone").await;
    let status = |nodes: &Nodes| {
        let folder = nodes.servers[0].data_dir().to_owned();
        let config = folder.parent().unwrap().join("test.toml");
        let args = ["cluster", "status", "--json", "--config", config.to_str().unwrap()];
        let output = run(&folder, &args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    soon("the nodes to say what they have", async {
        loop {
            let seen = status(&nodes);
            let sockets: u64 = seen.iter().map(|node| node["sockets"].as_u64().unwrap()).sum();
            if seen.len() == NODES && sockets == 1 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
    nodes.servers[2].stop().await;
    assert_eq!(status(&nodes).len(), NODES - 1, "who stops says so");
}
