//! What a member has set for themselves in a conversation.

use godwit_protocol::conversations as wire;
use godwit_protocol::{MessageId, Seq, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The place among the pinned ones, the lowest first.
    pub pin: Option<i64>,
    pub archived: bool,
    pub muted_until: Option<Timestamp>,
    pub marked_unread: bool,
    /// The conversation is not in the inbox until something is shown after this entry. What was before is out of sight, see
    /// [`Concealed`](super::Concealed).
    pub cleared: Seq,
    pub draft: Option<Box<SavedDraft>>,
}

/// A text that was not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedDraft {
    pub text: Box<str>,
    pub reply_to: Option<MessageId>,
    pub updated_at: Timestamp,
}

/// What to change of the settings; `None` stays as it is. `cleared` has a way of its own.
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
