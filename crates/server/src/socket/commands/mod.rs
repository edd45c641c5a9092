//! Each command is one use case.
//!
//! - [`session`]: signing in, presence
//! - [`messages`]: what is done with messages
//! - [`groups`]: what is done with conversations and their members
//! - [`catching_up`]: how a client gets to know what was said and what is new, and says how far it is

mod catching_up;
mod groups;
mod messages;
mod session;

use godwit_domain::model::InvalidField;
use godwit_domain::sessions::Principal;
use godwit_protocol::conversations::{Conversation, CreatedConversation, Membership};
use godwit_protocol::groups::{AddedMembers, Invite};
use godwit_protocol::messages::{LogPage, Message, MessagePage};
use godwit_protocol::personal::{Scheduled, Scheduling};
use godwit_protocol::socket::{Command, CommandFrame, Empty, PresenceList, SignedInSocket};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ErrorCode, UserId};
use serde::Serialize;

use super::connection::Connection;
use crate::problem::ApiError;

pub(super) use session::sign_in_failed;

/// What came of a command.
pub(super) enum Outcome {
    Reply(Box<Reply>),
    /// The reply follows.
    Later,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Reply {
    SignedIn(SignedInSocket),
    Message(Message),
    Scheduled(Scheduled),
    Scheduling(Scheduling),
    Created(CreatedConversation),
    Conversation(Conversation),
    Added(AddedMembers),
    Invite(Invite),
    Membership(Membership),
    History(MessagePage),
    Log(LogPage),
    Sync(SyncPage),
    Presence(PresenceList),
    Empty(Empty),
}

/// Runs a command. Everything but `sign_in` and `ping` needs a signed-in socket.
pub(super) async fn execute(
    connection: &mut Connection,
    CommandFrame { id, command }: CommandFrame,
) -> Result<Outcome, ApiError> {
    if let (true, Some(caller)) = (is_change(&command), connection.caller) {
        connection.state.rates.check_changes(caller.user_id)?;
    }
    let reply = match command {
        Command::SignIn(request) => Reply::SignedIn(connection.sign_in(&request.access_token).await?),
        Command::Ping(_) => Reply::Empty(connection.ping()?),
        Command::Send(request) => return connection.send(id, request).await.map(|()| Outcome::Later),
        Command::Edit(request) => Reply::Message(connection.edit(request).await?),
        Command::Delete(request) => Reply::Empty(connection.delete(request).await?),
        Command::React(request) => Reply::Message(connection.react(request).await?),
        Command::Unreact(request) => Reply::Message(connection.unreact(request).await?),
        Command::Pin(request) => Reply::Empty(connection.pin(request).await?),
        Command::Unpin(request) => Reply::Empty(connection.unpin(request).await?),
        Command::Star(request) => Reply::Empty(connection.star(request).await?),
        Command::Unstar(request) => Reply::Empty(connection.unstar(request).await?),
        Command::Schedule(request) => Reply::Scheduling(connection.schedule(request).await?),
        Command::UpdateScheduled(request) => Reply::Scheduled(connection.update_scheduled(request).await?),
        Command::SendScheduled(request) => Reply::Message(connection.send_scheduled(request).await?),
        Command::CancelScheduled(request) => Reply::Empty(connection.cancel_scheduled(request).await?),
        Command::OpenConversation(request) => Reply::Created(connection.open_conversation(request).await?),
        Command::UpdateConversation(request) => {
            Reply::Conversation(connection.update_conversation(request).await?)
        }
        Command::DeleteConversation(request) => Reply::Empty(connection.delete_conversation(request).await?),
        Command::AddMembers(request) => Reply::Added(connection.add_members(request).await?),
        Command::RemoveMember(request) => Reply::Empty(connection.remove_member(request).await?),
        Command::Ban(request) => Reply::Empty(connection.ban(request).await?),
        Command::Unban(request) => Reply::Empty(connection.unban(request).await?),
        Command::SetRole(request) => Reply::Empty(connection.set_role(request).await?),
        Command::TransferOwnership(request) => Reply::Empty(connection.transfer_ownership(request).await?),
        Command::Join(request) => Reply::Conversation(connection.join(request).await?),
        Command::JoinByInvite(request) => Reply::Conversation(connection.join_by_invite(request).await?),
        Command::Leave(request) => Reply::Empty(connection.leave(request).await?),
        Command::CreateInvite(request) => Reply::Invite(connection.create_invite(request).await?),
        Command::RevokeInvite(request) => Reply::Empty(connection.revoke_invite(request).await?),
        Command::UpdateMembership(request) => Reply::Membership(connection.update_membership(request).await?),
        Command::OrderPinned(request) => Reply::Empty(connection.order_pinned(request).await?),
        Command::Cursor(request) => return connection.cursor(id, request).await.map(|()| Outcome::Later),
        Command::Typing(request) => Reply::Empty(connection.typing(request).await?),
        Command::History(request) => Reply::History(connection.history(request).await?),
        Command::Log(request) => Reply::Log(connection.log(request).await?),
        Command::Sync(request) => Reply::Sync(connection.sync(request).await?),
        Command::WatchPresence(request) => Reply::Presence(connection.watch_presence(request).await?),
    };
    Ok(Outcome::Reply(Box::new(reply)))
}

/// Whether others are told of it, or it is stored. Sends have a limit of their own.
const fn is_change(command: &Command) -> bool {
    !matches!(
        command,
        Command::SignIn(_)
            | Command::Ping(_)
            | Command::Send(_)
            | Command::History(_)
            | Command::Log(_)
            | Command::Sync(_)
            | Command::WatchPresence(_)
    )
}

impl Connection {
    fn caller(&self) -> Result<Principal, ApiError> {
        self.caller.ok_or_else(|| ApiError::new(ErrorCode::SignInFirst))
    }

    fn limited_caller(&self) -> Result<UserId, ApiError> {
        let user = self.caller()?.user_id;
        self.state.rates.check_commands(user)?;
        Ok(user)
    }
}

fn needed<T>(field: &'static str, value: Option<T>) -> Result<T, InvalidField> {
    value.ok_or_else(|| InvalidField::new(field, "is needed"))
}
