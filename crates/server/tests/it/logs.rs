//! What every observer of a conversation must agree on.

use std::collections::HashSet;

use godwit_client::Http;
use godwit_client::protocol::limits::PAGE_MAX;
use godwit_client::protocol::messages::{Change, LogEntry, Message, MessageStatus};
use godwit_client::protocol::{ConversationId, MessageId, Seq, UserId};

/// The log of one conversation as one observer gets it: panics at a gap, a duplicate, a wrong order, or an id that does
/// not rise.
pub(crate) struct LogChecker {
    observer: String,
    seen: Seq,
    newest_id: Option<MessageId>,
    sent: HashSet<(UserId, String)>,
    entries: Vec<LogEntry>,
}

impl LogChecker {
    pub(crate) fn after(observer: &str, seen: Seq) -> Self {
        Self {
            observer: observer.to_owned(),
            seen,
            newest_id: None,
            sent: HashSet::new(),
            entries: Vec::new(),
        }
    }

    pub(crate) fn take(&mut self, entry: LogEntry) {
        let observer = &self.observer;
        assert_eq!(entry.seq, self.seen.next(), "{observer} has a gap or a duplicate after {}", self.seen);
        self.seen = entry.seq;
        match &entry.change {
            Change::Created { .. } => assert_eq!(entry.seq, Seq::new(1), "{observer}: a log begins once"),
            Change::Message { message } => {
                assert_eq!(message.seq, entry.seq, "{observer}: a message stands where it says");
                assert!(Some(message.id) > self.newest_id, "{observer}: ids rise with seq at {}", entry.seq);
                self.newest_id = Some(message.id);
                let client_id = message.client_id.clone().unwrap();
                let fresh = self.sent.insert((message.sender_id, client_id));
                assert!(fresh, "{observer}: {:?} was sent once and is there twice", message.client_id);
            }
            Change::Unknown => panic!("{observer}: an entry of no known kind at {}", entry.seq),
            _ => {}
        }
        self.entries.push(settled(entry));
    }

    pub(crate) fn seen(&self) -> Seq {
        self.seen
    }

    /// Without the status of messages, which changes over time.
    pub(crate) fn into_entries(self) -> Vec<LogEntry> {
        self.entries
    }
}

/// The whole log, in pages as large as they can be, checked.
pub(crate) async fn read_log(http: &Http, conversation: ConversationId) -> Vec<LogEntry> {
    let mut checker = LogChecker::after("a reader of the log", Seq::ZERO);
    loop {
        let page = http.log(conversation, checker.seen(), Some(PAGE_MAX)).await.unwrap();
        assert!(!page.truncated, "the log is whole");
        page.entries.into_iter().for_each(|entry| checker.take(entry));
        assert!(checker.seen() <= page.head, "a page ends at the head");
        if !page.more {
            assert_eq!(checker.seen(), page.head, "the last page ends at the head");
            return checker.into_entries();
        }
    }
}

/// The observer has exactly this part of the log.
pub(crate) fn assert_part_of(log: &[LogEntry], observer: &str, observed: &[LogEntry]) {
    let Some(first) = observed.first() else { return };
    let begin = usize::try_from(first.seq.get() - 1).unwrap();
    let part = &log[begin..log.len().min(begin + observed.len())];
    assert!(part == observed, "{observer} got something else than the log has:\n{observed:?}\n{part:?}");
}

/// The observer has the log from some point up to its end.
pub(crate) fn assert_rest_of(log: &[LogEntry], observer: &str, observed: &[LogEntry]) {
    assert_eq!(observed.last(), log.last(), "{observer} has the end of the log");
    assert_part_of(log, observer, observed);
}

pub(crate) fn messages(log: &[LogEntry]) -> impl Iterator<Item = &Message> {
    log.iter().filter_map(|entry| match &entry.change {
        Change::Message { message } => Some(&**message),
        _ => None,
    })
}

pub(crate) fn texts(log: &[LogEntry]) -> Vec<&str> {
    messages(log).filter_map(|message| message.text.as_deref()).collect()
}

/// The same message, but for its status, which changes over time.
pub(crate) fn same(mut message: Message) -> Message {
    message.status = MessageStatus::Sent;
    message
}

fn settled(mut entry: LogEntry) -> LogEntry {
    if let Change::Message { message } = &mut entry.change {
        message.status = MessageStatus::Sent;
    }
    entry
}
