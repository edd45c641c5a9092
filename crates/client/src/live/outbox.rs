//! Messages to send, until the server has acknowledged or refused them.
//!
//! Each conversation has at most one message in flight, and the next one is sent after that one is settled, so messages
//! arrive in order despite retries. A retry is safe, because the server deduplicates by client id. This module does no I/O.

use std::collections::{BTreeSet, HashMap, VecDeque};

use godwit_protocol::ConversationId;
use godwit_protocol::messages::{Message, SendMessage};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Error;

pub(super) struct Queued {
    pub(super) conversation_id: ConversationId,
    pub(super) message: SendMessage,
    pub(super) reply: oneshot::Sender<Result<Message, Error>>,
}

pub(super) struct Outbox {
    lanes: HashMap<ConversationId, Lane>,
    /// Lanes whose first message can be sent.
    ready: VecDeque<ConversationId>,
    /// Lanes whose first message waits for its retry.
    paused: BTreeSet<(Instant, ConversationId)>,
    queued: usize,
    queued_max: usize,
    in_flight: usize,
    in_flight_max: usize,
}

#[derive(Default)]
struct Lane {
    queue: VecDeque<Queued>,
    on_its_way: bool,
    /// Consecutive failures of the first message.
    failures: u32,
}

impl Outbox {
    pub(super) fn new(queued_max: usize, in_flight_max: usize) -> Self {
        Self {
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            paused: BTreeSet::new(),
            queued: 0,
            queued_max: queued_max.max(1),
            in_flight: 0,
            in_flight_max: in_flight_max.max(1),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.queued < self.queued_max
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn push(&mut self, queued: Queued) {
        let id = queued.conversation_id;
        let lane = self.lanes.entry(id).or_default();
        lane.queue.push_back(queued);
        self.queued += 1;
        if lane.queue.len() == 1 {
            self.ready.push_back(id);
        }
    }

    /// The next message to send. The caller must report its outcome.
    pub(super) fn next(&mut self, now: Instant) -> Option<(ConversationId, SendMessage)> {
        self.unpause(now);
        while self.in_flight < self.in_flight_max {
            let id = self.ready.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&id) else { continue };
            // The caller may have given up.
            while lane.queue.front().is_some_and(|queued| queued.reply.is_closed()) {
                lane.queue.pop_front();
                self.queued -= 1;
            }
            match lane.queue.front() {
                Some(queued) => {
                    lane.on_its_way = true;
                    self.in_flight += 1;
                    return Some((id, queued.message.clone()));
                }
                None => drop(self.lanes.remove(&id)),
            }
        }
        None
    }

    /// The message in flight is acknowledged, or refused for good.
    pub(super) fn settle(&mut self, id: ConversationId, outcome: Result<Message, Error>) {
        if let Some(lane) = self.land(id) {
            lane.failures = 0;
            if let Some(queued) = lane.queue.pop_front() {
                // The caller may have given up.
                let _ = queued.reply.send(outcome);
                self.queued -= 1;
            }
            self.ready.push_back(id);
        }
    }

    /// The message in flight must be retried, at the time that `at` chooses for the number of consecutive failures.
    pub(super) fn retry(&mut self, id: ConversationId, at: impl FnOnce(u32) -> Instant) {
        if let Some(lane) = self.land(id) {
            lane.failures += 1;
            let at = at(lane.failures);
            self.paused.insert((at, id));
        }
    }

    /// The connection is gone: all messages in flight are retried first.
    pub(super) fn disconnected(&mut self) {
        for (id, lane) in &mut self.lanes {
            if std::mem::take(&mut lane.on_its_way) {
                self.ready.push_front(*id);
            }
        }
        self.in_flight = 0;
    }

    /// When the next waiting message may be sent.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.paused.first().map(|(at, _)| *at)
    }

    /// Fails all messages, because the session has ended.
    pub(super) fn fail_all(&mut self, error: impl Fn() -> Error) {
        for queued in self.lanes.drain().flat_map(|(_, lane)| lane.queue) {
            let _ = queued.reply.send(Err(error()));
        }
    }

    fn land(&mut self, id: ConversationId) -> Option<&mut Lane> {
        let lane = self.lanes.get_mut(&id).filter(|lane| lane.on_its_way)?;
        lane.on_its_way = false;
        self.in_flight -= 1;
        Some(lane)
    }

    fn unpause(&mut self, now: Instant) {
        while let Some((_, id)) = self.paused.first().copied().filter(|(at, _)| *at <= now) {
            self.paused.pop_first();
            self.ready.push_back(id);
        }
    }
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
