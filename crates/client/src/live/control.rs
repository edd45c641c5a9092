//! Requests of the application to the session's task, other than sends.

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
