//! Messages in flight: sent, acknowledged, delivered to each receiver, checked and timed.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use super::check::{Checker, Verdict, Violations};
use super::span::Span;
use crate::figures::Latencies;
use crate::messenger::stamp::Stamp;
use crate::messenger::{Incoming, Messenger};
use crate::wire::Net;

/// All messages of a run.
#[derive(Debug)]
pub(crate) struct Traffic {
    streams: Vec<Stream>,
    /// One per user.
    senders: Vec<Sender>,
    checker: Checker,
    pub(super) measured: Measured,
    /// The measured time span: of sends, and of arrivals.
    span: Span,
    under_way: u64,
    ended: u64,
    /// The last number that any stream may send.
    last_number: u32,
    text_bytes: usize,
    text: Vec<u8>,
}

/// The messages of one user in one conversation.
#[derive(Debug)]
struct Stream {
    sender: u32,
    conversation: u32,
    receivers: u32,
    /// The maximum number in flight.
    window: u32,
    sent: u32,
    acknowledged: u32,
    /// The highest acknowledged number.
    promised: u32,
    under_way: u32,
    /// The messages in flight, each at the index of its number. The capacity is a power of two.
    flights: Box<[Flight]>,
}

/// A message from its sending until it is acknowledged and delivered to all receivers.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    number: u32,
    sent_ns: u64,
    receivers_left: u32,
    is_acknowledged: bool,
    is_under_way: bool,
}

/// The unacknowledged messages of one user.
#[derive(Debug, Default)]
struct Sender {
    last_ticket: u32,
    /// Increasing tickets, each with its stream and number.
    under_way: VecDeque<(u32, u32, u32)>,
}

/// The results within the measured time.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) acknowledged: u64,
    pub(super) delivered: u64,
    /// From sending to the acknowledgement.
    pub(super) ack: Latencies,
    /// From sending to each receiver.
    pub(super) delivery: Latencies,
    /// From sending to the last receiver.
    pub(super) last: Latencies,
}

impl Measured {
    fn nothing() -> Self {
        Self {
            acknowledged: 0,
            delivered: 0,
            ack: Latencies::new(),
            delivery: Latencies::new(),
            last: Latencies::new(),
        }
    }

    pub(super) fn has_latencies(&self) -> bool {
        self.ack.count() > 0 && self.delivery.count() > 0 && self.last.count() > 0
    }
}

impl Traffic {
    pub(crate) fn new(text_bytes: usize) -> Self {
        Self {
            streams: Vec::new(),
            senders: Vec::new(),
            checker: Checker::default(),
            measured: Measured::nothing(),
            span: Span::NEVER,
            under_way: 0,
            ended: 0,
            last_number: u32::MAX,
            text_bytes,
            text: Vec::with_capacity(text_bytes),
        }
    }

    /// Adds a conversation in which some of the members send, each with at most `window` messages in flight. Returns the
    /// streams of the senders.
    pub(super) fn add_conversation(
        &mut self,
        conversation: u32,
        members: &[u32],
        senders: &[u32],
        window: usize,
    ) -> Vec<u32> {
        let checked = self.checker.add_conversation(members);
        let add = |sender: &u32| {
            let stream = self.checker.add_stream(checked, *sender);
            self.streams.push(Stream {
                sender: *sender,
                conversation,
                receivers: self.checker.receivers(stream),
                sent: 0,
                acknowledged: 0,
                promised: 0,
                under_way: 0,
                window: window as u32,
                flights: vec![Flight::default(); window.next_power_of_two()].into(),
            });
            self.add_sender(*sender, window);
            stream
        };
        senders.iter().map(add).collect()
    }

    fn add_sender(&mut self, user: u32, window: usize) {
        let place = user as usize;
        if self.senders.len() <= place {
            self.senders.resize_with(place + 1, Sender::default);
        }
        self.senders[place].under_way.reserve(window);
    }

    /// Measures within this span.
    pub(super) const fn measure(&mut self, span: Span) {
        self.span = span;
    }

    /// Resets the results, and lets every stream send without an end.
    pub(super) fn start_over(&mut self) {
        self.measured = Measured::nothing();
        self.span = Span::NEVER;
        self.last_number = u32::MAX;
    }

    /// The number of messages sent in a stream.
    pub(super) fn sent(&self, stream: u32) -> u32 {
        self.streams[stream as usize].sent
    }

    /// The number of messages in a stream that must survive: those up to the last acknowledged one.
    pub(super) fn promised(&self, stream: u32) -> u32 {
        self.streams[stream as usize].promised
    }

    /// True if this stream can have another message in flight.
    pub(super) fn has_room(&self, stream: u32) -> bool {
        let stream = &self.streams[stream as usize];
        // The messages in flight need not be the last ones that were sent.
        let is_free = !stream.flights[place(stream.sent + 1, stream.flights.len())].is_under_way;
        let may_go_on = stream.under_way < stream.window && stream.sent < self.last_number;
        is_free && may_go_on
    }

    /// Lets every stream send this many messages in total.
    pub(super) const fn end_at(&mut self, last_number: u32) {
        self.last_number = last_number;
    }

    /// `None` if there is no such stream.
    pub(super) fn conversation(&self, stream: u32) -> Option<u32> {
        self.streams.get(stream as usize).map(|stream| stream.conversation)
    }

    /// Messages that are not acknowledged, or not delivered to all receivers.
    pub(super) const fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Messages that are acknowledged and delivered to all receivers.
    pub(super) const fn ended(&self) -> u64 {
        self.ended
    }

    /// Sends the next message of a stream that has room for one. `sent_ns` is the time at which it was due.
    pub(super) fn send<M: Messenger>(&mut self, net: &mut Net, messenger: &mut M, stream: u32, sent_ns: u64) {
        let Stream { sender, conversation, receivers, sent, under_way, flights, .. } =
            &mut self.streams[stream as usize];
        *sent += 1;
        *under_way += 1;
        let number = *sent;
        flights[place(number, flights.len())] = Flight {
            number,
            sent_ns,
            receivers_left: *receivers,
            is_acknowledged: false,
            is_under_way: true,
        };
        self.under_way += 1;
        let ticket = self.senders[*sender as usize].next(stream, number);
        Stamp { stream, number, sent_ns }.write(&mut self.text, self.text_bytes);
        messenger.send(*conversation, *sender, ticket, &self.text, net.out(*sender));
    }

    /// Sends as many messages of a stream as may be in flight.
    pub(super) fn fill<M: Messenger>(&mut self, net: &mut Net, messenger: &mut M, stream: u32) {
        while self.has_room(stream) {
            let now_ns = net.now_ns();
            self.send(net, messenger, stream, now_ns);
        }
    }

    /// Processes an event of a user. Returns the stream of a message that is done with it.
    pub(super) fn take(&mut self, user: u32, incoming: Incoming, now_ns: u64) -> Option<u32> {
        match incoming {
            Incoming::Acknowledged { ticket } => self.acknowledged(user, ticket, now_ns),
            Incoming::Delivered { stamp, place } => self.delivered(user, stamp, place, now_ns),
        }
    }

    /// Counts the missing messages.
    pub(super) fn finish(&self) -> Violations {
        self.checker.finish(self.streams.iter().map(|stream| (stream.sent, stream.acknowledged)))
    }

    fn acknowledged(&mut self, user: u32, ticket: u32, now_ns: u64) -> Option<u32> {
        let known = self.senders.get_mut(user as usize).and_then(|sender| sender.take(ticket));
        let flight =
            known.and_then(|(stream, number)| Some((stream, self.streams[stream as usize].flight(number)?)));
        let Some((stream, flight)) = flight else {
            self.checker.false_ack();
            return None;
        };
        flight.is_acknowledged = true;
        let (number, sent_ns, is_over) = (flight.number, flight.sent_ns, flight.is_over());
        let place = &mut self.streams[stream as usize];
        place.acknowledged += 1;
        place.promised = place.promised.max(number);
        self.measured.acknowledged += u64::from(self.span.has(now_ns));
        if self.span.has(sent_ns) {
            self.measured.ack.record(Duration::from_nanos(now_ns.saturating_sub(sent_ns)));
        }
        is_over.then(|| self.end(stream))
    }

    fn delivered(&mut self, user: u32, stamp: Stamp, place: Option<u64>, now_ns: u64) -> Option<u32> {
        let sent = self.streams.get(stamp.stream as usize).map(|stream| stream.sent);
        if self.checker.delivered(user, stamp, place, sent) != Verdict::First {
            return None;
        }
        // Uses the recorded time, and not the one in the stamp.
        let flight = self.streams[stamp.stream as usize].flight(stamp.number)?;
        flight.receivers_left -= 1;
        let (sent_ns, is_last, is_over) = (flight.sent_ns, flight.receivers_left == 0, flight.is_over());
        self.measured.delivered += u64::from(self.span.has(now_ns));
        if self.span.has(sent_ns) {
            let took = Duration::from_nanos(now_ns.saturating_sub(sent_ns));
            self.measured.delivery.record(took);
            if is_last {
                self.measured.last.record(took);
            }
        }
        is_over.then(|| self.end(stamp.stream))
    }

    fn end(&mut self, stream: u32) -> u32 {
        self.under_way -= 1;
        self.ended += 1;
        self.streams[stream as usize].under_way -= 1;
        stream
    }
}

impl Stream {
    /// A message in flight.
    fn flight(&mut self, number: u32) -> Option<&mut Flight> {
        let place = place(number, self.flights.len());
        Some(&mut self.flights[place]).filter(|flight| flight.is_under_way && flight.number == number)
    }
}

impl Flight {
    /// Checks whether the message is done, and records it.
    const fn is_over(&mut self) -> bool {
        let is_over = self.is_acknowledged && self.receivers_left == 0;
        self.is_under_way = !is_over;
        is_over
    }
}

impl Sender {
    fn next(&mut self, stream: u32, number: u32) -> u32 {
        self.last_ticket += 1;
        self.under_way.push_back((self.last_ticket, stream, number));
        self.last_ticket
    }

    /// Removes a ticket in flight and returns its stream and number. It is nearly always one of the first.
    fn take(&mut self, ticket: u32) -> Option<(u32, u32)> {
        let index = self.under_way.binary_search_by_key(&ticket, |(ticket, ..)| *ticket).ok()?;
        self.under_way.remove(index).map(|(_, stream, number)| (stream, number))
    }
}

/// `places` is a power of two.
const fn place(number: u32, places: usize) -> usize {
    number as usize & (places - 1)
}
