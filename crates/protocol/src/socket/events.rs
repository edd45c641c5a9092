//! The list of all events, and their bodies.

use serde::{Deserialize, Serialize};

use super::SignedInSocket;
use crate::conversations::MemberCursor;
use crate::messages::LogEntry;
use crate::people::{Presence, User};
use crate::sync::AccountEntry;
use crate::{ConversationId, Seq, Timestamp, UserId};

/// Calls a macro with the list of all events: `name: Variant(Body), "summary";`. The server generates the AsyncAPI document
/// from it.
#[macro_export]
macro_rules! socket_events {
    ($with:ident) => {
        $with! {
            hello: Hello(Hello),
                "The first frame on every socket.";
            entry: Entry(EntryEvent),
                "A new entry in the log of one of the user's conversations. Every socket of every member receives it, including the sender's. A gap in seq means that the client missed entries: it must read the log.";
            entry_omitted: EntryOmitted(EntryOmitted),
                "A new entry that the server does not send, because too many members have deleted the message that it is about for themselves. Handle it like a gap in seq: read the log.";
            cursor: Cursor(CursorEvent),
                "A member has received or read further.";
            typing: Typing(TypingEvent),
                "A member is typing or has stopped.";
            presence: Presence(PresenceEvent),
                "A user whom the socket watches went online or offline.";
            user_updated: UserUpdated(User),
                "A user changed their handle, name or picture. Sent to at most 1,000 people who share a conversation of at most 100 members with the user; everyone else sees the change when they load the user again.";
            account: Account(AccountEntry),
                "Something changed for the user: settings, blocks, devices, or their read cursor on another device.";
            reconnect: Reconnect(Reconnect),
                "The server is about to close the socket: reconnect after the given time.";
            catch_up: CatchUp(CatchUp),
                "Events between servers may have been lost: call sync after the given time.";
        }
    };
}

macro_rules! define {
    ($($name:ident: $variant:ident($body:ident), $summary:literal;)+) => {
        /// An event. The frame is `{"<event>": {…}}`.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Event {
            $(#[doc = $summary] $variant($body),)+
        }

        impl Event {
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];
        }
    };
}

socket_events!(define);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hello {
    pub server_time: Timestamp,
    /// The server sends pings at this interval, and closes a socket that is silent for twice as long.
    pub heartbeat_ms: u32,
    /// Time limit for signing in, unless the handshake has done so.
    pub sign_in_within_ms: u32,
    /// Whether the `Authorization` header of the handshake signed the socket in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in: Option<SignedInSocket>,
    pub limits: HelloLimits,
}

/// The limits that a client needs at run time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HelloLimits {
    pub frame_bytes_max: usize,
    pub text_bytes_max: usize,
    pub text_chars_max: usize,
    pub commands_in_flight_max: usize,
    pub page_max: u16,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryEvent {
    pub conversation_id: ConversationId,
    #[serde(flatten)]
    pub entry: LogEntry,
}

/// [`Event::Entry`] with a borrowed entry.
#[derive(Debug, Serialize)]
pub struct EntryFrame<'a> {
    entry: BorrowedEntry<'a>,
}

#[derive(Debug, Serialize)]
struct BorrowedEntry<'a> {
    conversation_id: ConversationId,
    #[serde(flatten)]
    entry: &'a LogEntry,
}

impl<'a> EntryFrame<'a> {
    pub const fn new(conversation_id: ConversationId, entry: &'a LogEntry) -> Self {
        Self { entry: BorrowedEntry { conversation_id, entry } }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryOmitted {
    pub conversation_id: ConversationId,
    pub seq: Seq,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CursorEvent {
    pub conversation_id: ConversationId,
    #[serde(flatten)]
    pub cursor: MemberCursor,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TypingEvent {
    pub conversation_id: ConversationId,
    pub user_id: UserId,
    pub typing: bool,
    /// The notice expires at this time unless it is repeated.
    pub ttl_ms: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PresenceEvent {
    pub user_id: UserId,
    #[serde(flatten)]
    pub presence: Presence,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PresenceList {
    pub presence: Vec<PresenceEvent>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reconnect {
    /// Randomized per socket, so that clients do not all reconnect at once.
    pub after_ms: u32,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CatchUp {
    /// Randomized per socket, so that clients do not all call `sync` at once.
    pub after_ms: u32,
}
