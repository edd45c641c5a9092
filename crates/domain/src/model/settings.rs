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

/// The new values of the settings; `None` keeps a value as it is. Clearing is a separate operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsChange {
    pub pin: Option<Option<i64>>,
    pub archived: Option<bool>,
    pub muted_until: Option<Option<Timestamp>>,
    pub marked_unread: Option<bool>,
    pub draft: Option<Option<Box<SavedDraft>>>,
}

impl Settings {
    #[must_use]
    pub fn changed_by(self, change: SettingsChange) -> Self {
        Self {
            pin: change.pin.unwrap_or(self.pin),
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
