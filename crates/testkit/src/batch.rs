//! Builds what a use case would append.

use godwit_domain::model::{Change, ClientId, ConversationState, Cursor, Entry, Message, MessageBody};
use godwit_domain::ports::{Append, CursorMove};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::conversations::ConversationKind;
use godwit_protocol::{MessageId, UserId};

/// Entries for the end of a log, with everything that an [`Append`] carries beside them: the head after them, the
/// senders' cursors, and a listing for every member.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    ids: &'a IdGenerator,
    append: Append,
}

impl<'a> Batch<'a> {
    pub fn after(ids: &'a IdGenerator, state: &ConversationState) -> Self {
        let append = Append {
            conversation: state.conversation.id,
            expected_head: state.head.seq,
            entries: Vec::new(),
            head: state.head.clone(),
            cursors: Vec::new(),
            members: state.member_ids(),
            list_for: state.member_ids(),
        };
        Self { ids, append }
    }

    /// A message that says its own client id.
    #[must_use]
    pub fn text(self, sender: UserId, client_id: &str) -> Self {
        self.body(sender, client_id, MessageBody::Text(client_id.into()))
    }

    #[must_use]
    pub fn body(self, sender: UserId, client_id: &str, body: MessageBody) -> Self {
        let client_id = ClientId::from_stored(client_id);
        self.message(|id| Message {
            id,
            sender_id: sender,
            client_id,
            body,
            reply_to: None,
            forwarded_from: None,
        })
    }

    #[must_use]
    pub fn message(mut self, make: impl FnOnce(MessageId) -> Message) -> Self {
        let id = self.next_id();
        let message = make(MessageId::new(id));
        let sender = message.sender_id;
        let entry = self.push(id, 1, Change::Message(message));
        let cursor = Cursor::at(entry.seq, entry.ordinal);
        let (conversation, at) = (self.append.conversation, entry.at());
        self.append.cursors.retain(|moved| moved.user_id != sender);
        self.append.cursors.push(CursorMove { conversation, user_id: sender, cursor, at });
        self
    }

    /// An entry that is no message. So far there is one kind of them; that it comes twice in a log matters to no store.
    #[must_use]
    pub fn filler(mut self) -> Self {
        let id = self.next_id();
        let member_ids = self.append.members.clone();
        self.push(id, 0, Change::Created { by: member_ids[0], kind: ConversationKind::Direct, member_ids });
        self
    }

    #[must_use]
    pub fn listing_for(mut self, users: &[UserId]) -> Self {
        self.append.list_for = users.to_vec();
        self
    }

    pub fn build(self) -> Append {
        assert!(!self.append.entries.is_empty(), "nothing to append");
        self.append
    }

    fn next_id(&self) -> u64 {
        self.ids.next_after(self.append.head.id).expect("ids without a lease are not refused")
    }

    fn push(&mut self, id: u64, messages: u64, change: Change) -> Entry {
        let head = &self.append.head;
        let entry = Entry { seq: head.seq.next(), id, ordinal: head.ordinal + messages, change };
        self.append.head = head.after(&entry);
        self.append.entries.push(entry.clone());
        entry
    }
}
