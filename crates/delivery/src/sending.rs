//! Sends events to the sockets of this process.
//!
//! A frame is encoded once and shared by all its receivers. Frames come from use cases of this node, or already
//! encoded from another node.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::LazyLock;

use async_trait::async_trait;
use bytes::Bytes;
use godwit_domain::ports::{Audience, Delivery, Less, OutgoingEntry, Seeing};
use godwit_protocol::messages::LogEntry;
use godwit_protocol::socket::{CloseCode, EntryFrame, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};
use metrics::{Counter, counter};
use serde::{Deserialize, Serialize};

use crate::frame;
use crate::hub::Hub;
use crate::socket::Socket;

/// Entries for many sockets. They are encoded only if at least one socket receives them.
#[derive(Debug)]
pub struct EntryFrames<'a> {
    conversation: ConversationId,
    entries: &'a [OutgoingEntry],
    frames: OnceCell<Vec<Bytes>>,
    less: OnceCell<Vec<Option<LessFrame>>>,
}

/// The frame of a withheld entry, for users who may not see the message that the entry is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LessFrame {
    pub unless: Seeing,
    pub frame: Bytes,
}

/// Encoded entries of one conversation for its followers. They follow each other without gaps.
#[derive(Debug, Clone, Copy)]
pub struct EntryRun<'a> {
    /// The `seq` of the first entry.
    pub first: Seq,
    pub frames: &'a [Bytes],
    /// For each entry, the frame for users from whom it is withheld.
    pub less: &'a [Option<LessFrame>],
}

/// The part of several entries that a user gets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// The index of the first entry.
    first: usize,
    /// The indexes of the entries that are withheld.
    less: Vec<usize>,
}

impl<'a> EntryFrames<'a> {
    pub const fn new(conversation: ConversationId, entries: &'a [OutgoingEntry]) -> Self {
        Self { conversation, entries, frames: OnceCell::new(), less: OnceCell::new() }
    }

    /// One frame per entry.
    pub fn get(&self) -> &[Bytes] {
        let encode = |outgoing: &OutgoingEntry| match outgoing.omitted(self.conversation) {
            Some(event) => frame::text(&event).unwrap_or_default(),
            None => self.encode(&outgoing.entry),
        };
        self.frames.get_or_init(|| self.entries.iter().map(encode).collect())
    }

    /// For each entry, the frame for users from whom it is withheld.
    pub fn less(&self) -> &[Option<LessFrame>] {
        let encode = |less: &Less| LessFrame { unless: less.unless.clone(), frame: self.encode(&less.entry) };
        self.less.get_or_init(|| self.entries.iter().map(|outgoing| outgoing.less().map(encode)).collect())
    }

    /// All entries in their encoded form.
    pub fn run(&self) -> EntryRun<'_> {
        let first = self.entries.first().map_or(Seq::ZERO, |outgoing| outgoing.entry.seq);
        EntryRun { first, frames: self.get(), less: self.less() }
    }

    /// The share of a user who may see entries from `from` on.
    pub fn share_of(&self, user: UserId, from: Seq) -> Share {
        let first = self.entries.partition_point(|outgoing| outgoing.entry.seq < from);
        let is_less =
            |outgoing: &OutgoingEntry| outgoing.less().is_some_and(|less| !less.unless.sees(user, from));
        let shown = self.entries.iter().enumerate().skip(first);
        let less = shown.filter(|(_, outgoing)| is_less(outgoing)).map(|(place, _)| place).collect();
        Share { first, less }
    }

    /// The frames of a share. Usually they are the shared ones.
    pub fn of(&self, share: &Share) -> Cow<'_, [Bytes]> {
        let all = self.get().get(share.first..).unwrap_or_default();
        if share.less.is_empty() {
            return Cow::Borrowed(all);
        }
        let mut frames = all.to_vec();
        for place in &share.less {
            if let Some(Some(less)) = self.less().get(*place) {
                frames[place - share.first] = less.frame.clone();
            }
        }
        Cow::Owned(frames)
    }

    fn encode(&self, entry: &LogEntry) -> Bytes {
        frame::text(&EntryFrame::new(self.conversation, entry)).unwrap_or_default()
    }
}

/// Cached, because finding the counter costs more than incrementing it.
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
                        let frames = entries.of(&entries.share_of(*user, *from));
                        if socket.outgoing.push_all(&frames) {
                            delivered += frames.len() as u64;
                        }
                    });
                }
                DELIVERIES.increment(delivered);
            }
            Audience::Followers => {
                self.send_to_followers(entries.conversation, entries.run());
            }
        }
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

    /// Sends entries to the followers of a conversation, to each what they may see.
    pub fn send_to_followers(&self, conversation: ConversationId, run: EntryRun<'_>) {
        let mut delivered = 0;
        let has_less = run.less.iter().any(Option::is_some);
        self.followers.with(conversation, |socket, from| {
            let run = run.from(from);
            let shown = if has_less { run.shown_to(socket, from) } else { Cow::Borrowed(run.frames) };
            if socket.outgoing.push_all(&shown) {
                delivered += shown.len() as u64;
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

    /// Makes users follow a conversation, each with the first entry that they may see.
    pub fn follow(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        for (user, from) in users {
            self.by_user.with(*user, |socket| self.followers.add(conversation, socket, *from));
        }
    }

    /// Hides entries from users, each before an entry of their own. Does not make anybody follow.
    pub fn conceal(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        for (user, from) in users {
            self.by_user.with(*user, |socket| self.followers.conceal(conversation, socket, *from));
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

impl<'a> EntryRun<'a> {
    /// The entries from `from` on. A user who joins sees nothing of the entries before, also if the same append has them.
    fn from(self, from: Seq) -> Self {
        let before = usize::try_from(from.get().saturating_sub(self.first.get())).unwrap_or(usize::MAX);
        let before = before.min(self.frames.len());
        let less = self.less.get(before..).unwrap_or_default();
        Self { first: Seq::new(self.first.get() + before as u64), frames: &self.frames[before..], less }
    }

    /// The frames for the owner of a following socket.
    fn shown_to(self, socket: &Socket, from: Seq) -> Cow<'a, [Bytes]> {
        let Some((user, _)) = socket.owner() else { return Cow::Borrowed(&[]) };
        let mut shown = Cow::Borrowed(self.frames);
        for (place, less) in self.less.iter().enumerate() {
            if let Some(less) = less.as_ref().filter(|less| !less.unless.sees(user, from))
                && let Some(frame) = shown.to_mut().get_mut(place)
            {
                *frame = less.frame.clone();
            }
        }
        shown
    }
}

/// The port of a single node, which has all sockets.
#[async_trait]
impl Delivery for Hub {
    fn deliver(&self, to: &[UserId], event: &Event) {
        if to.iter().any(|user| self.has(*user))
            && let Some(frame) = frame::text(event)
        {
            self.send(to, &frame);
        }
    }

    fn deliver_entries(&self, conversation: ConversationId, entries: &[OutgoingEntry], to: &Audience) {
        self.send_entries(&EntryFrames::new(conversation, entries), to);
    }

    fn follow(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        self.follow(users, conversation);
    }

    fn conceal(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        self.conceal(users, conversation);
    }

    async fn unfollow(&self, users: Vec<UserId>, conversation: ConversationId) {
        self.unfollow(&users, conversation);
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
