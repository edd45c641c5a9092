//! Checks that every member got every message, once and in order.
//!
//! A stream is the sequence of messages of one sender in one conversation, numbered from 1. The checker knows, for every
//! stream and every member, which numbers have arrived.

use std::fmt;

use anyhow::ensure;

use crate::messenger::stamp::Stamp;

/// How many of the latest numbers are tracked. A correct run never has more in flight in one stream.
const WINDOW: u32 = u64::BITS;

#[derive(Debug, Default)]
pub(super) struct Checker {
    conversations: Vec<Conversation>,
    streams: Vec<Stream>,
    /// For each stream, one item per member of its conversation.
    seen: Vec<Seen>,
    /// For each conversation, one item per member: the position of the last message.
    places: Vec<u64>,
    violations: Violations,
}

#[derive(Debug)]
struct Conversation {
    /// Sorted.
    members: Vec<u32>,
    first_place: usize,
}

#[derive(Debug)]
struct Stream {
    conversation: u32,
    sender: u32,
    first_seen: usize,
}

/// The messages of a stream that a member has.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    highest: u32,
    count: u32,
    /// Bit `n` stands for `highest - n`.
    before: u64,
}

/// Violations, with the number of times each happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Violations {
    /// Arrived after a later message of the same stream.
    pub(crate) late: u64,
    pub(crate) twice: u64,
    /// Never arrived.
    pub(crate) missing: u64,
    /// Arrived at a user outside the conversation, or was never sent.
    pub(crate) stray: u64,
    /// Arrived with a position that is not after the previous one, or on the wrong page.
    pub(crate) misplaced: u64,
    /// Acknowledgements without a message, or repeated ones.
    pub(crate) false_acks: u64,
    pub(crate) unacknowledged: u64,
}

/// The verdict on a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It counts.
    First,
    /// The sender's own message, which does not count.
    Echo,
    Wrong,
}

impl Checker {
    /// `members` need not be sorted.
    pub(super) fn add_conversation(&mut self, members: &[u32]) -> u32 {
        let mut members = members.to_vec();
        members.sort_unstable();
        let first_place = self.places.len();
        self.places.resize(first_place + members.len(), 0);
        self.conversations.push(Conversation { members, first_place });
        (self.conversations.len() - 1) as u32
    }

    pub(super) fn add_stream(&mut self, conversation: u32, sender: u32) -> u32 {
        let first_seen = self.seen.len();
        let members = self.conversations[conversation as usize].members.len();
        self.seen.resize(first_seen + members, Seen::default());
        self.streams.push(Stream { conversation, sender, first_seen });
        (self.streams.len() - 1) as u32
    }

    /// The number of receivers of a stream.
    pub(super) fn receivers(&self, stream: u32) -> u32 {
        let stream = &self.streams[stream as usize];
        (self.conversations[stream.conversation as usize].members.len() - 1) as u32
    }

    /// Records a delivery. `sent` is the number of the last message that was sent in the stream.
    pub(super) fn delivered(
        &mut self,
        to: u32,
        stamp: Stamp,
        place: Option<u64>,
        sent: Option<u32>,
    ) -> Verdict {
        let known =
            self.streams.get(stamp.stream as usize).filter(|_| sent.is_some_and(|sent| stamp.number <= sent));
        let Some(stream) = known else { return self.stray() };
        let conversation = &self.conversations[stream.conversation as usize];
        let Ok(rank) = conversation.members.binary_search(&to) else { return self.stray() };
        if let Some(place) = place {
            let last = &mut self.places[conversation.first_place + rank];
            self.violations.misplaced += u64::from(place <= *last);
            *last = place;
        }
        let (is_first, is_late) = self.seen[stream.first_seen + rank].take(stamp.number);
        self.violations.late += u64::from(is_late);
        self.violations.twice += u64::from(!is_first);
        match is_first {
            false => Verdict::Wrong,
            true if stream.sender == to => Verdict::Echo,
            true => Verdict::First,
        }
    }

    pub(super) fn false_ack(&mut self) {
        self.violations.false_acks += 1;
    }

    /// Counts missing messages. `totals` has, for each stream, how many were sent and acknowledged.
    pub(super) fn finish(&self, totals: impl Iterator<Item = (u32, u32)>) -> Violations {
        let mut violations = self.violations;
        for (stream, (sent, acknowledged)) in self.streams.iter().zip(totals) {
            violations.unacknowledged += u64::from(sent - acknowledged);
            let conversation = &self.conversations[stream.conversation as usize];
            for (rank, member) in conversation.members.iter().enumerate() {
                if *member != stream.sender {
                    let came = self.seen[stream.first_seen + rank].count;
                    violations.missing += u64::from(sent - came);
                }
            }
        }
        violations
    }

    fn stray(&mut self) -> Verdict {
        self.violations.stray += 1;
        Verdict::Wrong
    }
}

impl Seen {
    /// Whether the number arrived for the first time, and whether a later one had arrived before.
    const fn take(&mut self, number: u32) -> (bool, bool) {
        if number > self.highest {
            let step = number - self.highest;
            self.before = if step < WINDOW { self.before << step | 1 } else { 1 };
            self.highest = number;
            self.count += 1;
            return (true, false);
        }
        let back = self.highest - number;
        // Too far back to know, so it counts as a duplicate.
        let bit = if back < WINDOW { 1 << back } else { 0 };
        let is_first = bit != 0 && self.before & bit == 0;
        self.before |= bit;
        self.count += is_first as u32;
        (is_first, is_first)
    }
}

impl Violations {
    /// Fails on any violation, because a run with one has no valid result.
    pub(crate) fn refuse(self) -> anyhow::Result<()> {
        ensure!(self == Self::default(), "no result, because something was wrong: {self}");
        Ok(())
    }
}

impl Violations {
    /// The violations that happened, with their numbers.
    pub(super) fn found(self) -> impl Iterator<Item = (u64, &'static str)> {
        let all = [
            (self.late, "came late"),
            (self.twice, "came twice"),
            (self.missing, "never came"),
            (self.stray, "came to the wrong receiver or were never sent"),
            (self.misplaced, "came in the wrong place"),
            (self.false_acks, "acknowledgements of nothing"),
            (self.unacknowledged, "never acknowledged"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0)
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (count, what) in self.found() {
            write!(f, "{separator}{count} {what}")?;
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// User 3 sends ten messages to 5 and 9; 5 gets all of them.
    fn checker() -> Checker {
        let mut checker = Checker::default();
        let conversation = checker.add_conversation(&[9, 3, 5]);
        assert_eq!(checker.add_stream(conversation, 3), 0);
        for number in 1..=10 {
            assert_eq!(deliver(&mut checker, 5, number), Verdict::First);
        }
        checker
    }

    fn deliver(checker: &mut Checker, to: u32, number: u32) -> Verdict {
        checker.delivered(to, Stamp { stream: 0, number, sent_ns: 0 }, None, Some(10))
    }

    fn finish(checker: &Checker) -> Violations {
        checker.finish([(10, 10)].into_iter())
    }

    fn only(change: impl FnOnce(&mut Violations)) -> Violations {
        let mut violations = Violations::default();
        change(&mut violations);
        violations
    }

    #[test]
    fn complete_and_ordered_deliveries_pass() {
        let mut checker = checker();
        assert_eq!(checker.receivers(0), 2);
        for number in 1..=10 {
            assert_eq!(deliver(&mut checker, 9, number), Verdict::First);
            assert_eq!(deliver(&mut checker, 3, number), Verdict::Echo);
        }
        let violations = finish(&checker);
        assert_eq!(violations, Violations::default());
        violations.refuse().unwrap();
    }

    #[test]
    fn missing_messages_are_detected_at_the_end() {
        let mut checker = checker();
        (1..=9).for_each(|number| assert_eq!(deliver(&mut checker, 9, number), Verdict::First));
        let violations = finish(&checker);
        assert_eq!(violations, only(|found| found.missing = 1));
        assert_eq!(
            violations.refuse().unwrap_err().to_string(),
            "no result, because something was wrong: 1 never came"
        );
    }

    #[test]
    fn a_gap_that_is_filled_later_is_out_of_order() {
        let mut checker = checker();
        for number in [1, 2, 4, 3, 5, 10, 9, 8, 7, 6] {
            assert_eq!(deliver(&mut checker, 9, number), Verdict::First);
        }
        assert_eq!(finish(&checker), only(|found| found.late = 5));
    }

    #[test]
    fn duplicates_are_detected_at_once_and_later() {
        let mut checker = checker();
        (1..=10).for_each(|number| assert_eq!(deliver(&mut checker, 9, number), Verdict::First));
        assert_eq!([10, 1, 5].map(|number| deliver(&mut checker, 9, number)), [Verdict::Wrong; 3]);
        assert_eq!(finish(&checker), only(|found| found.twice = 3));
    }

    #[test]
    fn gaps_longer_than_the_window_stay_gaps() {
        let mut checker = checker();
        let far = WINDOW + 20;
        let mut seen = Seen::default();
        assert_eq!([1, far, far + 1].map(|number| seen.take(number)), [(true, false); 3]);
        assert_eq!((seen.count, seen.take(2)), (3, (false, false)), "so far back it is not known any more");
        assert_eq!(deliver(&mut checker, 9, 10), Verdict::First);
        assert_eq!(finish(&checker), only(|found| found.missing = 9));
    }

    #[test]
    fn stray_messages_are_detected() {
        let mut checker = checker();
        (1..=10).for_each(|number| assert_eq!(deliver(&mut checker, 9, number), Verdict::First));
        assert_eq!(deliver(&mut checker, 4, 1), Verdict::Wrong, "not a member");
        assert_eq!(deliver(&mut checker, 9, 11), Verdict::Wrong, "not sent");
        let unknown = Stamp { stream: 1, number: 1, sent_ns: 0 };
        assert_eq!(checker.delivered(9, unknown, None, None), Verdict::Wrong, "no such stream");
        assert_eq!(finish(&checker), only(|found| found.stray = 3));
    }

    #[test]
    fn acknowledgements_are_checked() {
        let mut checker = checker();
        (1..=10).for_each(|number| assert_eq!(deliver(&mut checker, 9, number), Verdict::First));
        checker.false_ack();
        let violations = checker.finish([(10, 8)].into_iter());
        assert_eq!(violations, only(|found| (found.false_acks, found.unacknowledged) = (1, 2)));
    }

    #[test]
    fn all_streams_of_a_conversation_have_one_order() {
        let mut checker = Checker::default();
        let conversation = checker.add_conversation(&[1, 2, 3]);
        let streams = [1, 2].map(|sender| checker.add_stream(conversation, sender));
        let mut deliver = |stream: u32, number, place| {
            checker.delivered(3, Stamp { stream, number, sent_ns: 0 }, Some(place), Some(10))
        };
        assert_eq!(deliver(streams[0], 1, 7), Verdict::First);
        assert_eq!(deliver(streams[1], 1, 9), Verdict::First);
        assert_eq!(deliver(streams[0], 2, 8), Verdict::First, "it counts, but the run is refused");
        assert_eq!(checker.violations, only(|found| found.misplaced = 1));
    }
}
