//! Inboxes.

use godwit_domain::model::{SavedDraft, Settings};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp};
use godwit_records::records;
use serde::{Deserialize, Serialize};

use crate::keys::Section;

records! {
    #[derive(Default)]
    struct SettingsRecord for Settings {
        pin: Option<i64>,
        archived: bool,
        muted_until: Option<Timestamp>,
        marked_unread: bool,
        cleared: Seq,
        draft: Option<Box<SavedDraftRecord>>,
    }

    struct SavedDraftRecord for SavedDraft {
        text: Box<str>,
        reply_to: Option<MessageId>,
        updated_at: Timestamp,
    }
}

/// The listing of a conversation for a member.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct ListingRecord {
    pub(crate) state: ListingState,
    settings: SettingsRecord,
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

impl ListingRecord {
    pub(crate) fn new(state: ListingState, settings: &Settings) -> Self {
        Self { state, settings: settings.into() }
    }

    /// The section of the order that the settings name.
    pub(crate) const fn section(&self) -> Section {
        Section { archived: self.settings.archived, pinned: self.settings.pin.is_some() }
    }

    pub(crate) const fn is_pinned(&self) -> bool {
        self.settings.pin.is_some()
    }

    pub(crate) fn into_settings(self) -> Settings {
        self.settings.into()
    }
}

/// The hot conversations of a user.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct HotListRecord(pub(crate) Vec<ConversationId>);

/// The pinned conversations of a user, with their positions.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct PinsRecord(pub(crate) Vec<(ConversationId, i64)>);
