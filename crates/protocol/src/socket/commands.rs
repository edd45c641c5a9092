//! The list of all commands.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::object::Object;

/// The bodies of commands and of their replies.
pub mod bodies {
    pub use crate::conversations::{
        Conversation, CreateConversation, CreatedConversation, DeleteConversation, MemberCursor, Membership,
        MoveCursor, OfConversation, OrderPinned, UpdateConversation, UpdateMembership,
    };
    pub use crate::groups::{
        AddMembers, AddedMembers, CreateInvite, Invite, JoinByInvite, Leave, OfMember, RevokeInvite, SetRole,
    };
    pub use crate::messages::{
        DeleteMessage, EditMessage, LogPage, Message, MessagePage, OfMessage, React, ReadHistory, SendMessage,
    };
    pub use crate::personal::{OfScheduled, ScheduleMessage, Scheduled, Scheduling, UpdateScheduled};
    pub use crate::socket::{
        Empty, PresenceList, ReadLog, SignInSocket, SignedInSocket, Sync, Typing, WatchPresence,
    };
    pub use crate::sync::SyncPage;
}

/// Calls a macro with the list of all commands. The server generates its dispatch and the AsyncAPI document from this list.
///
/// A row is `name: Variant(Body) -> Reply, Kind, when, "summary";`. `Kind` is a [`CommandKind`]. The server replies `at_once`,
/// before it reads the next command, or `when_durable`: then replies to later commands may come first.
#[macro_export]
macro_rules! socket_commands {
    ($with:ident) => {
        $with! {
            sign_in: SignIn(SignInSocket) -> SignedInSocket, Session, at_once,
                "Sign the socket in, or extend its session with a new token of the same device. Must be the first command, unless the handshake had an Authorization header.";

            send: Send(SendMessage) -> Message, Send, when_durable,
                "Send a message. The reply comes when the message is durable; repeating the client_id returns the original message.";
            edit: Edit(EditMessage) -> Message, Change, at_once,
                "Edit a message.";
            delete: Delete(DeleteMessage) -> Empty, Change, at_once,
                "Delete a message for the user or for everyone.";
            react: React(React) -> Message, Change, at_once,
                "React to a message. A new reaction replaces the earlier one.";
            unreact: Unreact(OfMessage) -> Message, Change, at_once,
                "Remove the user's own reaction.";
            pin: Pin(OfMessage) -> Empty, Change, at_once,
                "Pin a message in its conversation.";
            unpin: Unpin(OfMessage) -> Empty, Change, at_once,
                "Unpin a message.";
            star: Star(OfMessage) -> Empty, Change, at_once,
                "Star a message; only the user sees it.";
            unstar: Unstar(OfMessage) -> Empty, Change, at_once,
                "Unstar a message.";
            schedule: Schedule(ScheduleMessage) -> Scheduling, Change, at_once,
                "Schedule a message. The same client_id returns the scheduled or sent message.";
            update_scheduled: UpdateScheduled(UpdateScheduled) -> Scheduled, Change, at_once,
                "Change the time or the text of a scheduled message.";
            send_scheduled: SendScheduled(OfScheduled) -> Message, Change, at_once,
                "Send a scheduled message now. Repeating the command returns the same message.";
            cancel_scheduled: CancelScheduled(OfScheduled) -> Empty, Change, at_once,
                "Cancel a scheduled message.";

            open_conversation: OpenConversation(CreateConversation) -> CreatedConversation, Change, at_once,
                "Find or create the conversation with a user; create a group or channel.";
            update_conversation: UpdateConversation(UpdateConversation) -> Conversation, Change, at_once,
                "Change the name, description, image, permissions or timer of a conversation.";
            delete_conversation: DeleteConversation(DeleteConversation) -> Empty, Change, at_once,
                "Delete a conversation for the user or for everyone.";
            add_members: AddMembers(AddMembers) -> AddedMembers, Change, at_once,
                "Add members. The reply has a result for each of them.";
            remove_member: RemoveMember(OfMember) -> Empty, Change, at_once,
                "Remove a member.";
            ban: Ban(OfMember) -> Empty, Change, at_once,
                "Ban a user. The ban removes them, and they cannot join or be added until it is lifted.";
            unban: Unban(OfMember) -> Empty, Change, at_once,
                "Lift a ban.";
            set_role: SetRole(SetRole) -> Empty, Change, at_once,
                "Change a member's role.";
            transfer_ownership: TransferOwnership(OfMember) -> Empty, Change, at_once,
                "Transfer ownership: the member becomes an owner, the requesting user an admin.";
            join: Join(OfConversation) -> Conversation, Change, at_once,
                "Join a conversation that is open to everyone.";
            join_by_invite: JoinByInvite(JoinByInvite) -> Conversation, Change, at_once,
                "Join with an invite link.";
            leave: Leave(Leave) -> Empty, Change, at_once,
                "Leave a conversation, with block for good.";
            create_invite: CreateInvite(CreateInvite) -> Invite, Change, at_once,
                "Create an invite link. The same client_id returns the same link.";
            revoke_invite: RevokeInvite(RevokeInvite) -> Empty, Change, at_once,
                "Revoke an invite link.";

            update_membership: UpdateMembership(UpdateMembership) -> Membership, Change, at_once,
                "Pin, mute or archive a conversation, mark it as unread, or set a draft.";
            order_pinned: OrderPinned(OrderPinned) -> Empty, Change, at_once,
                "Order the pinned conversations.";
            cursor: Cursor(MoveCursor) -> MemberCursor, Change, when_durable,
                "Move the user's delivered and read cursors forward. The reply has their positions and comes when they are durable, up to a second later.";
            typing: Typing(Typing) -> Empty, Change, at_once,
                "Tell the other members that the user is typing or has stopped.";
            history: History(ReadHistory) -> MessagePage, Read, at_once,
                "Messages of a conversation: the newest, or those before, after or around a position. Always oldest first.";
            log: Log(ReadLog) -> LogPage, Read, at_once,
                "Every change in a conversation after a seq, in order, for a client that resumes. A page may have fewer entries than requested; it is the last one if more is false.";
            sync: Sync(Sync) -> SyncPage, Read, at_once,
                "Conversations that changed or went away since a token.";
            watch_presence: WatchPresence(WatchPresence) -> PresenceList, Read, at_once,
                "Set the users whose presence this socket watches.";
            ping: Ping(Empty) -> Empty, Session, at_once,
                "Check that the connection is alive.";
        }
    };
}

/// The kind of a command, which determines its rate limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// A command about the socket itself.
    Session,
    /// A command that sends a message. Messages have a limit of their own.
    Send,
    Read,
    /// A command that stores something or sends events to others.
    Change,
}

/// A frame from the client.
#[derive(Debug, Clone, Serialize)]
pub struct CommandFrame {
    /// Chosen by the client; the reply repeats it.
    pub id: u64,
    #[serde(flatten)]
    pub command: Command,
}

macro_rules! define {
    ($($name:ident: $variant:ident($body:ident) -> $reply:ident, $kind:ident, $when:ident, $summary:literal;)+) => {
        #[derive(Debug, Clone, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Command {
            $(
                #[doc = $summary]
                #[doc = ""]
                #[doc = concat!("The reply is [`", stringify!($reply), "`](bodies::", stringify!($reply), ").")]
                $variant(bodies::$body),
            )+
        }

        impl Command {
            pub const NAMES: &[&str] = &[$(stringify!($name)),+];

            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => stringify!($name),)+
                }
            }

            pub const fn kind(&self) -> CommandKind {
                match self {
                    $(Self::$variant(_) => CommandKind::$kind,)+
                }
            }

            fn next_value<'de, A: MapAccess<'de>>(name: &str, map: &mut A) -> Result<Self, A::Error> {
                $(
                    if name == stringify!($name) {
                        return map.next_value().map(|Object(body)| Self::$variant(body));
                    }
                )+
                Err(de::Error::unknown_field(name, Self::NAMES))
            }
        }
    };
}

socket_commands!(define);

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
                        return Err(de::Error::custom("a frame must not have more than one command"));
                    }
                }
                Ok(CommandFrame {
                    id: id.ok_or_else(|| de::Error::missing_field("id"))?,
                    command: command.ok_or_else(|| de::Error::custom("the frame has no command"))?,
                })
            }
        }

        deserializer.deserialize_map(FrameVisitor)
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
            assert!(parse(wrong).is_err(), "{wrong} was accepted as a command");
        }
    }

    #[test]
    fn a_command_survives_a_round_trip() {
        for (name, body) in [
            ("ping", "{}"),
            ("sign_in", r#"{"access_token":"t"}"#),
            ("watch_presence", r#"{"user_ids":[]}"#),
            ("join_by_invite", r#"{"token":"t"}"#),
        ] {
            let text = format!(r#"{{"id":1,"{name}":{body}}}"#);
            let frame = parse(&text).unwrap();
            assert_eq!(frame.command.name(), name);
            assert_eq!(serde_json::to_string(&frame).unwrap(), text);
        }
    }
}
