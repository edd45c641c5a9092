//! The log and its indexes.

use godwit_domain::model::{ClientId, InviteToken};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::builder::KeyBuilder;
use super::{Key, KeyRange, index, log};

/// The chunk of entries that ends at `last`.
pub(crate) fn chunk(conversation: ConversationId, shown: bool, last: Seq) -> Key {
    chunks(conversation, shown).id(last.get()).key()
}

/// The chunks that end at `seq` or later. The first of them has the entry at `seq`, if that is of this kind.
pub(crate) fn chunks_from(conversation: ConversationId, shown: bool, seq: Seq) -> KeyRange {
    let start = chunk(conversation, shown, seq).bytes;
    KeyRange { start, ..chunks(conversation, shown).range() }
}

/// The chunks that end at `from` or later, and before `before`.
pub(crate) fn chunks_between(conversation: ConversationId, shown: bool, from: Seq, before: Seq) -> KeyRange {
    let end = chunk(conversation, shown, before).bytes;
    KeyRange { end, ..chunks_from(conversation, shown, from) }
}

fn chunks(conversation: ConversationId, shown: bool) -> KeyBuilder {
    log(if shown { 0x01 } else { 0x02 }).id(conversation.get())
}

pub(crate) fn client_id(conversation: ConversationId, sender: UserId, client_id: &ClientId) -> Key {
    index(0x01).id(conversation.get()).id(sender.get()).bytes(client_id.as_str().as_bytes()).key()
}

/// The location of a message, and of the messages whose ids follow directly.
pub(crate) fn location(first: MessageId) -> Key {
    index(0x02).id(first.get()).key()
}

/// Locations that begin at or before a message. The last of them contains the message, if any does.
pub(crate) fn locations_until(message: MessageId) -> KeyRange {
    index(0x02).span(0, message.get())
}

pub(crate) fn invite(token: &InviteToken) -> Key {
    index(0x03).bytes(token.as_str().as_bytes()).key()
}
