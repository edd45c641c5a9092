//! The state of a message: its changes after it was sent.

use std::ops::{Deref, DerefMut};

use godwit_protocol::messages as wire;
use godwit_protocol::{Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize, Serializer};

use super::entry::{Entry, ReactionChange};
use super::message::{Mentions, Message, MessageBody};

/// The changes of a message. Most messages have none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MessageState {
    /// The last entry that this state includes.
    pub through: Seq,
    /// The entries that edited the message, the first one first.
    pub edits: Vec<Seq>,
    /// The current text, if the message was edited.
    pub edited: Option<Box<Edited>>,
    pub gone: Option<Gone>,
    /// Reactions in the order of their first use, not by frequency.
    pub reactions: Vec<ReactionCount>,
    /// The number of replies in the thread that the message started.
    pub replies: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edited {
    pub at: Timestamp,
    pub text: Box<str>,
    pub mentions: Mentions,
}

/// The content is gone, but the message keeps its place in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gone {
    pub at: Timestamp,
    /// `None` if the message expired.
    pub by: Option<UserId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionCount {
    pub reaction: Box<str>,
    pub count: u32,
}

/// An entry of the log with, for a message, its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogItem {
    pub entry: Entry,
    pub state: ItemState,
}

/// The state of a log item's message. Boxed, because pages of items are moved around and most messages have no changes.
#[derive(Debug, Clone, Default)]
pub struct ItemState(Option<Box<MessageState>>);

/// The state of an unchanged message.
static UNCHANGED: MessageState = MessageState {
    through: Seq::ZERO,
    edits: Vec::new(),
    edited: None,
    gone: None,
    reactions: Vec::new(),
    replies: 0,
};

impl MessageState {
    /// True if the message has no changes, so that nothing needs to be stored.
    pub fn is_default(&self) -> bool {
        self.edits.is_empty() && self.gone.is_none() && self.reactions.is_empty() && self.replies == 0
    }

    pub(crate) fn react(&mut self, changes: &[ReactionChange]) {
        for change in changes {
            if let Some(from) = &change.from
                && let Some(place) = self.reactions.iter().position(|count| count.reaction == *from)
            {
                self.reactions[place].count -= 1;
                if self.reactions[place].count == 0 {
                    self.reactions.remove(place);
                }
            }
            if let Some(to) = &change.to {
                match self.reactions.iter_mut().find(|count| count.reaction == *to) {
                    Some(count) => count.count += 1,
                    None => self.reactions.push(ReactionCount { reaction: to.clone(), count: 1 }),
                }
            }
        }
    }

    /// Removes all content.
    pub(crate) fn erase(&mut self, gone: Gone) {
        self.edited = None;
        self.reactions.clear();
        self.gone = Some(gone);
    }

    pub fn wire_reactions(&self) -> Vec<wire::ReactionCount> {
        self.reactions.iter().map(ReactionCount::to_wire).collect()
    }
}

impl ReactionCount {
    pub fn to_wire(&self) -> wire::ReactionCount {
        wire::ReactionCount { reaction: self.reaction.to_string(), count: self.count }
    }
}

impl ItemState {
    /// The current text, if the message was edited.
    pub(crate) fn into_edited(self) -> Option<Box<Edited>> {
        self.0?.edited
    }
}

impl From<MessageState> for ItemState {
    fn from(state: MessageState) -> Self {
        Self((state != UNCHANGED).then(|| Box::new(state)))
    }
}

impl From<ItemState> for MessageState {
    fn from(state: ItemState) -> Self {
        state.0.map(|state| *state).unwrap_or_default()
    }
}

impl Deref for ItemState {
    type Target = MessageState;

    fn deref(&self) -> &MessageState {
        self.0.as_deref().unwrap_or(&UNCHANGED)
    }
}

impl DerefMut for ItemState {
    fn deref_mut(&mut self) -> &mut MessageState {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for ItemState {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for ItemState {}

impl Serialize for ItemState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl LogItem {
    /// An item without changes.
    pub fn unchanged(entry: Entry) -> Self {
        Self { entry, state: ItemState::default() }
    }

    /// The message and its state, if the entry is a message.
    pub fn message(&self) -> Option<(&Message, &MessageState)> {
        self.entry.message().map(|message| (message, &*self.state))
    }

    /// True if the item is a message whose content may no longer be shown.
    pub fn is_gone(&self, now: Timestamp) -> bool {
        self.message().is_some_and(|(message, state)| message.is_gone(state, now))
    }
}

impl Message {
    /// True if the content may no longer be shown. An expired message is hidden at once and erased a little later.
    pub fn is_gone(&self, state: &MessageState, now: Timestamp) -> bool {
        state.gone.is_some()
            || self.expires_at.is_some_and(|at| at <= now)
            || matches!(self.body, MessageBody::Erased(_))
    }

    /// The current text.
    pub fn current_text<'a>(&'a self, state: &'a MessageState) -> Option<&'a str> {
        state.edited.as_ref().map_or_else(|| self.body.text(), |edited| Some(&edited.text))
    }

    pub fn current_mentions<'a>(&'a self, state: &'a MessageState) -> &'a Mentions {
        state.edited.as_ref().map_or(&self.mentions, |edited| &edited.mentions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_replaces_the_previous_one() {
        let change = |user: u64, from: Option<&str>, to: Option<&str>| ReactionChange {
            user_id: UserId::new(user),
            from: from.map(Into::into),
            to: to.map(Into::into),
        };
        let counts = |state: &MessageState| {
            state.reactions.iter().map(|c| format!("{}{}", c.reaction, c.count)).collect::<Vec<_>>().join(" ")
        };
        let mut state = MessageState::default();
        state.react(&[change(1, None, Some("+")), change(2, None, Some("+")), change(3, None, Some("!"))]);
        assert_eq!(counts(&state), "+2 !1");
        state.react(&[change(1, Some("+"), Some("!"))]);
        assert_eq!(counts(&state), "+1 !2");
        state.react(&[change(2, Some("+"), None)]);
        assert_eq!(counts(&state), "!2");
    }
}
