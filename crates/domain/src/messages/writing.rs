//! Sending, editing, deleting and pinning messages, and reacting to them.

use std::sync::Arc;

use godwit_protocol::limits::HIDDEN_PER_CONVERSATION_MAX;
use godwit_protocol::messages::{self as wire, MessageKind};
use godwit_protocol::{ConversationId, MessageId, UserId};

use super::reading::{ReadError, Reading};
use super::viewing::Viewer;
use crate::account_log::AccountLog;
use crate::actions::{Action, Actions, Answer, Done, NewMessage, Refusal};
use crate::concealing::Concealing;
use crate::model::message::{called_names, parse_text};
use crate::model::{
    AccountChange, AccountNote, ClientId, Concealed, Draft, Forwarded, Handle, InvalidField, Mentions,
    MessageBody, Reply, Target,
};
use crate::ports::{Clock, Listed, Store, StoreError};

#[derive(Debug)]
pub struct Writing {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) actions: Arc<Actions>,
    pub(crate) reading: Arc<Reading>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) concealing: Arc<Concealing>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A message that is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub message: wire::Message,
    /// True if the client id was used before: `message` is the original.
    pub repeated: bool,
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound => Self::NotFound,
            ReadError::Forbidden => Self::Forbidden,
            ReadError::Gone => Self::MessageGone,
            ReadError::Store(error) => error.into(),
        }
    }
}

impl Sent {
    /// The outcome of a send.
    pub fn of(done: &Done) -> Result<Self, Refusal> {
        let message = done.message().ok_or(Refusal::Interrupted("no message was sent".into()))?;
        Ok(Self { message: message.clone(), repeated: done.repeated })
    }
}

impl Writing {
    /// Sends a message. When this returns, the message is durable. A repeated client id returns the original.
    pub async fn send(
        &self,
        sender: UserId,
        conversation: ConversationId,
        draft: Draft,
    ) -> Result<Sent, Refusal> {
        let (answer, outcome) = Answer::awaited();
        self.submit(sender, conversation, draft, answer).await;
        Sent::of(&outcome.await?)
    }

    /// The message that was sent before with this client id, as the answer to a retry.
    pub(crate) async fn sent_before(
        &self,
        sender: UserId,
        conversation: ConversationId,
        client_id: ClientId,
    ) -> Result<Sent, Refusal> {
        let (answer, outcome) = Answer::awaited();
        let refusal = Box::new(Refusal::NotFound);
        let action = Action::Unsendable { client_id, refusal };
        self.actions.submit(sender, conversation, action, answer).await;
        Sent::of(&outcome.await?)
    }

    /// Submits a message. When this returns, the message has its place in the queue or was refused, so messages that are
    /// submitted one after the other are in the log in that order. `answer` gets the outcome when the message is durable.
    pub async fn submit(&self, sender: UserId, conversation: ConversationId, draft: Draft, answer: Answer) {
        let client_id = draft.client_id.clone();
        let action = match self.resolve(sender, conversation, draft).await {
            Ok(message) => Action::Send(Box::new(message)),
            Err(refusal) if refusal.is_failure() => return Actions::refuse_send(answer, refusal),
            Err(refusal) => Action::Unsendable { client_id, refusal: Box::new(refusal) },
        };
        self.actions.submit(sender, conversation, action, answer).await;
    }

    /// Looks up the message to reply to, the message to forward, and the mentioned users.
    async fn resolve(
        &self,
        sender: UserId,
        conversation: ConversationId,
        draft: Draft,
    ) -> Result<NewMessage, Refusal> {
        let reply = match draft.reply_to {
            Some(message) => Some(self.resolve_reply(sender, conversation, message).await?),
            None => None,
        };
        let Draft { client_id, body, forwarded_from, .. } = draft;
        let (body, forwarded_from, mentions) = match forwarded_from {
            // A forward mentions nobody: its text mentioned users in the original.
            Some(message) => {
                let (copy, origin) = self.copy(sender, message, body.as_ref()).await?;
                (copy, origin, Mentions::default())
            }
            None => {
                let body = body.ok_or_else(|| InvalidField::new("kind", "is required"))?;
                let mentions = self.called_by(body.text()).await?;
                (body, None, mentions)
            }
        };
        Ok(NewMessage { client_id, body, reply, forwarded_from, mentions })
    }

    /// Fails if the draft is a forward that could not be sent now.
    pub(crate) async fn check_forward(&self, sender: UserId, draft: &Draft) -> Result<(), Refusal> {
        match draft.forwarded_from {
            Some(message) => self.copy(sender, message, draft.body.as_ref()).await.map(drop),
            None => Ok(()),
        }
    }

    /// Changes the text or caption. Returns the edited message.
    pub async fn edit(&self, by: UserId, message: MessageId, text: String) -> Result<wire::Message, Refusal> {
        let text = parse_text(text)?;
        let mentions = self.called_by(Some(&text)).await?;
        let (conversation, target) = self.target(by, message).await?;
        self.actions.act(by, conversation, Action::Edit { target, text, mentions }).await?;
        self.message_now(by, message).await
    }

    /// Deletes a message for everyone. When this returns, its content never leaves the server again.
    pub async fn delete_for_all(&self, by: UserId, message: MessageId) -> Result<(), Refusal> {
        let (viewer, target) = self.deletable(by, message).await?;
        self.actions.act(by, viewer.live.id(), Action::Delete { target }).await?;
        Ok(())
    }

    /// Hides a message from one user only.
    pub async fn delete_for_me(&self, by: UserId, message: MessageId) -> Result<(), Refusal> {
        let (viewer, target) = self.deletable(by, message).await?;
        let change = AccountChange::MessageHidden(message);
        let note = AccountNote { user_id: by, at: self.clock.now(), change };
        let hidden = self.store.hide(by, viewer.live.id(), target.seq, HIDDEN_PER_CONVERSATION_MAX, note);
        match hidden.await? {
            Listed::Added(entry) => {
                let concealed = Concealed::hiding(target.seq);
                self.concealing.conceal(&viewer.live, by, concealed).await;
                self.account_log.announce(&[(by, entry)]).await;
            }
            Listed::Unchanged => {}
            Listed::Full => return Err(Refusal::ListFull),
        }
        Ok(())
    }

    /// Sets the reaction of the user, who has at most one per message; `None` removes it. Returns the message after that.
    pub async fn react(
        &self,
        by: UserId,
        message: MessageId,
        reaction: Option<Box<str>>,
    ) -> Result<wire::Message, Refusal> {
        let (conversation, target) = self.target(by, message).await?;
        self.actions.act(by, conversation, Action::React { target, reaction }).await?;
        self.message_now(by, message).await
    }

    pub async fn pin(&self, by: UserId, message: MessageId) -> Result<(), Refusal> {
        let (conversation, target) = self.target(by, message).await?;
        self.actions.act(by, conversation, Action::Pin(target)).await?;
        Ok(())
    }

    pub async fn unpin(&self, by: UserId, message: MessageId) -> Result<(), Refusal> {
        let (conversation, target) = self.target(by, message).await?;
        self.actions.act(by, conversation, Action::Unpin(target)).await?;
        Ok(())
    }

    /// A message that the user can see or has hidden.
    async fn deletable(&self, by: UserId, message: MessageId) -> Result<(Viewer, Target), Refusal> {
        let (viewer, item) = self.reading.locate_also_hidden(by, message).await?;
        let target = Target { id: message, seq: item.entry.seq };
        if item.entry.message().is_some() { Ok((viewer, target)) } else { Err(Refusal::NotFound) }
    }

    /// A message that the user can see. The decision checks permissions later.
    async fn target(&self, by: UserId, message: MessageId) -> Result<(ConversationId, Target), Refusal> {
        let (viewer, item) = self.reading.locate(by, message).await?;
        let is_message = item.entry.message().is_some();
        let target = Target { id: message, seq: item.entry.seq };
        if is_message { Ok((viewer.live.id(), target)) } else { Err(Refusal::NotFound) }
    }

    async fn message_now(&self, by: UserId, message: MessageId) -> Result<wire::Message, Refusal> {
        Ok(self.reading.message(by, message).await?)
    }

    /// The message to reply to, which the sender must be able to see. Checks membership first, so that a user who is not a
    /// member learns nothing about messages.
    async fn resolve_reply(
        &self,
        sender: UserId,
        conversation: ConversationId,
        message: MessageId,
    ) -> Result<Reply, Refusal> {
        self.reading.viewer(sender, conversation).await?;
        let (viewer, item) = match self.reading.locate(sender, message).await {
            Ok(found) => found,
            Err(ReadError::Store(error)) => return Err(error.into()),
            Err(ReadError::NotFound | ReadError::Forbidden | ReadError::Gone) => {
                return Err(Refusal::ReplyNotFound);
            }
        };
        let original = item.entry.message().filter(|_| viewer.live.id() == conversation);
        let original = original.ok_or(Refusal::ReplyNotFound)?;
        let to = Target { id: message, seq: item.entry.seq };
        Ok(Reply { to, root: original.reply.map_or(to, |reply| reply.root) })
    }

    /// Copies the current body of the message to forward, and its origin: `None` if the sender wrote it. A body in the request
    /// must equal the copy.
    async fn copy(
        &self,
        sender: UserId,
        message: MessageId,
        claimed: Option<&MessageBody>,
    ) -> Result<(MessageBody, Option<Forwarded>), Refusal> {
        let item = match self.reading.locate(sender, message).await {
            Ok((_, item)) => item,
            Err(ReadError::Store(error)) => return Err(error.into()),
            Err(ReadError::NotFound | ReadError::Forbidden | ReadError::Gone) => {
                return Err(Refusal::ForwardNotFound);
            }
        };
        let (original, state) = item.message().ok_or(Refusal::ForwardNotFound)?;
        let stays = !original.is_gone(state, self.clock.now()) && original.expires_at.is_none();
        let body = match &state.edited {
            _ if !stays || original.body.kind() == MessageKind::System => None,
            Some(edited) => original.body.with_text(edited.text.clone()),
            None => Some(original.body.clone()),
        };
        let body = body.ok_or(Refusal::ForwardNotFound)?;
        if let Some(field) = claimed.and_then(|claimed| claimed.difference(&body)) {
            let reason = "is not that of the message that is forwarded: leave it out, the server copies it";
            return Err(InvalidField::new(field, reason).into());
        }
        // A forward of a forward names the first origin.
        let first = Forwarded { message_id: message, sender_id: original.sender_id };
        let origin = original.forwarded_from.unwrap_or(first);
        Ok((body, Some(origin).filter(|origin| origin.sender_id != sender)))
    }

    /// The users that a text mentions. The decision drops those who are not members.
    async fn called_by(&self, text: Option<&str>) -> Result<Mentions, StoreError> {
        let mut mentions = Mentions::default();
        for name in text.map(called_names).unwrap_or_default() {
            if name.eq_ignore_ascii_case(Handle::EVERYBODY) {
                mentions.all = true;
            } else if let Ok(handle) = Handle::parse(name)
                && let Some(user) = self.store.user_by_handle(&handle).await?
            {
                mentions.users.push(user.id);
            }
        }
        Ok(mentions)
    }
}
