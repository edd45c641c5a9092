//! Where each conversation stands: what the application was given, what is known to exist, what came too early.
//!
//! Everything that comes, live or from a page of the log, is offered here; what is next goes on to the application, what
//! is old is dropped, what is too early is held while the gap before it is read. This is the one place that decides it,
//! and it does no input or output.

use std::collections::{BTreeMap, HashMap, VecDeque};

use godwit_protocol::messages::{LogEntry, LogPage};
use godwit_protocol::{ConversationId, Seq};

use super::StartAt;

/// Entries that came before the ones that precede them, over all conversations. Further ones are read again.
const HELD_ENTRIES_MAX: usize = 1_024;

pub(super) struct Logs {
    tracks: HashMap<ConversationId, Track>,
    /// Conversations that are behind and not being read, the one that waits longest first.
    due: VecDeque<ConversationId>,
    held: usize,
    start: StartAt,
    /// Before the first sync is complete, a conversation that is not known may be an old one.
    first_sync_done: bool,
    /// The newest entry of conversations of which it is not known yet where they begin.
    early: HashMap<ConversationId, Seq>,
}

#[derive(Default)]
struct Track {
    /// The last entry that the application was given.
    seen: Seq,
    /// The newest entry that is known to exist.
    head: Seq,
    /// Too early, by seq.
    held: BTreeMap<Seq, LogEntry>,
    reading: Reading,
    /// The server says that its log ends here, before what was seen. It may only be that the answer is older than an
    /// entry that came live; reading the log tells.
    doubt: Option<Seq>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Reading {
    #[default]
    No,
    Due,
    UnderWay,
}

/// A conversation that does not go on where it was left.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// It is new here, and begins after this entry.
    New(Seq),
    /// What was seen is out of the user's sight now; it goes on after this entry.
    Anew(Seq),
}

/// What came of a page of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Done,
    /// The application must load the conversation anew; it goes on after this entry.
    Reset(Seq),
    /// There should be more, and the page had nothing.
    Stuck,
}

impl Logs {
    pub(super) fn new(
        start: StartAt,
        seen: impl IntoIterator<Item = (ConversationId, Seq)>,
        resumed: bool,
    ) -> Self {
        let track = |seen| Track { seen, head: seen, ..Track::default() };
        Self {
            tracks: seen.into_iter().map(|(id, seen)| (id, track(seen))).collect(),
            due: VecDeque::new(),
            held: 0,
            start,
            first_sync_done: resumed,
            early: HashMap::new(),
        }
    }

    pub(super) fn seen(&self, id: ConversationId) -> Option<Seq> {
        self.tracks.get(&id).map(|track| track.seen)
    }

    /// An entry came live. What is next, and what had waited for it, is delivered.
    pub(super) fn offer(&mut self, id: ConversationId, entry: LogEntry, deliver: impl FnMut(LogEntry)) {
        if self.begins_unknown(id, entry.seq) {
            return;
        }
        let track = self.tracks.entry(id).or_default();
        track.head = track.head.max(entry.seq);
        self.held += track.accept(entry, self.held < HELD_ENTRIES_MAX);
        self.held -= track.release(deliver);
        self.queue(id);
    }

    /// An entry came live for which there is no room: it will be read again.
    pub(super) fn skip(&mut self, id: ConversationId, seq: Seq) {
        if self.begins_unknown(id, seq) {
            return;
        }
        let track = self.tracks.entry(id).or_default();
        track.head = track.head.max(seq);
        self.queue(id);
    }

    /// A sync lists the conversation, of which the user sees what comes from `from` on. Gives after which entry it begins,
    /// if it is new here.
    pub(super) fn list(&mut self, id: ConversationId, head: Seq, from: Seq) -> Option<Seq> {
        let begins = match self.tracks.get_mut(&id) {
            Some(track) => {
                track.doubt = (head < track.seen).then_some(head);
                None
            }
            None if !self.first_sync_done && self.start == StartAt::Head => Some(head),
            None => Some(Seq::new(from.get().saturating_sub(1))),
        };
        let early = self.early.remove(&id).unwrap_or_default();
        let track = self.tracks.entry(id).or_default();
        track.seen = begins.unwrap_or(track.seen);
        track.head = track.head.max(head).max(early);
        self.queue(id);
        begins
    }

    /// All conversations have been listed: one that is not known from now on is a new one.
    pub(super) fn listed_all(&mut self) {
        self.first_sync_done = true;
        for (id, seq) in std::mem::take(&mut self.early) {
            self.skip(id, seq);
        }
    }

    /// A conversation that must be read, and after which entry.
    pub(super) fn next_due(&mut self) -> Option<(ConversationId, Seq)> {
        while let Some(id) = self.due.pop_front() {
            let Some(track) = self.tracks.get_mut(&id).filter(|track| track.reading == Reading::Due) else {
                continue;
            };
            // What was missing may have come by itself.
            if track.is_behind() {
                track.reading = Reading::UnderWay;
                return Some((id, track.seen));
            }
            track.reading = Reading::No;
        }
        None
    }

    /// A page says that the user sees nothing before this entry. To be told before the page itself.
    pub(super) fn begins(&mut self, id: ConversationId, begins: Seq) -> Option<Begin> {
        let seen = self.tracks.get(&id)?.seen;
        if begins <= seen.next() {
            return None;
        }
        let before = Seq::new(begins.get() - 1);
        let head = self.tracks.get(&id)?.head;
        self.reset(id, before);
        if let Some(track) = self.tracks.get_mut(&id) {
            track.head = track.head.max(head);
            track.reading = Reading::UnderWay;
        }
        Some(if seen == Seq::ZERO { Begin::New(before) } else { Begin::Anew(before) })
    }

    /// A page of the log has come.
    pub(super) fn page(&mut self, page: LogPage, mut deliver: impl FnMut(LogEntry)) -> Read {
        let id = page.conversation_id;
        let Some(track) = self.tracks.get_mut(&id) else { return Read::Done };
        track.reading = Reading::No;
        track.doubt = None;
        if page.truncated {
            self.reset(id, page.head);
            return Read::Reset(page.head);
        }
        track.head = track.head.max(page.head);
        let before = track.seen;
        for entry in page.entries {
            self.held += track.accept(entry, self.held < HELD_ENTRIES_MAX);
            self.held -= track.release(&mut deliver);
        }
        let stuck = track.is_behind() && track.seen == before;
        self.queue(id);
        if stuck { Read::Stuck } else { Read::Done }
    }

    /// The page could not be read; it is due again.
    pub(super) fn read_failed(&mut self, id: ConversationId) {
        if let Some(track) = self.tracks.get_mut(&id) {
            track.reading = Reading::No;
            self.queue(id);
        }
    }

    /// The server says that it has less than was seen. Gives where the conversation goes on.
    pub(super) fn ahead_of_server(&mut self, id: ConversationId) -> Option<Seq> {
        let head = self.tracks.get(&id)?.doubt.unwrap_or_default();
        self.reset(id, head);
        Some(head)
    }

    pub(super) fn forget(&mut self, id: ConversationId) {
        self.early.remove(&id);
        if let Some(track) = self.tracks.remove(&id) {
            self.held -= track.held.len();
        }
    }

    /// As on a first start.
    pub(super) fn forget_all(&mut self) {
        *self = Self::new(self.start, [], false);
    }

    /// What was being read will not come: the connection is gone.
    pub(super) fn disconnected(&mut self) {
        let under_way = self.tracks.iter().filter(|(_, track)| track.reading == Reading::UnderWay);
        for id in under_way.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.read_failed(id);
        }
    }

    /// Goes on after `seq` whatever was before. Nothing that is held can be trusted to follow.
    fn reset(&mut self, id: ConversationId, seq: Seq) {
        self.forget(id);
        self.tracks.insert(id, Track { seen: seq, head: seq, ..Track::default() });
    }

    fn begins_unknown(&mut self, id: ConversationId, seq: Seq) -> bool {
        let unknown = !self.first_sync_done && self.start == StartAt::Head && !self.tracks.contains_key(&id);
        if unknown {
            let early = self.early.entry(id).or_default();
            *early = seq.max(*early);
        }
        unknown
    }

    fn queue(&mut self, id: ConversationId) {
        if let Some(track) = self.tracks.get_mut(&id)
            && track.is_behind()
            && track.reading == Reading::No
        {
            track.reading = Reading::Due;
            self.due.push_back(id);
        }
    }
}

impl Track {
    fn is_behind(&self) -> bool {
        self.seen < self.head || self.doubt.is_some()
    }

    /// Holds the entry unless it is old or there is no room. What is next is always held, to be released at once. Gives
    /// how many are held more.
    fn accept(&mut self, entry: LogEntry, room: bool) -> usize {
        let is_next = entry.seq == self.seen.next();
        if entry.seq <= self.seen || !(room || is_next) {
            return 0;
        }
        usize::from(self.held.insert(entry.seq, entry).is_none())
    }

    /// Delivers what follows without a gap. Gives how many.
    fn release(&mut self, mut deliver: impl FnMut(LogEntry)) -> usize {
        let mut released = 0;
        while let Some(entry) = self.held.remove(&self.seen.next()) {
            self.seen = entry.seq;
            released += 1;
            deliver(entry);
        }
        self.head = self.head.max(self.seen);
        released
    }
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
