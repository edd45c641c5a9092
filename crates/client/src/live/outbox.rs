//! Messages that are to be sent, until the server has acknowledged or refused them.
//!
//! A conversation has one on its way at a time, and the next one goes when that one is settled: so they arrive in the
//! order in which they were given, whatever has to be sent again. Sending again is safe, because the server knows the
//! client id. This is the book-keeping; it does no input or output.

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
    /// Lanes whose first message can go.
    ready: VecDeque<ConversationId>,
    /// Lanes whose first message must wait before it goes again.
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
    /// Failures in a row of the first one.
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

    /// The next message that can go. Its outcome must be reported.
    pub(super) fn next(&mut self, now: Instant) -> Option<(ConversationId, SendMessage)> {
        self.unpause(now);
        while self.in_flight < self.in_flight_max {
            let id = self.ready.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&id) else { continue };
            // Who gave it may have given up.
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

    /// The message that was on its way is acknowledged, or refused for good.
    pub(super) fn settle(&mut self, id: ConversationId, outcome: Result<Message, Error>) {
        if let Some(lane) = self.land(id) {
            lane.failures = 0;
            if let Some(queued) = lane.queue.pop_front() {
                // Who gave it may have given up.
                let _ = queued.reply.send(outcome);
                self.queued -= 1;
            }
            self.ready.push_back(id);
        }
    }

    /// The message that was on its way must go again; the time is chosen for the number of failures in a row.
    pub(super) fn retry(&mut self, id: ConversationId, at: impl FnOnce(u32) -> Instant) {
        if let Some(lane) = self.land(id) {
            lane.failures += 1;
            let at = at(lane.failures);
            self.paused.insert((at, id));
        }
    }

    /// Nothing is on its way any more: the connection is gone. All of it goes again, first of all.
    pub(super) fn disconnected(&mut self) {
        for (id, lane) in &mut self.lanes {
            if std::mem::take(&mut lane.on_its_way) {
                self.ready.push_front(*id);
            }
        }
        self.in_flight = 0;
    }

    /// When the next message that waits may go.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.paused.first().map(|(at, _)| *at)
    }

    /// Nothing will be sent any more.
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
