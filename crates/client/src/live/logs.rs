//! The position in each conversation's log: the entries that the application has, those that exist, and those that arrived
//! too early.
//!
//! Every entry, live or from a page of the log, is offered to this module. The module delivers the next entry to the
//! application, drops an old one, and holds one that arrived too early until the gap before it is read. No other module
//! makes this decision, and this one does no I/O.

use std::collections::{BTreeMap, HashMap, VecDeque};

use godwit_protocol::messages::{LogEntry, LogPage};
use godwit_protocol::{ConversationId, Seq};

use super::StartAt;

/// Entries that arrived too early, across all conversations. Further ones are dropped and read again.
const HELD_ENTRIES_MAX: usize = 1_024;

pub(super) struct Logs {
    tracks: HashMap<ConversationId, Track>,
    /// Conversations that are behind and not being read, the longest waiting one first.
    due: VecDeque<ConversationId>,
    held: usize,
    start: StartAt,
    /// Before the first sync is complete, an unknown conversation may be an old one.
    first_sync_done: bool,
    /// The newest entry of conversations whose start is not known yet.
    early: HashMap<ConversationId, Seq>,
}

#[derive(Default)]
struct Track {
    /// The last entry that was delivered to the application.
    seen: Seq,
    /// The newest entry that is known to exist.
    head: Seq,
    /// Entries that arrived too early, by `seq`.
    held: BTreeMap<Seq, LogEntry>,
    reading: Reading,
    /// The head according to the server, if it is before `seen`. The answer may merely be older than a live entry; reading
    /// the log settles it.
    doubt: Option<Seq>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Reading {
    #[default]
    No,
    Due,
    UnderWay,
}

/// A conversation that does not continue after the last delivered entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// New for this client; begins after this entry.
    New(Seq),
    /// The delivered entries are no longer visible to the user; continues after this entry.
    Anew(Seq),
}

/// The result of a page of the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Done,
    /// The application must load the conversation again; it continues after this entry.
    Reset(Seq),
    /// There should be more entries, but the page was empty.
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

    /// Takes a live entry. Delivers it if it is the next one, together with the held entries that follow it.
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

    /// A live entry was omitted by the server, or dropped because the queue is full. It will be read.
    pub(super) fn skip(&mut self, id: ConversationId, seq: Seq) {
        if self.begins_unknown(id, seq) {
            return;
        }
        let track = self.tracks.entry(id).or_default();
        track.head = track.head.max(seq);
        self.queue(id);
    }

    /// A sync lists the conversation, which the user sees from `from` on. Returns the entry after which it begins, if it is
    /// new for this client.
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

    /// All conversations have been listed: an unknown one is a new one from now on.
    pub(super) fn listed_all(&mut self) {
        self.first_sync_done = true;
        for (id, seq) in std::mem::take(&mut self.early) {
            self.skip(id, seq);
        }
    }

    /// A conversation to read, and the entry after which to read.
    pub(super) fn next_due(&mut self) -> Option<(ConversationId, Seq)> {
        while let Some(id) = self.due.pop_front() {
            let Some(track) = self.tracks.get_mut(&id).filter(|track| track.reading == Reading::Due) else {
                continue;
            };
            // The missing entries may have arrived in the meantime.
            if track.is_behind() {
                track.reading = Reading::UnderWay;
                return Some((id, track.seen));
            }
            track.reading = Reading::No;
        }
        None
    }

    /// A page says that the user sees nothing before this entry. Called before [`page`](Self::page).
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

    /// A page of the log has arrived.
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

    /// The page could not be read. It is due again.
    pub(super) fn read_failed(&mut self, id: ConversationId) {
        if let Some(track) = self.tracks.get_mut(&id) {
            track.reading = Reading::No;
            self.queue(id);
        }
    }

    /// The server has fewer entries than were delivered. Returns where the conversation continues.
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

    /// Returns to the state of a first start.
    pub(super) fn forget_all(&mut self) {
        *self = Self::new(self.start, [], false);
    }

    /// The connection is gone: pages in flight will not arrive.
    pub(super) fn disconnected(&mut self) {
        let under_way = self.tracks.iter().filter(|(_, track)| track.reading == Reading::UnderWay);
        for id in under_way.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.read_failed(id);
        }
    }

    /// Continues after `seq`, whatever was before. Held entries may not follow it, so they are dropped.
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

    /// Holds the entry unless it is old or there is no room. The next entry is always held, because it is released at once.
    /// Returns the change in the number of held entries.
    fn accept(&mut self, entry: LogEntry, room: bool) -> usize {
        let is_next = entry.seq == self.seen.next();
        if entry.seq <= self.seen || !(room || is_next) {
            return 0;
        }
        usize::from(self.held.insert(entry.seq, entry).is_none())
    }

    /// Delivers the held entries that follow without a gap. Returns their number.
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
