//! A member's own settings for a conversation.

use godwit_protocol::conversations as wire;
use godwit_protocol::{MessageId, Seq, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The position among the pinned conversations, the lowest first.
    pub pin: Option<i64>,
    pub archived: bool,
    pub muted_until: Option<Timestamp>,
    pub marked_unread: bool,
    /// The inbox lists the conversation again once an entry after this one is shown. Everything up to here is concealed, see
    /// [`Concealed`](super::Concealed).
    pub cleared: Seq,
    pub draft: Option<Box<SavedDraft>>,
}

/// An unsent text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedDraft {
    pub text: Box<str>,
    pub reply_to: Option<MessageId>,
    pub updated_at: Timestamp,
}

/// A change of the pin of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinChange {
    /// Pins the conversation before all others. A pinned conversation keeps its position.
    First,
    /// Moves a pinned conversation. One that is not pinned stays so.
    Move(i64),
    /// Pins the conversation at a position without a limit, for a copy of another store.
    Put(i64),
    Remove,
}

impl PinChange {
    /// Whether the change can pin a conversation that is not pinned.
    pub const fn may_pin(self) -> bool {
        matches!(self, Self::First | Self::Put(_))
    }
}

/// The new values of the settings; `None` keeps a value as it is. Clearing is a separate operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsChange {
    pub pin: Option<PinChange>,
    pub archived: Option<bool>,
    pub muted_until: Option<Option<Timestamp>>,
    pub marked_unread: Option<bool>,
    pub draft: Option<Option<Box<SavedDraft>>>,
}

/// Whether a conversation that a member has cleared up to `cleared` leaves the inbox. It stays if a later entry was shown.
pub fn leaves_inbox(cleared: Seq, last_shown: Option<Seq>) -> bool {
    last_shown.is_none_or(|last| last <= cleared)
}

impl Settings {
    /// Clears the conversation up to an entry. Never moves back.
    pub fn clear(&mut self, up_to: Seq) {
        self.cleared = self.cleared.max(up_to);
    }

    /// Whether the member has cleared an entry.
    pub fn has_cleared(&self, seq: Seq) -> bool {
        self.cleared > Seq::ZERO && self.cleared >= seq
    }

    /// The settings after a change, except for the pin, which depends on the [other pins](crate::account::Pins).
    #[must_use]
    pub fn changed_by(self, change: SettingsChange) -> Self {
        Self {
            pin: self.pin,
            archived: change.archived.unwrap_or(self.archived),
            muted_until: change.muted_until.unwrap_or(self.muted_until),
            marked_unread: change.marked_unread.unwrap_or(self.marked_unread),
            cleared: self.cleared,
            draft: change.draft.unwrap_or(self.draft),
        }
    }
}

impl SavedDraft {
    pub fn to_wire(&self) -> wire::SavedDraft {
        wire::SavedDraft { text: self.text.to_string(), reply_to: self.reply_to, updated_at: self.updated_at }
    }
}
