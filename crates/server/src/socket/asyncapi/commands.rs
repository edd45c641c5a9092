//! Every command with what it takes and what answers it.

use godwit_protocol::conversations::{
    Conversation, CreateConversation, CreatedConversation, DeleteConversation, MemberCursor, Membership,
    MoveCursor, OfConversation, OrderPinned, UpdateConversation, UpdateMembership,
};
use godwit_protocol::groups::{
    AddMembers, AddedMembers, CreateInvite, Invite, JoinByInvite, Leave, OfMember, RevokeInvite, SetRole,
};
use godwit_protocol::messages::{
    DeleteMessage, EditMessage, LogPage, Message, MessagePage, OfMessage, React, ReadHistory, SendMessage,
};
use godwit_protocol::personal::{OfScheduled, ScheduleMessage, Scheduled, Scheduling, UpdateScheduled};
use godwit_protocol::socket::{
    Empty, PresenceList, ReadLog, SignInSocket, SignedInSocket, Sync, Typing, WatchPresence,
};
use godwit_protocol::sync::SyncPage;

use super::{Command, Schemas};

macro_rules! table {
    ($schemas:ident: $($name:ident($body:ty) -> $ok:ty: $summary:literal;)+) => {
        vec![$(Command::new::<$body, $ok>($schemas, stringify!($name), $summary)),+]
    };
}

pub(super) fn all(schemas: &mut Schemas) -> Vec<Command> {
    table! { schemas:
        sign_in(SignInSocket) -> SignedInSocket:
            "Sign the socket in, or extend it with a fresh token of the same device. Needed first, unless the handshake carried an Authorization header.";

        send(SendMessage) -> Message:
            "Send a message. The reply comes when it is durable; the same client_id again gives the original back.";
        edit(EditMessage) -> Message: "Give a message a new text.";
        delete(DeleteMessage) -> Empty: "Delete a message, for oneself or for all.";
        react(React) -> Message: "React to a message. Another reaction takes the place of an earlier one.";
        unreact(OfMessage) -> Message: "Take the own reaction back.";
        pin(OfMessage) -> Empty: "Pin a message in its conversation.";
        unpin(OfMessage) -> Empty: "Unpin a message.";
        star(OfMessage) -> Empty: "Star a message, for oneself.";
        unstar(OfMessage) -> Empty: "Unstar a message.";
        schedule(ScheduleMessage) -> Scheduling:
            "Have a message sent later. The same client_id again gives back what is there, or the message that it became.";
        update_scheduled(UpdateScheduled) -> Scheduled: "Change the time or the text of a scheduled message.";
        send_scheduled(OfScheduled) -> Message: "Send a scheduled message now. Again, it gives the same message.";
        cancel_scheduled(OfScheduled) -> Empty: "Cancel a scheduled message.";

        open_conversation(CreateConversation) -> CreatedConversation:
            "Find or make the conversation with a user; make a group or a channel.";
        update_conversation(UpdateConversation) -> Conversation:
            "Change name, description, image, permissions or timer of a conversation.";
        delete_conversation(DeleteConversation) -> Empty: "Delete a conversation, for oneself or for all.";
        add_members(AddMembers) -> AddedMembers: "Add members. The reply says of each what became of them.";
        remove_member(OfMember) -> Empty: "Remove a member.";
        ban(OfMember) -> Empty: "Remove a user for good: they cannot join or be added until the ban is lifted.";
        unban(OfMember) -> Empty: "Lift a ban.";
        set_role(SetRole) -> Empty: "Change a member's role.";
        transfer_ownership(OfMember) -> Empty: "Hand a conversation over: the member becomes an owner, who asks an admin.";
        join(OfConversation) -> Conversation: "Join a conversation that anybody may join.";
        join_by_invite(JoinByInvite) -> Conversation: "Join by an invite link.";
        leave(Leave) -> Empty: "Leave a conversation, with block for good.";
        create_invite(CreateInvite) -> Invite: "Make an invite link. The same client_id again gives the same link.";
        revoke_invite(RevokeInvite) -> Empty: "Revoke an invite link.";

        update_membership(UpdateMembership) -> Membership:
            "Pin, mute or archive a conversation, mark it as unread, keep a draft in it.";
        order_pinned(OrderPinned) -> Empty: "Put the pinned conversations into an order.";
        cursor(MoveCursor) -> MemberCursor:
            "Move the own delivered and read marks forward. The reply says where they are now; it comes when that is durable, up to a second later.";
        typing(Typing) -> Empty: "Tell the other members that one is writing, or has stopped.";
        history(ReadHistory) -> MessagePage:
            "Messages of a conversation: the newest, or those before, after or around a place. The oldest is always the first.";
        log(ReadLog) -> LogPage:
            "Every change of a conversation since a seq, in order: how a client resumes. A page may have fewer entries than asked for: it is the last when there is no more.";
        sync(Sync) -> SyncPage: "Which conversations changed or went away since a token.";
        watch_presence(WatchPresence) -> PresenceList: "Replace the users whose presence this socket is told of.";
        ping(Empty) -> Empty: "Ask for a sign of life.";
    }
}
