//! Which sockets an event reaches, and when sockets are closed.

use std::sync::atomic::AtomicI64;

use bytes::Bytes;
use godwit_domain::ports::{Audience, Delivery, HiddenFrom, Less, OutgoingEntry, Seeing};
use godwit_protocol::Seq;
use godwit_protocol::messages::{Change, LogEntry};
use godwit_protocol::people::Presence;
use godwit_protocol::socket::{EntryEvent, EntryFrame, PresenceEvent};

use super::*;
use crate::outgoing::Step;

#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

fn hub() -> (Arc<SetClock>, Hub) {
    let clock = Arc::new(SetClock::default());
    let config = HubConfig {
        heartbeat_ms: 1_000,
        sign_in_within_ms: 500,
        queue_frames_max: 8,
        queue_bytes_max: 4_096,
        answers_bytes_max: 5_000,
        per_user_max: 4,
        per_device_max: 3,
    };
    (clock.clone(), Hub::new(config, clock))
}

fn user(id: u64) -> UserId {
    UserId::new(id)
}

fn signed_in(hub: &Hub, owner: u64, device: u64) -> Arc<Socket> {
    let socket = hub.open();
    assert!(hub.sign_in(&socket, user(owner), DeviceId::new(device), None));
    socket
}

fn reconnect() -> Event {
    Event::Reconnect(Reconnect { after_ms: 7 })
}

fn log_entry(seq: u64) -> Arc<LogEntry> {
    let change = Change::MemberLeft { user_id: user(9) };
    Arc::new(LogEntry { seq: Seq::new(seq), at: Timestamp::from_millis(0), change })
}

fn entry(seq: u64) -> OutgoingEntry {
    OutgoingEntry { entry: log_entry(seq), less: None }
}

/// An entry that is withheld, as an entry with another number, from users who may not see the message at
/// `about`.
fn entry_about(seq: u64, about: u64, hidden_from: &[u64]) -> OutgoingEntry {
    let hidden_from = HiddenFrom::These(hidden_from.iter().map(|id| user(*id)).collect());
    let unless = Seeing { seq: Seq::new(about), hidden_from };
    let less = Some(Box::new(Less { entry: log_entry(900 + seq), unless }));
    OutgoingEntry { entry: log_entry(seq), less }
}

/// The events that a socket got.
async fn events(socket: &Socket) -> Vec<serde_json::Value> {
    // The ping makes sure that there is a step to take.
    socket.outgoing.ping();
    let Step::Write { frames, .. } = socket.outgoing.next().await else { panic!("closed") };
    socket.outgoing.written(frames.iter().map(Bytes::len).sum());
    let event = |frame: &Bytes| {
        let start = frame.iter().position(|byte| *byte == b'{').unwrap();
        serde_json::from_slice(&frame[start..]).unwrap()
    };
    frames.iter().map(event).collect()
}

/// The numbers of the entries that a socket got.
async fn seqs(socket: &Socket) -> Vec<u64> {
    events(socket).await.iter().map(|event| event["entry"]["seq"].as_u64().unwrap()).collect()
}

fn presence(of: u64) -> PresenceEvent {
    PresenceEvent { user_id: user(of), presence: Presence { online: true, last_seen_at: None } }
}

async fn frames(socket: &Socket) -> usize {
    // The ping makes sure that there is a step to take.
    socket.outgoing.ping();
    match socket.outgoing.next().await {
        Step::Write { frames, .. } => frames.len(),
        Step::Close(code) => panic!("closed with {code:?}"),
    }
}

#[tokio::test]
async fn an_event_reaches_every_socket_of_the_users_and_no_other() {
    let (_, hub) = hub();
    let (phone, laptop, other) = (signed_in(&hub, 1, 10), signed_in(&hub, 1, 11), signed_in(&hub, 2, 20));
    let stranger = hub.open();
    hub.deliver(&[user(1), user(3)], &reconnect());
    assert_eq!((frames(&phone).await, frames(&laptop).await), (1, 1));
    assert_eq!((frames(&other).await, frames(&stranger).await), (0, 0));
    hub.forget(&phone);
    assert!(hub.has(user(1)));
    hub.forget(&laptop);
    assert!(!hub.has(user(1)));
    assert_eq!(hub.open_sockets(), 2);
}

#[tokio::test]
async fn entries_reach_members_from_their_first_visible_one() {
    let (_, hub) = hub();
    let (ada, bob, eve) = (signed_in(&hub, 1, 10), signed_in(&hub, 2, 20), signed_in(&hub, 3, 30));
    let to = Audience::Members(vec![(user(1), Seq::ZERO), (user(2), Seq::new(5)), (user(4), Seq::ZERO)]);
    hub.deliver_entries(ConversationId::new(7), &[entry(4), entry(5), entry(6)], &to);
    assert_eq!((frames(&ada).await, frames(&bob).await, frames(&eve).await), (3, 2, 0));
}

/// A user who joins follows before the entries of the same append are sent.
#[tokio::test]
async fn entries_reach_followers_from_their_first_visible_one() {
    let (_, hub) = hub();
    let sockets: Vec<_> = (1..=4).map(|id| signed_in(&hub, id, id * 10)).collect();
    let birds = ConversationId::new(7);
    let from = [(user(1), Seq::ZERO), (user(2), Seq::new(6)), (user(3), Seq::new(9))];
    hub.follow(&from, birds);
    for entries in [[entry(4), entry(5), entry(6)], [entry(4), entry_about(5, 3, &[1]), entry(6)]] {
        hub.deliver_entries(birds, &entries, &Audience::Followers);
        let mut got = Vec::new();
        for socket in &sockets {
            got.push(seqs(socket).await.len());
        }
        assert_eq!(got, [3, 1, 0, 0]);
    }
}

/// If it is not known who sees the message, everybody is told to read the entry.
#[tokio::test]
async fn an_entry_that_is_omitted_is_told_to_all_in_its_place() {
    let (_, hub) = hub();
    let sockets: Vec<_> = (1..=2).map(|id| signed_in(&hub, id, id * 10)).collect();
    let birds = ConversationId::new(7);
    let mut omitted = entry_about(6, 3, &[]);
    omitted.less.as_mut().unwrap().unless.hidden_from = HiddenFrom::TooMany;
    let from = [(user(1), Seq::ZERO), (user(2), Seq::new(4))];
    hub.follow(&from, birds);
    for audience in [Audience::Members(from.to_vec()), Audience::Followers] {
        hub.deliver_entries(birds, &[entry(5), omitted.clone(), entry(7)], &audience);
        for socket in &sockets {
            let told: Vec<_> = events(socket).await.iter().map(ToString::to_string).collect();
            assert_eq!(told[1], r#"{"entry_omitted":{"conversation_id":"7","seq":6}}"#);
            assert_eq!(told.len(), 3);
        }
    }
}

#[tokio::test]
async fn entries_about_invisible_messages_are_withheld() {
    let (_, hub) = hub();
    let sockets: Vec<_> = (1..=3).map(|id| signed_in(&hub, id, id * 10)).collect();
    let birds = ConversationId::new(7);
    let entries = [entry(5), entry_about(6, 3, &[3]), entry(7)];
    // The first user sees everything, the second only what is after 3, and the third has hidden 3.
    let from = [(user(1), Seq::ZERO), (user(2), Seq::new(4)), (user(3), Seq::ZERO)];
    hub.follow(&from, birds);
    for audience in [Audience::Members(from.to_vec()), Audience::Followers] {
        hub.deliver_entries(birds, &entries, &audience);
        let mut got = Vec::new();
        for socket in &sockets {
            got.push(seqs(socket).await);
        }
        assert_eq!(got, [vec![5, 6, 7], vec![5, 906, 7], vec![5, 906, 7]], "{audience:?}");
    }
    // A user who follows again sees less from then on.
    hub.follow(&[(user(1), Seq::new(5))], birds);
    hub.deliver_entries(birds, &entries, &Audience::Followers);
    assert_eq!(seqs(&sockets[0]).await, [5, 906, 7]);
}

#[tokio::test]
async fn cleared_entries_are_not_delivered_again() {
    let (_, hub) = hub();
    let (ada, bob) = (signed_in(&hub, 1, 10), signed_in(&hub, 2, 20));
    let birds = ConversationId::new(7);
    hub.follow(&[(user(1), Seq::ZERO)], birds);
    // The second user does not follow, and does not begin to.
    hub.conceal(&[(user(1), Seq::new(4)), (user(2), Seq::new(4))], birds);
    hub.deliver_entries(birds, &[entry_about(6, 3, &[])], &Audience::Followers);
    assert_eq!((seqs(&ada).await, seqs(&bob).await), (vec![906], vec![]));
    // A position that was read earlier arrives late.
    hub.follow(&[(user(1), Seq::new(2))], birds);
    hub.conceal(&[(user(1), Seq::new(3))], birds);
    hub.deliver_entries(birds, &[entry_about(7, 3, &[]), entry_about(8, 4, &[])], &Audience::Followers);
    assert_eq!(seqs(&ada).await, [907, 8]);
}

#[test]
fn an_entry_is_encoded_as_an_entry_event() {
    let (conversation_id, entry) = (ConversationId::new(7), log_entry(4));
    let event = Event::Entry(EntryEvent { conversation_id, entry: LogEntry::clone(&entry) });
    assert_eq!(frame::text(&EntryFrame::new(conversation_id, &entry)), frame::text(&event));
}

#[tokio::test]
async fn closing_a_device_keeps_the_users_other_devices() {
    let (_, hub) = hub();
    let (phone, laptop) = (signed_in(&hub, 1, 10), signed_in(&hub, 1, 11));
    hub.close_device(user(1), DeviceId::new(10), CloseCode::SignedOut);
    hub.deliver(&[user(1)], &reconnect());
    assert_eq!(phone.outgoing.next().await, Step::Close(CloseCode::SignedOut));
    assert_eq!(frames(&laptop).await, 1);
}

fn is_replaced(socket: &Socket) -> bool {
    socket.outgoing.is_closed()
}

#[tokio::test]
async fn a_socket_beyond_the_limit_replaces_the_oldest_of_its_device_then_of_its_user() {
    let (_, hub) = hub();
    let other = signed_in(&hub, 2, 20);
    let phone = signed_in(&hub, 1, 10);
    let tabs: Vec<_> = (0..5).map(|_| signed_in(&hub, 1, 11)).collect();
    assert_eq!(tabs[0].outgoing.next().await, Step::Close(CloseCode::Replaced));
    let replaced: Vec<bool> = tabs.iter().map(|tab| is_replaced(tab)).collect();
    assert_eq!(replaced, [true, true, false, false, false]);
    assert!(!is_replaced(&phone), "another device has its own");
    // The user has four open sockets, of two devices.
    let laptop = signed_in(&hub, 1, 12);
    assert!(is_replaced(&phone) && !is_replaced(&laptop) && !is_replaced(&other));
}

/// Signs in concurrently with another socket: it has not checked the limits yet.
fn signing_in(hub: &Hub, owner: u64, device: u64) -> Arc<Socket> {
    let socket = hub.open();
    assert!(socket.set_owner(user(owner), DeviceId::new(device)));
    hub.by_user.add(user(owner), &socket);
    socket
}

#[tokio::test]
async fn concurrent_sign_ins_replace_as_many_sockets_as_exceed_the_limit() {
    let (_, hub) = hub();
    // Two sockets of each of three devices; the limit of a user is four.
    let others: Vec<_> = (0..6).map(|n| signing_in(&hub, 1, 10 + n / 2)).collect();
    let newest = signed_in(&hub, 1, 12);
    let gone: Vec<bool> = others.iter().map(|socket| is_replaced(socket)).collect();
    assert_eq!(gone, [true, true, true, false, false, false]);
    assert!(!is_replaced(&newest));
    // Five sockets of one device, whose limit is three; then the user has one too many.
    let (_, hub) = self::hub();
    let phones: Vec<_> = (0..2).map(|_| signing_in(&hub, 1, 10)).collect();
    let tabs: Vec<_> = (0..4).map(|_| signing_in(&hub, 1, 11)).collect();
    signed_in(&hub, 1, 11);
    let open = |sockets: &[Arc<Socket>]| sockets.iter().filter(|socket| !is_replaced(socket)).count();
    assert_eq!((open(&phones), open(&tabs)), (1, 2));
}

#[tokio::test]
async fn a_silent_socket_is_replaced_before_an_older_one() {
    let (_, hub) = hub();
    let tabs: Vec<_> = (0..3).map(|_| signed_in(&hub, 1, 11)).collect();
    hub.sweep(Duration::from_millis(1_500));
    hub.heard(&tabs[0]);
    hub.heard(&tabs[2]);
    let newest = signed_in(&hub, 1, 11);
    assert!(is_replaced(&tabs[1]));
    assert!(!is_replaced(&tabs[0]) && !is_replaced(&tabs[2]) && !is_replaced(&newest));
}

#[tokio::test]
async fn a_socket_does_not_change_hands() {
    let (_, hub) = hub();
    let socket = signed_in(&hub, 1, 10);
    assert!(hub.sign_in(&socket, user(1), DeviceId::new(10), None));
    assert!(!hub.sign_in(&socket, user(2), DeviceId::new(20), None));
    hub.deliver(&[user(1), user(2)], &reconnect());
    assert_eq!(frames(&socket).await, 1);
}

#[tokio::test]
async fn presence_reaches_watchers_until_they_stop() {
    let (_, hub) = hub();
    let watcher = signed_in(&hub, 1, 10);
    hub.watch(&watcher, &[user(5), user(6)]);
    hub.watch(&watcher, &[user(6), user(7)]);
    for of in 5..8 {
        hub.deliver_presence(presence(of));
    }
    assert_eq!(frames(&watcher).await, 2);
    hub.stop_watching(user(1), user(6));
    hub.deliver_presence(presence(6));
    assert_eq!(frames(&watcher).await, 0);
    hub.forget(&watcher);
    assert!(!hub.watchers.contains(user(7)));
}

#[tokio::test]
async fn followers_get_what_is_delivered_to_them_until_they_leave_or_close() {
    let (_, hub) = hub();
    let (phone, laptop, other) = (signed_in(&hub, 1, 10), signed_in(&hub, 1, 11), signed_in(&hub, 2, 20));
    let (birds, fish) = (ConversationId::new(5), ConversationId::new(6));
    for (follower, conversation) in [(1, birds), (1, birds), (2, birds), (2, fish), (3, fish)] {
        hub.follow(&[(user(follower), Seq::ZERO)], conversation);
    }
    hub.deliver_entries(birds, &[entry(1)], &Audience::Followers);
    assert_eq!((frames(&phone).await, frames(&laptop).await, frames(&other).await), (1, 1, 1));
    hub.unfollow(&[user(1)], birds);
    hub.deliver_entries(birds, &[entry(1)], &Audience::Followers);
    assert_eq!((frames(&phone).await, frames(&laptop).await, frames(&other).await), (0, 0, 1));
    hub.forget(&other);
    hub.follow(&[(user(2), Seq::ZERO)], fish);
    assert!(hub.followers.is_empty());
}

#[tokio::test]
async fn sockets_are_closed_without_a_sign_in_a_fresh_token_or_a_heartbeat() {
    let (clock, hub) = hub();
    let (silent, anonymous, expiring) = (signed_in(&hub, 1, 10), hub.open(), hub.open());
    hub.sign_in(&expiring, user(2), DeviceId::new(20), Some(Timestamp::from_millis(400)));
    clock.0.store(400, Ordering::Relaxed);
    hub.sweep(Duration::from_millis(400));
    assert_eq!(expiring.outgoing.next().await, Step::Close(CloseCode::TokenExpired));
    clock.0.store(500, Ordering::Relaxed);
    hub.sweep(Duration::from_millis(500));
    assert_eq!(anonymous.outgoing.next().await, Step::Close(CloseCode::SignInTimeout));
    hub.sweep(Duration::from_millis(1_000));
    assert_eq!(silent.outgoing.next().await, Step::Write { frames: vec![], ping: true });
    hub.heard(&silent);
    hub.sweep(Duration::from_millis(3_000));
    assert_eq!(silent.outgoing.next().await, Step::Write { frames: vec![], ping: true });
    hub.sweep(Duration::from_millis(3_001));
    assert_eq!(silent.outgoing.next().await, Step::Close(CloseCode::HeartbeatTimeout));
}

#[tokio::test]
async fn sockets_get_catch_up_once_they_are_signed_in() {
    let (_, hub) = hub();
    let (socket, anonymous) = (signed_in(&hub, 1, 10), hub.open());
    hub.catch_up(Duration::from_secs(5));
    let Step::Write { frames: told, .. } = socket.outgoing.next().await else { panic!("it is told") };
    assert!(told[0][2..].starts_with(b"{\"catch_up\""));
    assert_eq!(frames(&anonymous).await, 0);
}

#[tokio::test]
async fn a_restart_asks_all_sockets_to_reconnect() {
    let (_, hub) = hub();
    let socket = signed_in(&hub, 1, 10);
    hub.restart(Duration::from_secs(5));
    let Step::Write { frames, .. } = socket.outgoing.next().await else { panic!("there is a last frame") };
    let (_header, payload) = frames[0].split_at(2);
    assert!(payload.starts_with(b"{\"reconnect\""));
    assert_eq!(socket.outgoing.next().await, Step::Close(CloseCode::ServiceRestart));
}

#[tokio::test]
async fn the_answers_of_all_sockets_together_are_bounded() {
    let (_, hub) = hub();
    let frame = |bytes: usize| Bytes::from(vec![b'x'; bytes]);
    let sockets: Vec<_> = (1..=4).map(|owner| signed_in(&hub, owner, owner)).collect();
    let is_closed = || sockets.iter().map(|socket| socket.outgoing.is_closed()).collect::<Vec<_>>();
    for (socket, bytes) in sockets.iter().zip([1_000, 2_000, 1_500, 500]) {
        assert!(socket.outgoing.answer(frame(bytes)));
        // Events are shared, and cost little however many sockets they wait for.
        assert!(socket.outgoing.push(frame(2_000)));
    }
    hub.sweep(Duration::from_millis(100));
    assert_eq!(is_closed(), [false; 4], "as many as there may be");
    sockets[0].outgoing.answer(frame(1));
    hub.sweep(Duration::from_millis(200));
    assert_eq!(is_closed(), [false, true, false, false], "the one with most");
    assert_eq!(sockets[1].outgoing.next().await, Step::Close(CloseCode::TooSlow));
    // What is being written counts, and what was written does not.
    let Step::Write { frames, .. } = sockets[2].outgoing.next().await else { panic!("closed") };
    assert_eq!(sockets[2].outgoing.answer_bytes(), 1_500);
    sockets[2].outgoing.answer(frame(7));
    sockets[2].outgoing.written(frames.iter().map(Bytes::len).sum());
    assert_eq!(sockets[2].outgoing.answer_bytes(), 7);
}

#[tokio::test]
async fn of_too_many_answers_those_of_the_user_with_most_go_whatever_their_sockets() {
    let (_, hub) = hub();
    let frame = |bytes: usize| Bytes::from(vec![b'x'; bytes]);
    // A reader with one large answer, and others who are within their limits with many sockets.
    let reader = signed_in(&hub, 1, 1);
    reader.outgoing.answer(frame(900));
    let anonymous = hub.open();
    anonymous.outgoing.answer(frame(100));
    let many: Vec<_> = (0..8)
        .map(|number| {
            let socket = signed_in(&hub, 2 + number % 2, 2 + number);
            socket.outgoing.answer(frame(600));
            socket
        })
        .collect();
    hub.sweep(Duration::from_millis(100));
    let closed = many.iter().filter(|socket| socket.outgoing.is_closed()).count();
    assert!(!reader.outgoing.is_closed() && !anonymous.outgoing.is_closed());
    assert_eq!(closed, 2, "as few as needed");
}
