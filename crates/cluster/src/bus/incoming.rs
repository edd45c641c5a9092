//! Receives frames: verifies signature, serial number and number, and passes on the hints.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use godwit_delivery::EntryRun;
use godwit_protocol::{ConversationId, Seq, UserId};
use metrics::counter;

use super::frame::{Frame, Told, Undecoded};
use super::refusals::Refusal;
use super::{Bus, lock};
use crate::node::NodeId;

/// The number of remembered senders, far more than any installation has. Senders that have left count too, so that nobody can
/// replay their frames.
const SENDERS_MAX: usize = 65_536;

/// The serial number of the last frame of each sender. Kept as long as this node runs, also when the connection to Redis is
/// lost: frames from before that could be replayed.
#[derive(Debug, Default)]
pub(super) struct Senders(Mutex<HashMap<NodeId, u64>>);

impl Senders {
    /// False if this node has already received this frame or a later one of the sender.
    fn is_next(&self, from: NodeId, serial: u64) -> bool {
        let mut last = lock(&self.0);
        if last.len() >= SENDERS_MAX && !last.contains_key(&from) {
            last.clear();
        }
        match last.insert(from, serial) {
            Some(before) if before >= serial => {
                last.insert(from, before);
                false
            }
            _ => true,
        }
    }
}

pub(super) struct Incoming<'a> {
    bus: &'a Bus,
    /// The number that the next frame of each node must have.
    expected: HashMap<NodeId, u64>,
}

impl<'a> Incoming<'a> {
    pub(super) fn new(bus: &'a Bus) -> Self {
        Self { bus, expected: HashMap::new() }
    }

    pub(super) fn take(&mut self, payload: &[u8]) {
        counter!("godwit_cluster_received_bytes_total").increment(payload.len() as u64);
        let frame = match Frame::decode(payload, self.bus.me, &self.bus.seal) {
            Ok(frame) => frame,
            // If it has replaced a real frame, the number of the next frame shows the gap.
            Err(Undecoded::Unsigned) => return self.bus.refusals.add(Refusal::Unsigned),
            Err(Undecoded::Foreign) => return self.bus.missed_something(),
        };
        if !self.bus.senders.is_next(frame.from, frame.serial) {
            return self.bus.refusals.add(Refusal::Replayed);
        }
        self.follow(frame.from, frame.number);
        for told in frame.told {
            self.obey(told);
        }
    }

    /// Checks whether a frame before this one is missing.
    fn follow(&mut self, from: NodeId, number: u64) {
        // A sender that has not lost a frame starts at 0.
        let expected = self.expected.insert(from, number + 1).unwrap_or(0);
        if number != expected && from != self.bus.me {
            tracing::debug!(%from, number, "a frame from another server is missing");
            self.bus.missed_something();
        }
        if from != self.bus.me && self.bus.trust.heard(from) {
            // The first frame of this node: the cache may lack its earlier appends.
            self.bus.doubt();
            if !self.bus.registry.is_known(from) {
                self.bus.look.notify_one();
            }
        }
        // Drops the numbers of nodes that have left, so that the map stays bounded.
        if self.expected.len() > 2 * self.bus.registry.others().len() + 16 {
            let registry = &self.bus.registry;
            let me = self.bus.me;
            self.expected.retain(|node, _| *node == me || registry.is_known(*node));
        }
    }

    fn obey(&self, told: Told) {
        let hub = &self.bus.hub;
        match told {
            Told::Frames { to, frames } => return hub.send_all(&to, &frames),
            Told::Followed { conversation, first, frames, less } => {
                let run = EntryRun { first, frames: &frames, less: &less };
                return self.bus.newcomers.send(hub, conversation, run);
            }
            Told::Presence { user, frame } => return hub.send_to_watchers(user, &frame),
            Told::Follow { users, conversation } => return self.expect(users, conversation),
            Told::Echo(echo) => return self.echoed(echo),
            Told::Look => return self.bus.look.notify_one(),
            Told::Head(..) | Told::Appended(_) | Told::CursorMoved(_) | Told::Notice(_) => {}
        }
        let Some(app) = self.bus.app.get() else { return };
        match told {
            Told::Head(conversation, seq) => app.head(conversation, seq),
            Told::Appended(change) => app.appended(&change),
            Told::CursorMoved(moved) => app.cursor_moved(&moved),
            Told::Notice(notice) => {
                // A notice may wait for appends, and later frames must not wait for it.
                let (hub, app) = (hub.clone(), app.clone());
                tokio::spawn(async move { notice.obey(&hub, &app).await });
            }
            _ => {}
        }
    }

    /// A hint names new members. The store decides whether they are members, and from which entry on they see the conversation.
    fn expect(&self, users: Vec<(UserId, Seq)>, conversation: ConversationId) {
        let users: Vec<UserId> =
            users.into_iter().map(|(user, _)| user).filter(|user| self.bus.hub.has(*user)).collect();
        let Some(app) = self.bus.app.get().cloned() else { return };
        if users.is_empty() {
            return;
        }
        let id = self.bus.next_newcomers.fetch_add(1, Ordering::Relaxed);
        let (hub, newcomers) = (self.bus.hub.clone(), self.bus.newcomers.clone());
        newcomers.expect(id, users, conversation);
        tokio::spawn(async move { newcomers.confirm(id, conversation, &hub, &app).await });
    }

    fn echoed(&self, echo: u64) {
        self.bus.trust.echoed(echo);
        let mut waiting = lock(&self.bus.echoes);
        for (_, done) in waiting.extract_if(.., |(number, _)| *number <= echo) {
            // The caller may have stopped waiting.
            let _ = done.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_once_and_in_order() {
        let (senders, ada, bob) = (Senders::default(), NodeId::random(), NodeId::random());
        for (from, serial, is_next) in
            [(ada, 1, true), (ada, 1, false), (bob, 1, true), (ada, 7, true), (ada, 3, false), (ada, 8, true)]
        {
            assert_eq!(senders.is_next(from, serial), is_next, "{serial}");
        }
    }
}
