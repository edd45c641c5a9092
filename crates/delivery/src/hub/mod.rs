//! The hub: all sockets of this process.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use godwit_domain::ports::Clock;
use godwit_protocol::socket::{CatchUp, CloseCode, Event, Reconnect};
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use metrics::{counter, gauge};

use crate::followers::Followers;
use crate::frame;
use crate::heaviest::{Waiting, heaviest};
use crate::outgoing::Outgoing;
use crate::sharded::Sharded;
use crate::socket::Socket;

/// The interval at which deadlines and heartbeats are checked.
const SWEEP_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubConfig {
    pub heartbeat_ms: u32,
    pub sign_in_within_ms: u32,
    /// Frames in the queue of one socket.
    pub queue_frames_max: usize,
    /// Bytes in the queue of one socket.
    pub queue_bytes_max: usize,
    /// Bytes of answers in the queues of all sockets.
    pub answers_bytes_max: usize,
    /// Sockets per user and per device. A further one replaces another.
    pub per_user_max: usize,
    pub per_device_max: usize,
}

#[derive(Debug)]
pub struct Hub {
    config: HubConfig,
    clock: Arc<dyn Clock>,
    started: Instant,
    /// Milliseconds since the start, as of the last sweep. Cheap enough to read for every frame.
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

    /// Registers a new socket. It must sign in within the configured time.
    pub fn open(&self) -> Arc<Socket> {
        let outgoing = Outgoing::new(self.config.queue_frames_max, self.config.queue_bytes_max);
        let sign_in_by = self.clock.now().plus_millis(i64::from(self.config.sign_in_within_ms));
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let socket = Arc::new(Socket::new(id, outgoing, sign_in_by, self.now_ms.load(Ordering::Relaxed)));
        self.all.add(id, &socket);
        socket
    }

    /// Binds the socket to a device until the token expires. A repeated sign-in with a fresh token of the same
    /// device extends that. Returns `false` when the socket belongs to another device.
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

    /// Closes sockets of the user if the device or the user has too many, except the newest. It closes as many
    /// as exceed the limit, because several may have signed in at once: first sockets that have been silent and
    /// may be dead, then the oldest.
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
        // Excludes the sockets that were closed just now.
        let go_for_user = others().filter(|socket| !socket.outgoing.is_closed()).take(too_many);
        go_for_user.for_each(|socket| replace(socket));
    }

    /// Removes a closed socket.
    pub fn forget(&self, socket: &Socket) {
        self.all.remove(socket.id, socket);
        if let Some((user, _)) = socket.owner() {
            self.by_user.remove(user, socket);
        }
        for watched in socket.watch(Vec::new()) {
            self.watchers.remove(watched, socket);
        }
        // The hub no longer finds the socket by its user, so no call can make it follow another conversation.
        for conversation in socket.followed() {
            self.followers.remove(conversation, socket);
        }
    }

    /// Records that the client has sent something.
    pub fn heard(&self, socket: &Socket) {
        socket.heard_at(self.now_ms.load(Ordering::Relaxed));
    }

    /// Replaces the users whose presence is sent to a socket.
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

    /// Checks heartbeats and deadlines until the future is dropped. One such task per server.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(SWEEP_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sweep(self.started.elapsed());
        }
    }

    /// Tells every socket to reconnect, each after a different delay within `spread`, and closes it.
    pub fn restart(&self, spread: Duration) {
        self.all.for_each(|socket| {
            let event = Event::Reconnect(Reconnect { after_ms: spread_out(socket, spread) });
            if let Some(frame) = frame::text(&event) {
                socket.outgoing.finish(frame, CloseCode::ServiceRestart);
            }
        });
    }

    /// Tells every socket that events may have been lost. Each client checks after a different delay.
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

    /// The users with a socket on this node.
    pub fn users(&self) -> Vec<UserId> {
        self.by_user.keys()
    }

    /// The users who are watched by a socket on this node.
    pub fn watched(&self) -> Vec<UserId> {
        self.watchers.keys()
    }

    /// The devices of a user that have a socket on this node.
    pub fn devices_of(&self, user: UserId) -> Vec<DeviceId> {
        let mut devices = Vec::new();
        self.by_user.with(user, |socket| devices.extend(socket.owner().map(|(_, device)| device)));
        devices.sort_unstable();
        devices.dedup();
        devices
    }

    /// The conversations that the user's sockets follow.
    pub fn followed_by(&self, user: UserId) -> Vec<ConversationId> {
        let mut followed = Vec::new();
        self.by_user.with(user, |socket| followed.extend(socket.followed()));
        followed.sort_unstable();
        followed.dedup();
        followed
    }

    /// The users that the user's sockets watch.
    pub fn watched_by(&self, user: UserId) -> Vec<UserId> {
        let mut watched = Vec::new();
        self.by_user.with(user, |socket| watched.extend(socket.watched()));
        watched.sort_unstable();
        watched.dedup();
        watched
    }

    /// Whether the user has a socket on this node.
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
        let (mut open, mut signed_in, mut queued, mut answers) = (0_usize, 0_usize, 0_usize, 0_usize);
        self.all.for_each(|socket| {
            socket.sweep(now, now_ms, u64::from(self.config.heartbeat_ms));
            open += 1;
            signed_in += usize::from(socket.owner().is_some());
            queued += socket.outgoing.queued_bytes();
            answers += socket.outgoing.answer_bytes();
        });
        if answers > self.config.answers_bytes_max {
            self.drop_answers(answers - self.config.answers_bytes_max);
        }
        gauge!("godwit_sockets", "state" => "signed_in").set(signed_in as f64);
        gauge!("godwit_sockets", "state" => "anonymous").set((open - signed_in) as f64);
        gauge!("godwit_socket_queue_bytes").set(queued as f64);
    }

    /// Closes sockets until this many bytes of answers are dropped, those of the user with most first: their clients ask for more
    /// than they read. The limit of one queue does not bound what all of them hold together.
    fn drop_answers(&self, excess: usize) {
        let mut waiting = Vec::new();
        self.all.for_each(|socket| match socket.outgoing.answer_bytes() {
            0 => {}
            bytes => {
                let user = socket.owner().map(|(user, _)| user);
                // Sockets without a user do not belong together.
                let owner = (user, if user.is_some() { 0 } else { socket.id });
                waiting.push(Waiting { owner, bytes, reader: socket.clone() });
            }
        });
        for socket in heaviest(waiting, excess) {
            counter!("godwit_slow_readers_total").increment(1);
            socket.outgoing.close(CloseCode::TooSlow);
        }
    }
}

/// Closes a socket in favour of another one of its user.
fn replace(socket: &Socket) {
    counter!("godwit_sockets_replaced_total").increment(1);
    socket.outgoing.close(CloseCode::Replaced);
}

/// A delay from a hash of the socket's number: neighbouring numbers get very different delays, which is random
/// enough here.
fn spread_out(socket: &Socket, spread: Duration) -> u32 {
    let spread_ms = u64::try_from(spread.as_millis()).unwrap_or(u64::MAX).max(1);
    let after_ms = (socket.id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % spread_ms;
    u32::try_from(after_ms).unwrap_or(u32::MAX)
}
