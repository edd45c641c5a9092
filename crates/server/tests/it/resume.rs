//! Going on after a break: sockets that are cut, servers that come and go, clients that were away.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use godwit_client::protocol::limits::{PAGE_MAX, TEXT_CHARS_MAX};
use godwit_client::protocol::messages::Message;
use godwit_client::protocol::{ConversationId, ErrorCode, Seq};
use godwit_client::{Draft, Live};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinHandle;

use crate::follower::Follower;
use crate::logs::{assert_part_of, assert_rest_of, messages, read_log, same, texts};
use crate::people::{Person, open_socket, soon};
use crate::process::ServerProcess;
use crate::unlimited::unlimited;
use crate::wire::Wire;

/// How often the wire is cut while everybody sends.
const CUTS: usize = 40;

/// Two people with two devices each, and their conversation, all over one wire.
struct Stage {
    ada: Person,
    chat: ConversationId,
    followers: Vec<Follower>,
    wire: Wire,
    server: ServerProcess,
}

impl Stage {
    async fn new() -> Self {
        let server = unlimited().await;
        let wire = Wire::to(server.address()).await;
        let [ada, bob] = Person::register_all(&wire.url, ["ada", "bob"]).await;
        let chat = ada.open_direct(&bob).await;
        let mut followers = Vec::new();
        for person in [&ada, &bob] {
            for name in ["phone", "laptop"] {
                let (_, http) = person.sign_in(name).await;
                followers.push(Follower::start(&format!("{}'s {name}", person.handle), http));
            }
        }
        Self { ada, chat, followers, wire, server }
    }

    /// Every device sends one message after the other until it is told to stop. Gives what was acknowledged.
    fn send_until(&self, stop: &Arc<AtomicBool>) -> Vec<JoinHandle<Vec<Message>>> {
        let senders = self.followers.iter();
        senders
            .map(|f| tokio::spawn(send_until(f.name.clone(), f.live.clone(), self.chat, stop.clone())))
            .collect()
    }

    /// Every device got exactly the log, and the log has exactly what was acknowledged.
    async fn check(self, acknowledged: Vec<Vec<Message>>) {
        let log = read_log(&self.ada.http, self.chat).await;
        let head = log.last().unwrap().seq;
        for follower in &self.followers {
            follower.reaches(self.chat, head).await;
        }
        for (follower, acknowledged) in self.followers.into_iter().zip(acknowledged) {
            let name = follower.name.clone();
            let mut followed = follower.finish().await;
            assert_eq!(
                (followed.resets.len(), followed.all_reset),
                (0, 0),
                "{name} was never told to start anew"
            );
            assert!(followed.log(self.chat) == log, "{name} got exactly the log");
            let own: Vec<&str> = texts(&log).into_iter().filter(|text| text.starts_with(&name)).collect();
            let given: Vec<String> =
                (0..acknowledged.len()).map(|number| format!("{name} {number}")).collect();
            assert_eq!(own, given, "what {name} sent is there once and in order");
            for message in acknowledged {
                let at = usize::try_from(message.seq.get()).unwrap() - 2;
                assert_eq!(messages(&log).nth(at), Some(&same(message)));
            }
        }
    }
}

async fn send_until(name: String, live: Live, chat: ConversationId, stop: Arc<AtomicBool>) -> Vec<Message> {
    let mut acknowledged = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let draft = Draft::text(format!("{name} {}", acknowledged.len()));
        acknowledged.push(live.send(chat, draft).await.unwrap());
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_cut_again_and_again_end_with_exactly_the_log() {
    let seed = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let stage = Stage::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    let senders = stage.send_until(&stop);
    // Some connections break somewhere in a frame, and now and then all of them at once.
    stage.wire.wear(random.random(), 500..20_000, CUTS);
    for _ in 0..CUTS {
        tokio::time::sleep(Duration::from_millis(random.random_range(10..80))).await;
        stage.wire.cut_all();
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged = soon("all acknowledgements", try_join_all(senders)).await.unwrap();
    assert!(stage.wire.worn_out() > 0, "connections broke within frames");
    stage.check(acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_go_on_when_the_server_is_stopped_or_killed_and_started_again() {
    let mut stage = Stage::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    let senders = stage.send_until(&stop);
    for round in 0..4 {
        let head = stage.ada.http.conversation(stage.chat).await.unwrap().head;
        // Traffic is under way on every device.
        for follower in &stage.followers {
            follower.reaches(stage.chat, Seq::new(head.get() + 20)).await;
        }
        match round % 2 {
            0 => stage.server.stop().await,
            _ => stage.server.kill().await,
        }
        stage.server.start_again().await;
        stage.wire.lead_to(stage.server.address());
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged = soon("all acknowledgements", try_join_all(senders)).await.unwrap();
    stage.check(acknowledged).await;
}

/// Sends this many messages as fast as one socket takes them.
async fn send_many(by: &Person, chat: ConversationId, count: usize) -> Seq {
    let (socket, mut events) = open_socket(&by.http).await;
    let drain = tokio::spawn(async move { while events.next().await.is_some() {} });
    let sends = (0..count).map(|number| socket.send(chat, Draft::text(format!("{number}"))));
    let sent = try_join_all(sends).await.unwrap();
    socket.close().await;
    drain.await.unwrap();
    sent.last().unwrap().seq
}

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
async fn the_largest_page_comes_through_a_socket() {
    let server = unlimited().await;
    let [ada, bob] = Person::register_all(&server.url(), ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    // Each of these characters takes two bytes, escaped as well as not.
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
async fn another_process_goes_on_where_this_one_was_also_after_a_restart() {
    let mut server = unlimited().await;
    let wire = Wire::to(server.address()).await;
    let [ada, bob] = Person::register_all(&wire.url, ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let (_, http) = bob.sign_in("phone").await;
    let mut whole = Vec::new();
    let mut state = godwit_client::ResumeState::default();
    // More than a page is missed each time; the server is stopped in between, killed in between, and left alone.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_token_says_what_changed_also_after_a_restart() {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_has_seen_more_than_the_server_has_is_told_to_start_anew() {
    let mut server = unlimited().await;
    let wire = Wire::to(server.address()).await;
    let [ada, bob] = Person::register_all(&wire.url, ["ada", "bob"]).await;
    let chat = ada.open_direct(&bob).await;
    let kept = send_many(&ada, chat, 10).await;
    let (_, http) = bob.sign_in("phone").await;
    server.stop().await;
    let backup = tempfile::tempdir().unwrap();
    copy_folder(server.data_dir(), backup.path());
    server.start_again().await;
    wire.lead_to(server.address());

    let lost = send_many(&ada, chat, 20).await;
    let follower = Follower::start("bob's phone", http);
    follower.reaches(chat, lost).await;
    server.stop().await;
    std::fs::remove_dir_all(server.data_dir()).unwrap();
    copy_folder(backup.path(), server.data_dir());
    server.start_again().await;
    wire.lead_to(server.address());

    let ahead = bob.http.log(chat, lost, None).await.unwrap();
    assert_eq!((ahead.truncated, ahead.head, ahead.entries.len()), (true, kept, 0));
    follower.is_reset().await;
    let anew = send_many(&ada, chat, 5).await;
    assert!(anew < lost, "the log goes on from the backup");
    follower.reaches(chat, anew).await;
    let mut followed = follower.finish().await;
    assert_rest_of(&read_log(&ada.http, chat).await, "after the reset", &followed.log(chat));
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
