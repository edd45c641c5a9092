//! Takes what comes through Redis.

use metrics::counter;
use std::collections::HashMap;

use super::frame::{Frame, Told};
use super::{Bus, lock};
use crate::node::NodeId;

pub(super) struct Incoming<'a> {
    bus: &'a Bus,
    /// The number of the next frame of each node.
    expected: HashMap<NodeId, u64>,
}

impl<'a> Incoming<'a> {
    pub(super) fn new(bus: &'a Bus) -> Self {
        Self { bus, expected: HashMap::new() }
    }

    pub(super) fn take(&mut self, payload: &[u8]) {
        counter!("godwit_cluster_received_bytes_total").increment(payload.len() as u64);
        let Some(frame) = Frame::decode(payload) else {
            return self.bus.missed_something();
        };
        self.follow(frame.from, frame.number);
        for told in frame.told {
            self.obey(told);
        }
    }

    /// Looks whether something is missing before a frame.
    fn follow(&mut self, from: NodeId, number: u64) {
        // A node that has lost nothing begins with zero.
        let expected = self.expected.insert(from, number + 1).unwrap_or(0);
        if number != expected && from != self.bus.me {
            tracing::debug!(%from, number, "something from another node is missing");
            self.bus.missed_something();
        }
        if from != self.bus.me && self.bus.trust.heard(from) {
            // From here on everything that it appends is heard of.
            self.bus.doubt();
            if !self.bus.registry.is_known(from) {
                self.bus.look.notify_one();
            }
        }
        // Those who are gone must not be remembered for ever.
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
            Told::Followed { conversation, frames, less } => {
                return hub.send_to_followers(conversation, &frames, &less);
            }
            Told::Presence { user, frame } => return hub.send_to_watchers(user, &frame),
            Told::Follow { users, conversation } => return hub.follow(&users, conversation),
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
                // One of them waits for appends, which what comes next must not.
                let (hub, app) = (hub.clone(), app.clone());
                tokio::spawn(async move { notice.obey(&hub, &app).await });
            }
            _ => {}
        }
    }

    fn echoed(&self, echo: u64) {
        self.bus.trust.echoed(echo);
        let mut waiting = lock(&self.bus.echoes);
        for (_, done) in waiting.extract_if(.., |(number, _)| *number <= echo) {
            // Who no longer waits need not be told.
            let _ = done.send(());
        }
    }
}
