//! One method per command. What is answered by an empty object gives `()`.

use godwit_protocol::conversations::{MemberCursor, MoveCursor};
use godwit_protocol::messages::{LogPage, Message, SendMessage};
use godwit_protocol::socket::{
    Command, Empty, PresenceEvent, PresenceList, ReadLog, SignInSocket, SignedInSocket, Sync, Typing,
    WatchPresence,
};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Socket;
use crate::Error;
use crate::draft::addressed;

impl Socket {
    pub async fn sign_in(&self, access_token: impl Into<String>) -> Result<SignedInSocket, Error> {
        self.command(Command::SignIn(SignInSocket { access_token: access_token.into() })).await
    }

    /// Takes a [`Draft`](crate::Draft) or the message itself. Not retried: [`Live::send`](crate::Live::send) is.
    pub async fn send(
        &self,
        conversation: ConversationId,
        message: impl Into<SendMessage>,
    ) -> Result<Message, Error> {
        self.command(Command::Send(addressed(conversation, message))).await
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

    /// Replaces the users whose presence this socket is told of, and says how it is with them now.
    pub async fn watch_presence(&self, users: Vec<UserId>) -> Result<Vec<PresenceEvent>, Error> {
        let watch = Command::WatchPresence(WatchPresence { user_ids: users });
        self.command::<PresenceList>(watch).await.map(|list| list.presence)
    }

    pub async fn ping(&self) -> Result<(), Error> {
        let Empty {} = self.command(Command::Ping(Empty {})).await?;
        Ok(())
    }
}
