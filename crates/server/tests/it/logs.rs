//! The guarantees that every observer of a conversation checks.

use std::collections::{BTreeMap, HashSet};

use godwit_client::Http;
use godwit_client::protocol::limits::PAGE_MAX;
use godwit_client::protocol::messages::{Change, LogEntry, Message, MessageStatus, ReactionCount};
use godwit_client::protocol::{ConversationId, MessageId, Seq, UserId};

/// Checks the log of one conversation as one observer receives it. Panics at a gap, a duplicate, a wrong order, or an id
/// that does not increase.
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

/// The whole log, in pages of the maximum size, checked.
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

/// Asserts that the observer has exactly this part of the log.
pub(crate) fn assert_part_of(log: &[LogEntry], observer: &str, observed: &[LogEntry]) {
    let Some(first) = observed.first() else { return };
    let begin = usize::try_from(first.seq.get() - 1).unwrap();
    let part = &log[begin..log.len().min(begin + observed.len())];
    assert!(part == observed, "{observer} got something else than the log has:\n{observed:?}\n{part:?}");
}

/// Asserts that the observer has the log from some point to its end: the same entries, and the same messages as a result.
/// The log may be read later than the observer's entries, and shows the messages of that time.
pub(crate) fn assert_rest_of(log: &[LogEntry], observer: &str, observed: &[LogEntry]) {
    let end = |entries: &[LogEntry]| entries.last().map(|entry| entry.seq);
    assert_eq!(end(observed), end(log), "{observer} has the end of the log");
    let Some(first) = observed.first() else { return };
    let rest = Picture::of(&log[usize::try_from(first.seq.get() - 1).unwrap()..]);
    let seen = Picture::of(observed);
    assert!(rest == seen, "{observer} sees something else than the log has:\n{seen:?}\n{rest:?}");
}

/// The state of a client that has received these entries in order.
#[derive(Debug, PartialEq)]
struct Picture {
    /// Without properties that only hold at the time of reading.
    entries: Vec<LogEntry>,
    messages: BTreeMap<MessageId, Shown>,
}

#[derive(Debug, PartialEq)]
struct Shown {
    text: Option<String>,
    is_deleted: bool,
    is_edited: bool,
    reactions: BTreeMap<String, u32>,
}

impl Picture {
    fn of(entries: &[LogEntry]) -> Self {
        let mut picture = Self { entries: entries.to_vec(), messages: BTreeMap::new() };
        for entry in &mut picture.entries {
            match &mut entry.change {
                Change::Message { message } => {
                    let shown = Shown {
                        text: message.text.take(),
                        is_deleted: message.deleted_at.take().is_some(),
                        is_edited: message.edited_at.take().is_some(),
                        reactions: counts(&std::mem::take(&mut message.reactions)),
                    };
                    picture.messages.insert(message.id, shown);
                    (message.my_reaction, message.expires_at) = (None, None);
                }
                Change::Edited { message_id, text, .. } => {
                    let text = text.take();
                    if let (Some(text), Some(shown)) = (text, picture.messages.get_mut(message_id)) {
                        (shown.text, shown.is_edited) = (Some(text), true);
                    }
                }
                Change::Deleted { message_id, .. } => forget(&mut picture.messages, message_id),
                Change::Expired { message_ids } => {
                    message_ids.iter().for_each(|id| forget(&mut picture.messages, id));
                }
                Change::Reacted { message_id, reactions, changes, .. } => {
                    changes.clear();
                    let reactions = std::mem::take(reactions);
                    if let Some(shown) = picture.messages.get_mut(message_id).filter(|it| !it.is_deleted) {
                        shown.reactions = counts(&reactions);
                    }
                }
                _ => {}
            }
        }
        picture
    }
}

fn counts(reactions: &[ReactionCount]) -> BTreeMap<String, u32> {
    reactions.iter().map(|count| (count.reaction.clone(), count.count)).collect()
}

fn forget(messages: &mut BTreeMap<MessageId, Shown>, id: &MessageId) {
    if let Some(shown) = messages.get_mut(id) {
        *shown = Shown { text: None, is_deleted: true, is_edited: false, reactions: BTreeMap::new() };
    }
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

/// The message without its status, which changes over time.
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
