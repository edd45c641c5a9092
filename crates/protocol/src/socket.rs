//! The WebSocket at `/v1/ws`: commands, replies, events and close codes.
//!
//! A client sends `{"id": 7, "send": {…}}` and gets `{"id": 7, "ok": {…}}` or `{"id": 7, "error": {…}}`. A frame
//! without `id` is an event, such as `{"entry": {…}}`. Every frame is one JSON text frame.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::accounts::Device;
use crate::conversations::{
    CreateConversation, DeleteConversation, MemberCursor, MoveCursor, OfConversation, OrderPinned,
    UpdateConversation, UpdateMembership,
};
use crate::error::Problem;
use crate::groups::{AddMembers, CreateInvite, JoinByInvite, Leave, OfMember, RevokeInvite, SetRole};
use crate::messages::{DeleteMessage, EditMessage, LogEntry, OfMessage, React, ReadHistory, SendMessage};
use crate::object::Object;
use crate::people::{Presence, User};
use crate::personal::{OfScheduled, ScheduleMessage, UpdateScheduled};
#[cfg(feature = "openapi")]
use crate::shape;
use crate::sync::AccountEntry;
use crate::{ConversationId, Seq, Timestamp, UserId};

/// A frame from the client.
#[derive(Debug, Clone, Serialize)]
pub struct CommandFrame {
    /// Chosen by the client; the reply repeats it.
    pub id: u64,
    #[serde(flatten)]
    pub command: Command,
}

macro_rules! commands {
    ($($(#[$doc:meta])* $variant:ident($body:ty) = $name:literal,)+) => {
        #[derive(Debug, Clone, Serialize)]
        pub enum Command {
            $($(#[$doc])* #[serde(rename = $name)] $variant($body),)+
        }

        impl Command {
            pub const NAMES: &[&str] = &[$($name),+];

            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            fn next_value<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Self, A::Error> {
                match name {
                    $($name => map.next_value().map(|Object(body)| Self::$variant(body)),)+
                    _ => Err(de::Error::unknown_field(name, Self::NAMES)),
                }
            }
        }
    };
}

commands! {
    /// Answered by [`SignedInSocket`]. Not needed when the handshake carried an `Authorization` header.
    SignIn(SignInSocket) = "sign_in",
    /// Answered by the [`Message`](crate::messages::Message), also when it was sent before.
    Send(SendMessage) = "send",
    /// Answered by the [`Message`](crate::messages::Message) as it is now.
    Edit(EditMessage) = "edit",
    /// Answered by an empty object.
    Delete(DeleteMessage) = "delete",
    /// Answered by the [`Message`](crate::messages::Message) as it is now.
    React(React) = "react",
    /// Answered by the [`Message`](crate::messages::Message) as it is now.
    Unreact(OfMessage) = "unreact",
    /// Answered by an empty object.
    Pin(OfMessage) = "pin",
    /// Answered by an empty object.
    Unpin(OfMessage) = "unpin",
    /// Answered by an empty object.
    Star(OfMessage) = "star",
    /// Answered by an empty object.
    Unstar(OfMessage) = "unstar",
    /// Answered by [`Scheduling`](crate::personal::Scheduling).
    Schedule(ScheduleMessage) = "schedule",
    /// Answered by [`Scheduled`](crate::personal::Scheduled).
    UpdateScheduled(UpdateScheduled) = "update_scheduled",
    /// Answered by the [`Message`](crate::messages::Message).
    SendScheduled(OfScheduled) = "send_scheduled",
    /// Answered by an empty object.
    CancelScheduled(OfScheduled) = "cancel_scheduled",
    /// Answered by [`CreatedConversation`](crate::conversations::CreatedConversation), also when it was there before.
    OpenConversation(CreateConversation) = "open_conversation",
    /// Answered by the [`Conversation`](crate::conversations::Conversation) as it is now.
    UpdateConversation(UpdateConversation) = "update_conversation",
    /// Answered by an empty object.
    DeleteConversation(DeleteConversation) = "delete_conversation",
    /// Answered by [`AddedMembers`](crate::groups::AddedMembers).
    AddMembers(AddMembers) = "add_members",
    /// Answered by an empty object.
    RemoveMember(OfMember) = "remove_member",
    /// Answered by an empty object.
    Ban(OfMember) = "ban",
    /// Answered by an empty object.
    Unban(OfMember) = "unban",
    /// Answered by an empty object.
    SetRole(SetRole) = "set_role",
    /// Answered by an empty object.
    TransferOwnership(OfMember) = "transfer_ownership",
    /// Answered by the [`Conversation`](crate::conversations::Conversation).
    Join(OfConversation) = "join",
    /// Answered by the [`Conversation`](crate::conversations::Conversation).
    JoinByInvite(JoinByInvite) = "join_by_invite",
    /// Answered by an empty object.
    Leave(Leave) = "leave",
    /// Answered by the [`Invite`](crate::groups::Invite).
    CreateInvite(CreateInvite) = "create_invite",
    /// Answered by an empty object.
    RevokeInvite(RevokeInvite) = "revoke_invite",
    /// Answered by the [`Membership`](crate::conversations::Membership) as it is now.
    UpdateMembership(UpdateMembership) = "update_membership",
    /// Answered by an empty object.
    OrderPinned(OrderPinned) = "order_pinned",
    /// Answered by the own [`MemberCursor`] as it is now.
    Cursor(MoveCursor) = "cursor",
    /// Answered by an empty object.
    Typing(Typing) = "typing",
    /// Answered by a [`MessagePage`](crate::messages::MessagePage).
    History(ReadHistory) = "history",
    /// Answered by a [`LogPage`](crate::messages::LogPage).
    Log(ReadLog) = "log",
    /// Answered by a [`SyncPage`](crate::sync::SyncPage).
    Sync(Sync) = "sync",
    /// Replaces the users whose presence this socket is told of. Answered by [`PresenceList`].
    WatchPresence(WatchPresence) = "watch_presence",
    /// Answered by an empty object.
    Ping(Empty) = "ping",
}

// Written by hand because serde cannot both flatten a command into its frame and refuse unknown fields.
impl<'de> Deserialize<'de> for CommandFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FrameVisitor;

        impl<'de> Visitor<'de> for FrameVisitor {
            type Value = CommandFrame;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with an id and one command")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CommandFrame, A::Error> {
                let (mut id, mut command) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    if key == "id" {
                        if id.replace(map.next_value()?).is_some() {
                            return Err(de::Error::duplicate_field("id"));
                        }
                    } else if command.replace(Command::next_value(&key, &mut map)?).is_some() {
                        return Err(de::Error::custom("a frame has one command"));
                    }
                }
                Ok(CommandFrame {
                    id: id.ok_or_else(|| de::Error::missing_field("id"))?,
                    command: command.ok_or_else(|| de::Error::custom("a frame has a command"))?,
                })
            }
        }

        deserializer.deserialize_map(FrameVisitor)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SignInSocket {
    pub access_token: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignedInSocket {
    pub user_id: UserId,
    pub device: Device,
    /// When the server closes the socket unless the client signs in on it again with a fresh token.
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Typing {
    pub conversation_id: ConversationId,
    pub typing: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReadLog {
    pub conversation_id: ConversationId,
    pub after: Seq,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PageLimit>))]
    pub limit: Option<u16>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Sync {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::Cursor>))]
    pub since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<shape::PageLimit>))]
    pub limit: Option<u16>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct WatchPresence {
    #[cfg_attr(feature = "openapi", schema(schema_with = shape::watched_users))]
    pub user_ids: Vec<UserId>,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// A reply that went well.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OkFrame<T> {
    pub id: u64,
    pub ok: T,
}

/// A reply that did not. `id` is absent when the frame was so broken that none could be read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorFrame {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    pub error: Problem,
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident($body:ty) = $name:literal,)+) => {
        /// Something that happened. The frame is `{"<event>": {…}}`.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub enum Event {
            $($(#[$doc])* #[serde(rename = $name)] $variant($body),)+
        }

        impl Event {
            pub const NAMES: &[&str] = &[$($name),+];
        }
    };
}

events! {
    /// The first frame on every socket.
    Hello(Hello) = "hello",
    /// A new entry in the log of a conversation of the user.
    Entry(EntryEvent) = "entry",
    /// A member has received or read further.
    Cursor(CursorEvent) = "cursor",
    /// A member is writing, or has stopped.
    Typing(TypingEvent) = "typing",
    /// Somebody whom the socket watches came or went.
    Presence(PresenceEvent) = "presence",
    /// Somebody with whom the user shares a conversation has another handle, name or picture. Not told in conversations
    /// with more than 100 members, nor to more than 1,000 people.
    UserUpdated(User) = "user_updated",
    /// A new entry in the user's account log.
    Account(AccountEntry) = "account",
    /// The server is about to close the socket: connect again after the given time.
    Reconnect(Reconnect) = "reconnect",
    /// Events may have been lost between the nodes of the server: `sync` after the given time.
    CatchUp(CatchUp) = "catch_up",
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hello {
    pub server_time: Timestamp,
    /// The server sends a ping this often, and closes a socket from which nothing came for twice as long.
    pub heartbeat_ms: u32,
    /// Sign in within this time, unless the handshake did.
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

/// [`Event::Entry`] of an entry that is held elsewhere.
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
    /// After this time the notice is void unless it came again.
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
    /// A different time for each socket, so that not all come back at once.
    pub after_ms: u32,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CatchUp {
    /// A different time for each socket, so that not all ask at once.
    pub after_ms: u32,
}

/// Why the server closed a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseCode {
    /// The server restarts.
    ServiceRestart,
    /// The frame was not one of a WebSocket client.
    Protocol,
    /// The frame was larger than allowed.
    TooLarge,
    /// The frame was not UTF-8.
    NotUtf8,
    /// A fault of the server.
    Internal,
    /// The session has ended or the account was disabled: sign in again.
    SignedOut,
    /// The access token expired and no fresh one came.
    TokenExpired,
    /// No sign-in came in time.
    SignInTimeout,
    /// The client read too slowly and its queue was full: connect again and resume.
    TooSlow,
    /// Nothing came for two heartbeats.
    HeartbeatTimeout,
    /// Too many frames that the server could not accept.
    Flood,
    /// The user opened another socket, and had as many as one device or one user can have. This was the oldest.
    Replaced,
}

impl CloseCode {
    pub const ALL: &[Self] = &[
        Self::ServiceRestart,
        Self::Protocol,
        Self::TooLarge,
        Self::NotUtf8,
        Self::Internal,
        Self::SignedOut,
        Self::TokenExpired,
        Self::SignInTimeout,
        Self::TooSlow,
        Self::HeartbeatTimeout,
        Self::Flood,
        Self::Replaced,
    ];

    pub const fn code(self) -> u16 {
        match self {
            Self::Protocol => 1002,
            Self::NotUtf8 => 1007,
            Self::TooLarge => 1009,
            Self::Internal => 1011,
            Self::ServiceRestart => 1012,
            Self::SignedOut => 4001,
            Self::TokenExpired => 4002,
            Self::SignInTimeout => 4003,
            Self::TooSlow => 4004,
            Self::HeartbeatTimeout => 4005,
            Self::Flood => 4006,
            Self::Replaced => 4007,
        }
    }

    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.code() == code)
    }

    /// Whether connecting again with the same credentials makes sense.
    pub const fn reconnect(self) -> bool {
        match self {
            Self::ServiceRestart
            | Self::Internal
            | Self::TooSlow
            | Self::HeartbeatTimeout
            | Self::SignInTimeout
            | Self::TokenExpired => true,
            Self::Protocol
            | Self::TooLarge
            | Self::NotUtf8
            | Self::SignedOut
            | Self::Flood
            | Self::Replaced => false,
        }
    }

    pub const fn reason(self) -> &'static str {
        match self {
            Self::ServiceRestart => "the server restarts",
            Self::Protocol => "the frame is not one of a WebSocket client",
            Self::TooLarge => "the frame is too large",
            Self::NotUtf8 => "the frame is not UTF-8",
            Self::Internal => "internal error",
            Self::SignedOut => "the session has ended",
            Self::TokenExpired => "the access token has expired",
            Self::SignInTimeout => "no sign-in in time",
            Self::TooSlow => "too slow to read",
            Self::HeartbeatTimeout => "no answer to heartbeats",
            Self::Flood => "too many bad frames",
            Self::Replaced => "another socket of the user took its place",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(frame: &str) -> Result<CommandFrame, serde_json::Error> {
        serde_json::from_str(frame)
    }

    #[test]
    fn a_frame_has_an_id_and_one_command() {
        let frame = parse(r#"{"typing":{"conversation_id":"5","typing":true},"id":7}"#).unwrap();
        assert_eq!((frame.id, frame.command.name()), (7, "typing"));
        for wrong in [
            r#"{}"#,
            r#"{"id":1}"#,
            r#"{"ping":{}}"#,
            r#"{"id":"1","ping":{}}"#,
            r#"{"id":1,"ping":{},"typing":{"conversation_id":"5","typing":true}}"#,
            r#"{"id":1,"id":2,"ping":{}}"#,
            r#"{"id":1,"explode":{}}"#,
            r#"{"id":1,"ping":{"extra":1}}"#,
            r#"{"id":1,"ping":[]}"#,
            r#"[1]"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong} was taken for a command");
        }
    }

    #[test]
    fn close_codes_are_distinct() {
        for code in CloseCode::ALL {
            assert_eq!(CloseCode::from_code(code.code()), Some(*code));
        }
    }
}
