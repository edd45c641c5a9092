//! The log, and the index of what is in it.

use godwit_domain::model::{ClientId, InviteToken};
use godwit_domain::ports::SeqRange;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::{Key, KeyRange, index, log};

pub(crate) fn shown(conversation: ConversationId, seq: Seq) -> Key {
    log(0x01).id(conversation.get()).id(seq.get()).key()
}

pub(crate) fn other(conversation: ConversationId, seq: Seq) -> Key {
    log(0x02).id(conversation.get()).id(seq.get()).key()
}

pub(crate) fn all_shown(conversation: ConversationId, range: SeqRange) -> KeyRange {
    log(0x01).id(conversation.get()).between(range)
}

pub(crate) fn all_others(conversation: ConversationId, range: SeqRange) -> KeyRange {
    log(0x02).id(conversation.get()).between(range)
}

pub(crate) fn client_id(conversation: ConversationId, sender: UserId, client_id: &ClientId) -> Key {
    index(0x01).id(conversation.get()).id(sender.get()).bytes(client_id.as_str().as_bytes()).key()
}

pub(crate) fn location(message: MessageId) -> Key {
    index(0x02).id(message.get()).key()
}

pub(crate) fn invite(token: &InviteToken) -> Key {
    index(0x03).bytes(token.as_str().as_bytes()).key()
}
