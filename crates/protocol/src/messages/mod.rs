//! Messages, history and the log: `/v1/conversations/{id}/messages`, `…/log`, `…/pins`, `/v1/messages/{id}`.
//!
//! - `message`: a message in its current state
//! - `requests`: sending, editing and deleting a message; `reactions`: reacting to one
//! - `receipts`: the delivery status of a message
//! - `history`: pages of messages, threads, pins and versions
//! - `log`: every change in a conversation, in order

mod history;
mod log;
mod message;
mod reactions;
mod receipts;
mod requests;

pub use history::{EditList, MessagePage, Pin, PinList, ReadHistory, ThreadPage, Version};
pub use log::{Change, ChangedDetails, LogEntry, LogPage, ReactionChange};
pub use message::{Forwarded, Media, Mentions, Message, MessageKind, Quote};
pub use reactions::{React, Reaction, ReactionCount, ReactionPage};
pub use receipts::{MessageStatus, Receipt, ReceiptList};
pub use requests::{DeleteMessage, EditMessage, OfMessage, SendMessage};
