//! What became of a message after it was sent.

use std::ops::{Deref, DerefMut};

use godwit_protocol::messages as wire;
use godwit_protocol::{Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize, Serializer};

use super::entry::{Entry, ReactionChange};
use super::message::{Mentions, Message, MessageBody};

/// Most messages have none of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MessageState {
    /// The last entry that is part of this.
    pub through: Seq,
    /// The entries that edited it, the first one first.
    pub edits: Vec<Seq>,
    /// What it says now, if it was edited.
    pub edited: Option<Box<Edited>>,
    pub gone: Option<Gone>,
    /// The most frequent is not first: they stand in the order in which they first came.
    pub reactions: Vec<ReactionCount>,
    /// Replies in the thread that it began.
    pub replies: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edited {
    pub at: Timestamp,
    pub text: Box<str>,
    pub mentions: Mentions,
}

/// The content is gone; the place in the log is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gone {
    pub at: Timestamp,
    /// Nobody where its time was over.
    pub by: Option<UserId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactionCount {
    pub reaction: Box<str>,
    pub count: u32,
}

/// An entry of the log and, if it is a message, what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogItem {
    pub entry: Entry,
    pub state: ItemState,
}

/// What became of the message of an item. Most have none of it, and pages of them are moved about: it takes room only
/// where there is something.
#[derive(Debug, Clone, Default)]
pub struct ItemState(Option<Box<MessageState>>);

/// Of a message to which nothing has happened.
static UNCHANGED: MessageState = MessageState {
    through: Seq::ZERO,
    edits: Vec::new(),
    edited: None,
    gone: None,
    reactions: Vec::new(),
    replies: 0,
};

impl MessageState {
    /// Whether nothing happened to the message, so that nothing needs to be kept.
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

    /// Nothing that was said stays.
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
    /// What the message says now, if it was edited.
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
    /// With nothing that became of it.
    pub fn unchanged(entry: Entry) -> Self {
        Self { entry, state: ItemState::default() }
    }

    /// The message and what became of it, if the entry is one.
    pub fn message(&self) -> Option<(&Message, &MessageState)> {
        self.entry.message().map(|message| (message, &*self.state))
    }

    /// Whether the message, if it is one, has content that may be shown now.
    pub fn is_gone(&self, now: Timestamp) -> bool {
        self.message().is_some_and(|(message, state)| message.is_gone(state, now))
    }
}

impl Message {
    /// Whether its content may no longer be shown. One whose time is over is erased a moment later.
    pub fn is_gone(&self, state: &MessageState, now: Timestamp) -> bool {
        state.gone.is_some()
            || self.expires_at.is_some_and(|at| at <= now)
            || matches!(self.body, MessageBody::Erased(_))
    }

    /// What it says now.
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
    fn a_reaction_takes_the_place_of_the_one_before() {
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
