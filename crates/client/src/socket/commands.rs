//! Methods for the commands that a live client sends often, and one for all others. A command whose answer is an empty
//! object returns `()`.

use godwit_protocol::conversations::{DeleteFor, MemberCursor, MoveCursor};
use godwit_protocol::messages::{
    DeleteMessage, EditMessage, LogPage, Message, MessagePage, OfMessage, React, SendMessage,
};
use godwit_protocol::socket::{
    Command, Empty, PresenceEvent, PresenceList, ReadLog, SignInSocket, SignedInSocket, Sync, Typing,
    WatchPresence,
};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use serde::de::DeserializeOwned;

use super::Socket;
use crate::draft::addressed;
use crate::{Error, History};

impl Socket {
    pub async fn sign_in(&self, access_token: impl Into<String>) -> Result<SignedInSocket, Error> {
        self.command(Command::SignIn(SignInSocket { access_token: access_token.into() })).await
    }

    /// Takes a [`Draft`](crate::Draft) or the message itself. Does not retry, unlike [`Live::send`](crate::Live::send).
    pub async fn send(
        &self,
        conversation: ConversationId,
        message: impl Into<SendMessage>,
    ) -> Result<Message, Error> {
        self.command(Command::Send(addressed(conversation, message))).await
    }

    /// For commands without a method: any [`Command`], with the answer that its documentation describes.
    pub async fn call<T: DeserializeOwned>(&self, command: Command) -> Result<T, Error> {
        self.command(command).await
    }

    pub async fn edit(&self, message: MessageId, text: impl Into<String>) -> Result<Message, Error> {
        self.command(Command::Edit(EditMessage { message_id: Some(message), text: text.into() })).await
    }

    pub async fn delete(&self, message: MessageId, whom: DeleteFor) -> Result<(), Error> {
        let Empty {} =
            self.command(Command::Delete(DeleteMessage { message_id: message, r#for: whom })).await?;
        Ok(())
    }

    pub async fn react(&self, message: MessageId, reaction: impl Into<String>) -> Result<Message, Error> {
        self.command(Command::React(React { message_id: Some(message), reaction: reaction.into() })).await
    }

    pub async fn unreact(&self, message: MessageId) -> Result<Message, Error> {
        self.command(Command::Unreact(OfMessage { message_id: message })).await
    }

    pub async fn move_cursor(
        &self,
        conversation: ConversationId,
        cursor: MoveCursor,
    ) -> Result<MemberCursor, Error> {
        self.command(Command::Cursor(MoveCursor { conversation_id: Some(conversation), ..cursor })).await
    }

    pub async fn delivered(&self, conversation: ConversationId, seq: Seq) -> Result<MemberCursor, Error> {
        self.move_cursor(conversation, MoveCursor { delivered: Some(seq), ..MoveCursor::default() }).await
    }

    pub async fn read(&self, conversation: ConversationId, seq: Seq) -> Result<MemberCursor, Error> {
        self.move_cursor(conversation, MoveCursor { read: Some(seq), ..MoveCursor::default() }).await
    }

    pub async fn typing(&self, conversation: ConversationId, typing: bool) -> Result<(), Error> {
        let Empty {} =
            self.command(Command::Typing(Typing { conversation_id: conversation, typing })).await?;
        Ok(())
    }

    pub async fn history(
        &self,
        conversation: ConversationId,
        history: History,
        limit: Option<u16>,
    ) -> Result<MessagePage, Error> {
        self.command(Command::History(history.of(conversation, limit))).await
    }

    pub async fn log(
        &self,
        conversation: ConversationId,
        after: Seq,
        limit: Option<u16>,
    ) -> Result<LogPage, Error> {
        self.command(Command::Log(ReadLog { conversation_id: conversation, after, limit })).await
    }

    pub async fn sync(&self, since: Option<String>, limit: Option<u16>) -> Result<SyncPage, Error> {
        self.command(Command::Sync(Sync { since, limit })).await
    }

    /// Replaces the users whose presence this socket watches, and returns their current presence.
    pub async fn watch_presence(&self, users: Vec<UserId>) -> Result<Vec<PresenceEvent>, Error> {
        let watch = Command::WatchPresence(WatchPresence { user_ids: users });
        self.command::<PresenceList>(watch).await.map(|list| list.presence)
    }

    pub async fn ping(&self) -> Result<(), Error> {
        let Empty {} = self.command(Command::Ping(Empty {})).await?;
        Ok(())
    }
}
