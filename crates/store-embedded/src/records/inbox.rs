//! Inboxes.

use godwit_domain::model::{SavedDraft, Settings};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp};
use serde::{Deserialize, Serialize};

use super::Record;
use crate::keys::Section;

/// The listing of a conversation for a member.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct ListingRecord {
    pub(crate) state: ListingState,
    pin: Option<i64>,
    archived: bool,
    muted_until: Option<Timestamp>,
    marked_unread: bool,
    cleared: Seq,
    draft: Option<SavedDraftRecord>,
}

/// The place of a conversation in the inbox.
#[derive(Debug, Serialize, Deserialize, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListingState {
    #[default]
    Nowhere,
    /// In the order, because it is fanned out on write.
    Ordered,
    /// In the list of those that are fanned out on read.
    OnRead,
}

#[derive(Serialize, Deserialize)]
struct SavedDraftRecord {
    text: Box<str>,
    reply_to: Option<MessageId>,
    updated_at: Timestamp,
}

impl Record for ListingRecord {
    const TABLE: &'static str = "listings";
}

impl ListingRecord {
    pub(crate) fn new(state: ListingState, settings: Settings) -> Self {
        let draft = settings.draft.map(|draft| SavedDraftRecord {
            text: draft.text,
            reply_to: draft.reply_to,
            updated_at: draft.updated_at,
        });
        Self {
            state,
            pin: settings.pin,
            archived: settings.archived,
            muted_until: settings.muted_until,
            marked_unread: settings.marked_unread,
            cleared: settings.cleared,
            draft,
        }
    }

    /// The section of the order that the settings name.
    pub(crate) const fn section(&self) -> Section {
        Section { archived: self.archived, pinned: self.pin.is_some() }
    }

    pub(crate) const fn is_pinned(&self) -> bool {
        self.pin.is_some()
    }

    pub(crate) fn into_settings(self) -> Settings {
        let draft = self.draft.map(|draft| {
            Box::new(SavedDraft { text: draft.text, reply_to: draft.reply_to, updated_at: draft.updated_at })
        });
        Settings {
            pin: self.pin,
            archived: self.archived,
            muted_until: self.muted_until,
            marked_unread: self.marked_unread,
            cleared: self.cleared,
            draft,
        }
    }
}

/// The hot conversations of a user.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct HotListRecord(pub(crate) Vec<ConversationId>);

impl Record for HotListRecord {
    const TABLE: &'static str = "hot lists";
}

/// The pinned conversations of a user, with their positions.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct PinsRecord(pub(crate) Vec<(ConversationId, i64)>);

impl Record for PinsRecord {
    const TABLE: &'static str = "pins";
}
