//! Messages, and entries about them.

use godwit_domain::model::{Change, ClientId, Mentions, Message, MessageBody, ReactionChange, Reply};
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};

use super::Batch;

impl Batch<'_> {
    /// A message whose text is its client id.
    #[must_use]
    pub fn text(self, sender: UserId, client_id: &str) -> Self {
        self.message(|id| said(id, sender, client_id))
    }

    #[must_use]
    pub fn body(self, sender: UserId, client_id: &str, body: MessageBody) -> Self {
        self.message(|id| Message { body, ..said(id, sender, client_id) })
    }

    /// A text with mentions.
    #[must_use]
    pub fn calling(self, sender: UserId, client_id: &str, mentions: Mentions) -> Self {
        self.message(|id| Message { mentions, ..said(id, sender, client_id) })
    }

    /// A text that expires.
    #[must_use]
    pub fn expiring(self, sender: UserId, client_id: &str, at: Timestamp) -> Self {
        self.message(|id| Message { expires_at: Some(at), ..said(id, sender, client_id) })
    }

    /// A reply in a thread.
    #[must_use]
    pub fn reply(self, sender: UserId, client_id: &str, to: Seq) -> Self {
        let to = self.target(to);
        let root = self.reply_of(to.seq).map_or(to, |reply| reply.root);
        self.message(|id| Message { reply: Some(Reply { to, root }), ..said(id, sender, client_id) })
    }

    #[must_use]
    pub fn message(self, make: impl FnOnce(MessageId) -> Message) -> Self {
        self.push(|_, id| Change::Message(make(id)))
    }

    #[must_use]
    pub fn edit(self, by: UserId, message: Seq, text: &str) -> Self {
        self.edit_calling(by, message, text, Mentions::default())
    }

    /// An edit after which the message mentions these users.
    #[must_use]
    pub fn edit_calling(self, by: UserId, message: Seq, text: &str, mentions: Mentions) -> Self {
        let target = self.target(message);
        self.change(Change::Edited { by, target, text: Some(text.into()), mentions })
    }

    #[must_use]
    pub fn delete(self, by: UserId, message: Seq) -> Self {
        let target = self.target(message);
        self.change(Change::Deleted { by, target })
    }

    #[must_use]
    pub fn expired(self, messages: &[Seq]) -> Self {
        let targets = messages.iter().map(|seq| self.target(*seq)).collect();
        self.change(Change::Expired { targets })
    }

    /// A reaction that replaces the user's previous one, or removes it.
    #[must_use]
    pub fn react(self, user: UserId, message: Seq, from: Option<&str>, to: Option<&str>) -> Self {
        self.react_all(message, &[(user, from, to)])
    }

    /// Reactions of several users in one entry.
    #[must_use]
    pub fn react_all(self, message: Seq, changes: &[(UserId, Option<&str>, Option<&str>)]) -> Self {
        let target = self.target(message);
        let change = |(user_id, from, to): &(UserId, Option<&str>, Option<&str>)| ReactionChange {
            user_id: *user_id,
            from: from.map(Into::into),
            to: to.map(Into::into),
        };
        let changes: Vec<ReactionChange> = changes.iter().map(change).collect();
        self.push(|fold, id| {
            // The entry needs the counts after the change, which only a fold can compute.
            let without_counts = Change::Reacted { target, changes: changes.clone(), counts: Vec::new() };
            let entry = fold.next_entry(id.get(), without_counts);
            fold.apply(&entry);
            let counts = fold.message(message).map(|item| item.state.reactions.clone()).unwrap_or_default();
            Change::Reacted { target, changes, counts }
        })
    }

    #[must_use]
    pub fn pin(self, by: UserId, message: Seq) -> Self {
        let target = self.target(message);
        self.change(Change::Pinned { by, target })
    }

    #[must_use]
    pub fn unpin(self, by: UserId, message: Seq) -> Self {
        let target = self.target(message);
        self.change(Change::Unpinned { by, target })
    }

    fn reply_of(&self, seq: Seq) -> Option<Reply> {
        let known = self.messages.iter().map(|item| &item.entry).chain(&self.entries);
        known.into_iter().find(|entry| entry.seq == seq)?.message()?.reply
    }
}

fn said(id: MessageId, sender_id: UserId, client_id: &str) -> Message {
    Message {
        id,
        sender_id,
        client_id: ClientId::from_stored(client_id),
        body: MessageBody::Text(client_id.into()),
        reply: None,
        forwarded_from: None,
        mentions: Mentions::default(),
        expires_at: None,
    }
}
