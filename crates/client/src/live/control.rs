//! What the application asks of the session's task, apart from sending.

use godwit_protocol::socket::Typing;
use godwit_protocol::{ConversationId, Seq, UserId};

#[derive(Debug)]
pub(super) enum Control {
    Read(ConversationId, Seq),
    Delivered(ConversationId, Seq),
    Typing(Typing),
    WatchPresence(Vec<UserId>),
    Close,
}
