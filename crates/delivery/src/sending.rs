//! What goes to the sockets of this process.
//!
//! Frames are made once and shared by all who get them. They come from use cases of this node, or ready-made from another
//! one.

use std::cell::OnceCell;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use bytes::Bytes;
use godwit_domain::ports::{Audience, Delivery};
use godwit_protocol::messages::LogEntry;
use godwit_protocol::socket::{CloseCode, EntryFrame, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};
use metrics::{Counter, counter};

use crate::frame;
use crate::hub::Hub;

/// Entries on their way to many sockets. They are written only if somebody is there to read them.
#[derive(Debug)]
pub struct EntryFrames<'a> {
    conversation: ConversationId,
    entries: &'a [Arc<LogEntry>],
    frames: OnceCell<Vec<Bytes>>,
}

impl<'a> EntryFrames<'a> {
    pub const fn new(conversation: ConversationId, entries: &'a [Arc<LogEntry>]) -> Self {
        Self { conversation, entries, frames: OnceCell::new() }
    }

    /// One for each entry.
    pub fn get(&self) -> &[Bytes] {
        self.frames.get_or_init(|| {
            let encode = |entry: &Arc<LogEntry>| frame::text(&EntryFrame::new(self.conversation, entry));
            self.entries.iter().map(|entry| encode(entry).unwrap_or_default()).collect()
        })
    }

    /// Which of them is the first that somebody gets who sees entries from `seq` on.
    pub fn first_from(&self, seq: Seq) -> usize {
        self.entries.partition_point(|entry| entry.seq < seq)
    }
}

/// Finding a handle costs more than using it.
static DELIVERIES: LazyLock<Counter> = LazyLock::new(|| counter!("godwit_deliveries_total"));

impl Hub {
    /// Sends a frame to every socket of these users.
    pub fn send(&self, to: &[UserId], frame: &Bytes) {
        let mut delivered = 0;
        for user in to {
            self.by_user.with(*user, |socket| delivered += u64::from(socket.outgoing.push(frame.clone())));
        }
        DELIVERIES.increment(delivered);
    }

    pub fn send_entries(&self, entries: &EntryFrames<'_>, to: &Audience) {
        let mut delivered = 0;
        match to {
            Audience::Members(members) => {
                for (user, from) in members {
                    self.by_user.with(*user, |socket| {
                        let frames = entries.get().get(entries.first_from(*from)..).unwrap_or_default();
                        if socket.outgoing.push_all(frames) {
                            delivered += frames.len() as u64;
                        }
                    });
                }
            }
            Audience::Followers => self.followers.with(entries.conversation, |socket| {
                if socket.outgoing.push_all(entries.get()) {
                    delivered += entries.get().len() as u64;
                }
            }),
        }
        DELIVERIES.increment(delivered);
    }

    /// Sends several frames to every socket of these users, all of them or none.
    pub fn send_all(&self, to: &[UserId], frames: &[Bytes]) {
        let mut delivered = 0;
        for user in to {
            self.by_user.with(*user, |socket| {
                if socket.outgoing.push_all(frames) {
                    delivered += frames.len() as u64;
                }
            });
        }
        DELIVERIES.increment(delivered);
    }

    /// The same to those who follow a conversation.
    pub fn send_to_followers(&self, conversation: ConversationId, frames: &[Bytes]) {
        let mut delivered = 0;
        self.followers.with(conversation, |socket| {
            if socket.outgoing.push_all(frames) {
                delivered += frames.len() as u64;
            }
        });
        DELIVERIES.increment(delivered);
    }

    /// Sends a frame to the sockets that watch a user.
    pub fn send_to_watchers(&self, watched: UserId, frame: &Bytes) {
        self.watchers.with(watched, |socket| {
            socket.outgoing.push(frame.clone());
        });
    }

    pub fn follow(&self, users: &[UserId], conversation: ConversationId) {
        for user in users {
            self.by_user.with(*user, |socket| self.followers.add(conversation, socket));
        }
    }

    pub fn unfollow(&self, users: &[UserId], conversation: ConversationId) {
        for user in users {
            self.by_user.with(*user, |socket| self.followers.remove(conversation, socket));
        }
    }

    pub fn stop_watching(&self, watcher: UserId, watched: UserId) {
        self.by_user.with(watcher, |socket| {
            socket.stop_watching(watched);
            self.watchers.remove(watched, socket);
        });
    }

    pub fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode) {
        self.by_user.with(user, |socket| {
            if socket.owner() == Some((user, device)) {
                socket.outgoing.close(code);
            }
        });
    }

    pub fn close_user(&self, user: UserId, code: CloseCode) {
        self.by_user.with(user, |socket| socket.outgoing.close(code));
    }
}

/// One node: all sockets are here.
#[async_trait]
impl Delivery for Hub {
    fn deliver(&self, to: &[UserId], event: &Event) {
        if to.iter().any(|user| self.has(*user))
            && let Some(frame) = frame::text(event)
        {
            self.send(to, &frame);
        }
    }

    fn deliver_entries(&self, conversation: ConversationId, entries: &[Arc<LogEntry>], to: &Audience) {
        self.send_entries(&EntryFrames::new(conversation, entries), to);
    }

    fn follow(&self, users: &[UserId], conversation: ConversationId) {
        self.follow(users, conversation);
    }

    async fn unfollow(&self, users: &[UserId], conversation: ConversationId) {
        self.unfollow(users, conversation);
    }

    fn deliver_presence(&self, event: PresenceEvent) {
        if self.watchers.contains(event.user_id)
            && let Some(frame) = frame::text(&Event::Presence(event))
        {
            self.send_to_watchers(event.user_id, &frame);
        }
    }

    async fn stop_watching(&self, watcher: UserId, watched: UserId) {
        self.stop_watching(watcher, watched);
    }

    async fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode) {
        self.close_device(user, device, code);
    }

    async fn close_user(&self, user: UserId, code: CloseCode) {
        self.close_user(user, code);
    }

    async fn is_online(&self, user: UserId) -> bool {
        self.has(user)
    }

    async fn arrived(&self, _: UserId) {}

    async fn left(&self, _: UserId) {}
}
