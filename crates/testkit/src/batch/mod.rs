//! Builds appends as a use case would.
//!
//! - here: a batch and its effects
//! - `messages`: messages, and entries about them
//! - `groups`: entries about members and details

mod groups;
mod messages;

use godwit_domain::model::{Change, ConversationState, Entry, LogItem, Member, Target};
use godwit_domain::ports::Append;
use godwit_domain::projection::Fold;
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::{MessageId, Seq, UserId};

/// Entries for the end of a log, and their effects by [`Fold`]. Permissions are not checked.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    ids: &'a IdGenerator,
    state: ConversationState,
    messages: Vec<LogItem>,
    members: Vec<(UserId, Option<Member>)>,
    entries: Vec<Entry>,
}

impl<'a> Batch<'a> {
    pub fn after(ids: &'a IdGenerator, state: &ConversationState) -> Self {
        Self { ids, state: state.clone(), messages: Vec::new(), members: Vec::new(), entries: Vec::new() }
    }

    /// Adds the current state of messages that the batch changes. Messages of the batch itself are known.
    #[must_use]
    pub fn knowing(mut self, messages: impl IntoIterator<Item = LogItem>) -> Self {
        self.messages.extend(messages);
        self
    }

    /// Adds a member who is mentioned or changed, for a conversation that is fanned out on read.
    #[must_use]
    pub fn knowing_member(mut self, user: UserId, member: Option<Member>) -> Self {
        self.members.push((user, member));
        self
    }

    /// Adds any change.
    #[must_use]
    pub fn change(self, change: Change) -> Self {
        self.push(|_, _| change)
    }

    /// Adds an entry that changes nothing and is not shown.
    #[must_use]
    pub fn filler(self) -> Self {
        self.change(Change::Expired { targets: Vec::new() })
    }

    pub fn build(self) -> Append {
        assert!(!self.entries.is_empty(), "nothing to append");
        Append {
            conversation: self.state.conversation.id,
            expected_head: self.state.head.seq,
            effects: self.so_far().finish(),
            entries: self.entries,
        }
    }

    /// The conversation after the current entries of the batch.
    pub(crate) fn so_far(&self) -> Fold<'_> {
        let mut fold = Fold::new(&self.state);
        self.messages.iter().for_each(|item| fold.know_message(item.clone()));
        self.members.iter().for_each(|(user, member)| fold.know_member(*user, member.clone()));
        for entry in &self.entries {
            fold.apply(entry);
            fold.know_message(LogItem::unchanged(entry.clone()));
        }
        fold
    }

    /// Computes the change with a separate fold, which it may modify.
    fn push(mut self, change: impl FnOnce(&mut Fold<'_>, MessageId) -> Change) -> Self {
        let fold = self.so_far();
        let id = self.ids.next_after(fold.head().id).expect("ids without a lease are not refused");
        let change = change(&mut self.so_far(), MessageId::new(id));
        let entry = fold.next_entry(id, change);
        self.entries.push(entry);
        self
    }

    fn target(&self, seq: Seq) -> Target {
        let known = self.messages.iter().map(|item| &item.entry).chain(&self.entries);
        let entry = known.into_iter().find(|entry| entry.seq == seq);
        let entry = entry.expect("the message that is changed is known to the batch");
        Target { id: MessageId::new(entry.id), seq }
    }
}
