//! All sockets of this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use godwit_domain::ports::Clock;
use godwit_protocol::socket::{CatchUp, CloseCode, Event, Reconnect};
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use metrics::{counter, gauge};

use crate::followers::Followers;
use crate::frame;
use crate::outgoing::Outgoing;
use crate::sharded::Sharded;
use crate::socket::Socket;

/// How often the hub looks after its sockets.
const SWEEP_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubConfig {
    pub heartbeat_ms: u32,
    pub sign_in_within_ms: u32,
    /// Frames that may wait for one socket.
    pub queue_frames_max: usize,
    /// Bytes that may wait for one socket.
    pub queue_bytes_max: usize,
    /// Sockets of one user, and of one device. A further one takes the place of another.
    pub per_user_max: usize,
    pub per_device_max: usize,
}

#[derive(Debug)]
pub struct Hub {
    config: HubConfig,
    clock: Arc<dyn Clock>,
    started: Instant,
    /// Milliseconds since the start, as of the last sweep: cheap enough to be read for every frame.
    now_ms: AtomicU64,
    next_id: AtomicU64,
    pub(crate) all: Sharded<u64>,
    pub(crate) by_user: Sharded<UserId>,
    pub(crate) watchers: Sharded<UserId>,
    pub(crate) followers: Followers,
}

impl Hub {
    pub fn new(config: HubConfig, clock: Arc<dyn Clock>) -> Self {
        Self {
            config,
            clock,
            started: Instant::now(),
            now_ms: AtomicU64::new(0),
            next_id: AtomicU64::new(1),
            all: Sharded::new(),
            by_user: Sharded::new(),
            watchers: Sharded::new(),
            followers: Followers::default(),
        }
    }

    pub const fn config(&self) -> &HubConfig {
        &self.config
    }

    /// A socket has opened. It must be signed in within the time that the config gives.
    pub fn open(&self) -> Arc<Socket> {
        let outgoing = Outgoing::new(self.config.queue_frames_max, self.config.queue_bytes_max);
        let sign_in_by = self.clock.now().plus_millis(i64::from(self.config.sign_in_within_ms));
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let socket = Arc::new(Socket::new(id, outgoing, sign_in_by, self.now_ms.load(Ordering::Relaxed)));
        self.all.add(id, &socket);
        socket
    }

    /// The socket belongs to a device from now on, until the token expires. Signing in again with a fresh token of the
    /// same device extends it; false when the socket is another device's.
    pub fn sign_in(
        &self,
        socket: &Arc<Socket>,
        user: UserId,
        device: DeviceId,
        expires_at: Option<Timestamp>,
    ) -> bool {
        let first = socket.owner().is_none();
        if !socket.set_owner(user, device) {
            return false;
        }
        socket.set_deadline(expires_at);
        if first {
            self.by_user.add(user, socket);
            self.make_room(user, device, socket.id);
        }
        true
    }

    /// Closes sockets of the user for the one that has just come, where the device or the user has too many: as many as are too
    /// many, because several may have come at once. Those that have been silent, and so may have been lost, go first; then
    /// the oldest.
    fn make_room(&self, user: UserId, device: DeviceId, newest: u64) {
        let silent_before =
            self.now_ms.load(Ordering::Relaxed).saturating_sub(u64::from(self.config.heartbeat_ms));
        let mut open: Vec<(bool, u64, Arc<Socket>)> = Vec::new();
        self.by_user.with(user, |socket| {
            if !socket.outgoing.is_closed() {
                open.push((socket.last_heard_ms() >= silent_before, socket.id, socket.clone()));
            }
        });
        open.sort_unstable_by_key(|(heard, id, _)| (*heard, *id));
        let of_device = |socket: &Socket| socket.owner() == Some((user, device));
        let device_count = open.iter().filter(|(.., socket)| of_device(socket)).count();
        let too_many_of_device = device_count.saturating_sub(self.config.per_device_max);
        let too_many = open.len().saturating_sub(self.config.per_user_max).saturating_sub(too_many_of_device);
        let others = || open.iter().map(|(.., socket)| socket).filter(|socket| socket.id != newest);
        let go_for_device = others().filter(|socket| of_device(socket)).take(too_many_of_device);
        go_for_device.for_each(|socket| replace(socket));
        // Those that were closed just now are not among these.
        let go_for_user = others().filter(|socket| !socket.outgoing.is_closed()).take(too_many);
        go_for_user.for_each(|socket| replace(socket));
    }

    /// The socket has closed.
    pub fn forget(&self, socket: &Socket) {
        self.all.remove(socket.id, socket);
        if let Some((user, _)) = socket.owner() {
            self.by_user.remove(user, socket);
        }
        for watched in socket.watch(Vec::new()) {
            self.watchers.remove(watched, socket);
        }
        // Nobody finds it by its user any more, so nobody lets it follow another one.
        for conversation in socket.followed() {
            self.followers.remove(conversation, socket);
        }
    }

    /// Something came from the client.
    pub fn heard(&self, socket: &Socket) {
        socket.heard_at(self.now_ms.load(Ordering::Relaxed));
    }

    /// Replaces the users whose presence a socket is told of.
    pub fn watch(&self, socket: &Arc<Socket>, users: &[UserId]) {
        for user in users {
            self.watchers.add(*user, socket);
        }
        for before in socket.watch(users.to_vec()) {
            if !users.contains(&before) {
                self.watchers.remove(before, socket);
            }
        }
    }

    /// Looks after heartbeats and deadlines until the future is dropped. One for the whole server.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sweep(self.started.elapsed());
        }
    }

    /// Tells every socket to come back, each after a different time within `spread`, and closes it.
    pub fn restart(&self, spread: Duration) {
        self.all.for_each(|socket| {
            let event = Event::Reconnect(Reconnect { after_ms: spread_out(socket, spread) });
            if let Some(frame) = frame::text(&event) {
                socket.outgoing.finish(frame, CloseCode::ServiceRestart);
            }
        });
    }

    /// Tells every socket that something may have been lost on the way to it. Each looks after a different time.
    pub fn catch_up(&self, spread: Duration) {
        self.all.for_each(|socket| {
            if socket.owner().is_some()
                && let Some(frame) =
                    frame::text(&Event::CatchUp(CatchUp { after_ms: spread_out(socket, spread) }))
            {
                socket.outgoing.push(frame);
            }
        });
    }

    /// Whoever has a socket here.
    pub fn users(&self) -> Vec<UserId> {
        self.by_user.keys()
    }

    /// Whomever somebody here watches.
    pub fn watched(&self) -> Vec<UserId> {
        self.watchers.keys()
    }

    /// The devices with which the user is here.
    pub fn devices_of(&self, user: UserId) -> Vec<DeviceId> {
        let mut devices = Vec::new();
        self.by_user.with(user, |socket| devices.extend(socket.owner().map(|(_, device)| device)));
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// What the user's sockets follow.
    pub fn followed_by(&self, user: UserId) -> Vec<ConversationId> {
        let mut followed = Vec::new();
        self.by_user.with(user, |socket| followed.extend(socket.followed()));
        followed.sort_unstable();
        followed.dedup();
        followed
    }

    /// Whom the user's sockets watch.
    pub fn watched_by(&self, user: UserId) -> Vec<UserId> {
        let mut watched = Vec::new();
        self.by_user.with(user, |socket| watched.extend(socket.watched()));
        watched.sort_unstable();
        watched.dedup();
        watched
    }

    /// Whether the user has a socket here.
    pub fn has(&self, user: UserId) -> bool {
        self.by_user.contains(user)
    }

    pub fn open_sockets(&self) -> usize {
        self.all.len()
    }

    fn sweep(&self, elapsed: Duration) {
        let now_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.now_ms.store(now_ms, Ordering::Relaxed);
        let now = self.clock.now();
        let (mut open, mut signed_in, mut queued) = (0_usize, 0_usize, 0_usize);
        self.all.for_each(|socket| {
            socket.sweep(now, now_ms, u64::from(self.config.heartbeat_ms));
            open += 1;
            signed_in += usize::from(socket.owner().is_some());
            queued += socket.outgoing.queued_bytes();
        });
        gauge!("godwit_sockets", "state" => "signed_in").set(signed_in as f64);
        gauge!("godwit_sockets", "state" => "anonymous").set((open - signed_in) as f64);
        gauge!("godwit_socket_queue_bytes").set(queued as f64);
    }
}

/// Closes a socket for another one of its user.
fn replace(socket: &Socket) {
    counter!("godwit_sockets_replaced_total").increment(1);
    socket.outgoing.close(CloseCode::Replaced);
}

/// Neighbouring numbers land far apart, which is all that is needed of randomness here.
fn spread_out(socket: &Socket, spread: Duration) -> u32 {
    let spread_ms = u64::try_from(spread.as_millis()).unwrap_or(u64::MAX).max(1);
    let after_ms = (socket.id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % spread_ms;
    u32::try_from(after_ms).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
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

    /// Who cannot see the message at `about` gets an entry of another number.
    fn entry_about(seq: u64, about: u64, hidden_from: &[u64]) -> OutgoingEntry {
        let hidden_from = HiddenFrom::These(hidden_from.iter().map(|id| user(*id)).collect());
        let unless = Seeing { seq: Seq::new(about), hidden_from };
        let less = Some(Box::new(Less { entry: log_entry(900 + seq), unless }));
        OutgoingEntry { entry: log_entry(seq), less }
    }

    /// What a socket got: the numbers of entries.
    async fn seqs(socket: &Socket) -> Vec<u64> {
        // The ping makes sure that there is a step to take.
        socket.outgoing.ping();
        let Step::Write { frames, .. } = socket.outgoing.next().await else { panic!("closed") };
        socket.outgoing.written(frames.iter().map(Bytes::len).sum());
        let seq = |frame: &Bytes| {
            let start = frame.iter().position(|byte| *byte == b'{').unwrap();
            let event: serde_json::Value = serde_json::from_slice(&frame[start..]).unwrap();
            event["entry"]["seq"].as_u64().unwrap()
        };
        frames.iter().map(seq).collect()
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
    async fn entries_reach_members_from_the_first_that_they_see() {
        let (_, hub) = hub();
        let (ada, bob, eve) = (signed_in(&hub, 1, 10), signed_in(&hub, 2, 20), signed_in(&hub, 3, 30));
        let to = Audience::Members(vec![(user(1), Seq::ZERO), (user(2), Seq::new(5)), (user(4), Seq::ZERO)]);
        hub.deliver_entries(ConversationId::new(7), &[entry(4), entry(5), entry(6)], &to);
        assert_eq!((frames(&ada).await, frames(&bob).await, frames(&eve).await), (3, 2, 0));
    }

    #[tokio::test]
    async fn who_cannot_see_what_an_entry_is_about_gets_less_of_it() {
        let (_, hub) = hub();
        let sockets: Vec<_> = (1..=3).map(|id| signed_in(&hub, id, id * 10)).collect();
        let birds = ConversationId::new(7);
        let entries = [entry(5), entry_about(6, 3, &[3]), entry(7)];
        // The first sees all of it, the second only what is after 3, and the third has hidden 3.
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
        // Who follows again sees less from then on.
        hub.follow(&[(user(1), Seq::new(5))], birds);
        hub.deliver_entries(birds, &entries, &Audience::Followers);
        assert_eq!(seqs(&sockets[0]).await, [5, 906, 7]);
    }

    #[tokio::test]
    async fn what_somebody_has_cleared_they_do_not_get_again() {
        let (_, hub) = hub();
        let (ada, bob) = (signed_in(&hub, 1, 10), signed_in(&hub, 2, 20));
        let birds = ConversationId::new(7);
        hub.follow(&[(user(1), Seq::ZERO)], birds);
        // The second one does not follow, and does not begin to.
        hub.conceal(&[(user(1), Seq::new(4)), (user(2), Seq::new(4))], birds);
        hub.deliver_entries(birds, &[entry_about(6, 3, &[])], &Audience::Followers);
        assert_eq!((seqs(&ada).await, seqs(&bob).await), (vec![906], vec![]));
        // What was read before comes late.
        hub.follow(&[(user(1), Seq::new(2))], birds);
        hub.conceal(&[(user(1), Seq::new(3))], birds);
        hub.deliver_entries(birds, &[entry_about(7, 3, &[]), entry_about(8, 4, &[])], &Audience::Followers);
        assert_eq!(seqs(&ada).await, [907, 8]);
    }

    #[test]
    fn an_entry_is_written_as_the_event_that_clients_read() {
        let (conversation_id, entry) = (ConversationId::new(7), log_entry(4));
        let event = Event::Entry(EntryEvent { conversation_id, entry: LogEntry::clone(&entry) });
        assert_eq!(frame::text(&EntryFrame::new(conversation_id, &entry)), frame::text(&event));
    }

    #[tokio::test]
    async fn closing_a_device_spares_the_others_of_the_user() {
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
    async fn a_further_socket_takes_the_place_of_the_oldest_of_its_device_and_then_of_its_user() {
        let (_, hub) = hub();
        let other = signed_in(&hub, 2, 20);
        let phone = signed_in(&hub, 1, 10);
        let tabs: Vec<_> = (0..5).map(|_| signed_in(&hub, 1, 11)).collect();
        assert_eq!(tabs[0].outgoing.next().await, Step::Close(CloseCode::Replaced));
        let replaced: Vec<bool> = tabs.iter().map(|tab| is_replaced(tab)).collect();
        assert_eq!(replaced, [true, true, false, false, false]);
        assert!(!is_replaced(&phone), "another device has its own");
        // Four of the user are open, of two devices.
        let laptop = signed_in(&hub, 1, 12);
        assert!(is_replaced(&phone) && !is_replaced(&laptop) && !is_replaced(&other));
    }

    /// Comes at the same moment as another one: it has not looked yet whether there are too many.
    fn signing_in(hub: &Hub, owner: u64, device: u64) -> Arc<Socket> {
        let socket = hub.open();
        assert!(socket.set_owner(user(owner), DeviceId::new(device)));
        hub.by_user.add(user(owner), &socket);
        socket
    }

    #[tokio::test]
    async fn when_several_come_at_once_as_many_go_as_are_too_many() {
        let (_, hub) = hub();
        // Two of each of three devices; a user has four.
        let others: Vec<_> = (0..6).map(|n| signing_in(&hub, 1, 10 + n / 2)).collect();
        let newest = signed_in(&hub, 1, 12);
        let gone: Vec<bool> = others.iter().map(|socket| is_replaced(socket)).collect();
        assert_eq!(gone, [true, true, true, false, false, false]);
        assert!(!is_replaced(&newest));
        // Five of one device, which has three; then the user has one too many.
        let (_, hub) = self::hub();
        let phones: Vec<_> = (0..2).map(|_| signing_in(&hub, 1, 10)).collect();
        let tabs: Vec<_> = (0..4).map(|_| signing_in(&hub, 1, 11)).collect();
        signed_in(&hub, 1, 11);
        let open = |sockets: &[Arc<Socket>]| sockets.iter().filter(|socket| !is_replaced(socket)).count();
        assert_eq!((open(&phones), open(&tabs)), (1, 2));
    }

    #[tokio::test]
    async fn a_socket_that_is_silent_goes_before_an_older_one() {
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
    async fn presence_reaches_those_who_watch_until_they_stop() {
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
    async fn sockets_are_closed_for_want_of_a_sign_in_of_a_fresh_token_and_of_a_sign_of_life() {
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
    async fn those_who_may_have_missed_something_are_told_once_they_are_signed_in() {
        let (_, hub) = hub();
        let (socket, anonymous) = (signed_in(&hub, 1, 10), hub.open());
        hub.catch_up(Duration::from_secs(5));
        let Step::Write { frames: told, .. } = socket.outgoing.next().await else { panic!("it is told") };
        assert!(told[0][2..].starts_with(b"{\"catch_up\""));
        assert_eq!(frames(&anonymous).await, 0);
    }

    #[tokio::test]
    async fn a_restart_tells_everybody_to_come_back() {
        let (_, hub) = hub();
        let socket = signed_in(&hub, 1, 10);
        hub.restart(Duration::from_secs(5));
        let Step::Write { frames, .. } = socket.outgoing.next().await else {
            panic!("there is a last frame")
        };
        let (_header, payload) = frames[0].split_at(2);
        assert!(payload.starts_with(b"{\"reconnect\""));
        assert_eq!(socket.outgoing.next().await, Step::Close(CloseCode::ServiceRestart));
    }
}
