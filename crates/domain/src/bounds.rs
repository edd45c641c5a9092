//! Limits on the size of an answer, measured in encoded bytes.

use std::io::{self, Write};

use godwit_protocol::limits::PAGE_BYTES_MAX;
use godwit_protocol::messages::{Change, LogEntry, Message};
use serde::Serialize;

/// An upper bound of all names, ids, numbers and times of a message.
const MESSAGE_FIXED_BYTES_MAX: usize = 1_000;
/// An upper bound of an id or a number with its name.
const FIELD_BYTES_MAX: usize = 64;

/// The longest escape sequence of a byte, such as `\u0001`.
const ESCAPE_BYTES_MAX: usize = 6;

/// The bytes that an answer has left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self { left: bytes }
    }

    pub(crate) const fn left(self) -> usize {
        self.left
    }

    /// Takes the size of a value and its separator. Returns whether there was enough room.
    pub(crate) fn take(&mut self, value: &impl Serialize) -> bool {
        self.take_bytes(encoded_bytes(value) + 1)
    }

    pub(crate) fn take_bytes(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.left;
        self.left = self.left.saturating_sub(bytes);
        fits
    }
}

/// The number of leading items that fit into a page; at least one.
pub(crate) fn fitting<'a, T: Serialize + 'a>(items: impl IntoIterator<Item = &'a T>) -> usize {
    fitting_by(items, encoded_bytes)
}

/// Like [`fitting`], with the sizes given by a function.
pub(crate) fn fitting_by<T>(items: impl IntoIterator<Item = T>, bytes: impl Fn(T) -> usize) -> usize {
    let mut budget = Budget::new(PAGE_BYTES_MAX);
    items.into_iter().map(bytes).take_while(|bytes| budget.take_bytes(bytes + 1)).count().max(1)
}

/// Truncates a list to the size of a page. Returns whether it dropped items.
pub(crate) fn cut<T: Serialize>(items: &mut Vec<T>) -> bool {
    let fitting = fitting(items.iter());
    let is_cut = fitting < items.len();
    items.truncate(fitting);
    is_cut
}

/// The number of leading messages that fit into a page. Pages of history are read often and are rarely full, so a cheap
/// estimate from the lengths of the texts comes first.
pub(crate) fn messages_fitting<'a>(messages: impl ExactSizeIterator<Item = &'a Message> + Clone) -> usize {
    let most = |message| measure(message, |text| ESCAPE_BYTES_MAX * text.len()) + 1;
    if messages.clone().map(most).sum::<usize>() <= PAGE_BYTES_MAX {
        return messages.len();
    }
    fitting_by(messages, message_bytes)
}

/// An upper bound of the size of a message as JSON, computed without encoding it a second time.
pub(crate) fn message_bytes(message: &Message) -> usize {
    measure(message, text_bytes)
}

fn measure(message: &Message, text_bytes: impl Fn(&str) -> usize) -> usize {
    let text = |text: &Option<String>| text.as_deref().map_or(0, &text_bytes);
    let reactions = message.reactions.iter().map(|count| text_bytes(&count.reaction) + FIELD_BYTES_MAX);
    MESSAGE_FIXED_BYTES_MAX
        + text(&message.client_id)
        + text(&message.text)
        + text(&message.event)
        + message.data.as_ref().map_or(0, |data| encoded_bytes(data) + FIELD_BYTES_MAX)
        + text(&message.my_reaction)
        + message.media.as_ref().map_or(0, encoded_bytes)
        + message.notice.as_ref().map_or(0, encoded_bytes)
        + message.quote.as_ref().map_or(0, |quote| text_bytes(&quote.preview))
        + message.mentions.user_ids.len() * FIELD_BYTES_MAX
        + reactions.sum::<usize>()
}

/// Like [`message_bytes`], for an entry of the log.
pub(crate) fn entry_bytes(entry: &LogEntry) -> usize {
    match &entry.change {
        Change::Message { message } => message_bytes(message) + 2 * FIELD_BYTES_MAX,
        _ => encoded_bytes(entry),
    }
}

/// The size of a text as JSON, without the quotes.
fn text_bytes(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' => 1,
        // An upper bound: some escapes are shorter.
        0..0x20 => ESCAPE_BYTES_MAX - 1,
        _ => 0,
    };
    text.len() + text.bytes().map(escaped).sum::<usize>()
}

/// The size of a value as JSON.
pub(crate) fn encoded_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        // A value that cannot be encoded is never sent.
        Err(_) => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use godwit_protocol::messages::{MessageKind, MessageStatus, Quote, ReactionCount};
    use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

    use super::*;

    const ID: u64 = i64::MAX as u64;
    const LATE: Timestamp = Timestamp::from_millis(i64::MAX);

    /// A message with every optional part.
    fn message(text: &str) -> Message {
        let quote = Quote {
            message_id: MessageId::new(ID),
            seq: Seq::new(ID),
            sender_id: UserId::new(ID),
            kind: MessageKind::System,
            preview: "\"".repeat(100),
            deleted: true,
        };
        let count = ReactionCount { reaction: "\\".repeat(40), count: u32::MAX };
        Message {
            id: MessageId::new(ID),
            conversation_id: ConversationId::new(ID),
            seq: Seq::new(ID),
            sender_id: UserId::new(ID),
            client_id: Some("\"".repeat(64)),
            kind: MessageKind::System,
            text: Some(text.to_owned()),
            media: None,
            event: Some("\"".repeat(64)),
            data: Some(serde_json::json!({ "key": ["\"".repeat(4_000)] })),
            notice: None,
            reply_to: Some(MessageId::new(ID)),
            quote: Some(Box::new(quote)),
            thread_id: Some(MessageId::new(ID)),
            forwarded_from: Some(godwit_protocol::messages::Forwarded {
                message_id: MessageId::new(ID),
                sender_id: UserId::new(ID),
            }),
            mentions: godwit_protocol::messages::Mentions { user_ids: vec![UserId::new(ID); 50], all: true },
            created_at: LATE,
            edited_at: Some(LATE),
            deleted_at: Some(LATE),
            expires_at: Some(LATE),
            reactions: vec![count; 20],
            my_reaction: Some("\"".repeat(40)),
            replies: u32::MAX,
            status: MessageStatus::Delivered,
        }
    }

    #[test]
    fn message_sizes_are_upper_bounds() {
        for text in ["", "plain", "\"quoted\" \\ \n\t\u{1}", "päivää 👋🏽", &"\"".repeat(16 * 1024)] {
            let message = message(text);
            assert!(encoded_bytes(&message) <= message_bytes(&message), "{text}");
            let change = Change::Message { message: Box::new(message) };
            let entry = LogEntry { seq: Seq::new(ID), at: LATE, change };
            assert!(encoded_bytes(&entry) <= entry_bytes(&entry), "{text}");
        }
    }

    #[test]
    fn the_number_of_fitting_messages_is_exact() {
        for (text, count) in [("hi", 3), ("hi", 200), (&"x".repeat(1_000), 200), (&"\u{1}".repeat(1_000), 60)]
        {
            let plain = Message { data: None, reactions: Vec::new(), ..message(text) };
            let messages = vec![plain; count];
            let exact = fitting_by(&messages, message_bytes);
            assert_eq!(messages_fitting(messages.iter()), exact, "{count} messages of {} bytes", text.len());
        }
    }

    #[test]
    fn a_page_has_the_items_that_fit_and_at_least_one() {
        assert_eq!(fitting(&["x".repeat(PAGE_BYTES_MAX), String::new()]), 1);
        let mut items = vec!["x".repeat(PAGE_BYTES_MAX / 4 - 3); 5];
        assert!(cut(&mut items));
        assert_eq!(items.len(), 4, "with its quotes and a comma each is a quarter");
        assert!(!cut(&mut items));
    }
}
