//! The delivery status of a message, and its receipts.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::shape;
use crate::{Timestamp, UserId};

/// Delivery status of a message; always `SENT` in large conversations. The server never sends `UNSPECIFIED`, `SENDING` or
/// `ERROR`: clients use them for messages that have not been sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MessageStatus {
    Unspecified = 0,
    Sending = 1,
    /// The server has stored the message durably.
    Sent = 2,
    /// Every other member has received the message.
    Delivered = 3,
    /// Every other member has read the message.
    Read = 4,
    Error = 5,
}

/// `GET /v1/messages/{id}/receipts`, in pages. `delivered_to_all` and `read_by_all` refer to all members, including those
/// on other pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReceiptList {
    /// One for each member except the sender.
    pub receipts: Vec<Receipt>,
    /// Absent in large conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_to_all: Option<bool>,
    /// Absent in large conversations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_by_all: Option<bool>,
    /// Pass it as `after` for the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Receipt {
    pub user_id: UserId,
    /// `SENT`, `DELIVERED` or `READ`.
    pub status: MessageStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Timestamp>,
}
