//! A user's settings for a conversation, and deleting it for oneself.

use godwit_protocol::conversations::{Membership, NewDraft, UpdateMembership};
use godwit_protocol::limits::DRAFT_CHARS_MAX;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::{Inbox, InboxError};
use crate::account::{ChangeSettings, Pins};
use crate::conversations::Live;
use crate::cursors::CursorError;
use crate::model::{
    AccountChange, AccountNote, Concealed, InvalidField, PinChange, SavedDraft, Settings, SettingsChange,
    field, leaves_inbox,
};
use crate::ports::StoreError;

impl Inbox {
    /// Pins, mutes or archives a conversation, marks it as unread, or saves a draft.
    pub async fn update_membership(
        &self,
        by: UserId,
        id: ConversationId,
        update: UpdateMembership,
    ) -> Result<Membership, InboxError> {
        let (_, member) = self.conversations.of_member(by, id).await?;
        let now = self.clock.now();
        if let Some(Some(until)) = update.muted_until {
            field::future("muted_until", until, now)?;
        }
        if update.pinned == Some(true) && update.archived == Some(true) {
            return Err(InvalidField::new("archived", "is not allowed for a pinned conversation").into());
        }
        let draft = update.draft.map(|draft| draft.as_ref().map(|draft| parse_draft(draft, now)).transpose());
        let pin = match update.pinned {
            Some(true) => Some(PinChange::First),
            Some(false) => Some(PinChange::Remove),
            // Archiving removes the pin.
            None => (update.archived == Some(true)).then_some(PinChange::Remove),
        };
        let change = SettingsChange {
            pin,
            archived: if update.pinned == Some(true) { Some(false) } else { update.archived },
            muted_until: update.muted_until,
            marked_unread: update.marked_unread,
            draft: draft.transpose()?,
        };
        match self.change_settings(by, id, change, AccountChange::SettingsChanged(id)).await? {
            ChangeSettings::Changed(settings, _) => Ok(member.to_wire(&settings)),
            ChangeSettings::TooManyPinned => Err(InboxError::TooManyPinned),
        }
    }

    /// Sorts the pinned conversations. Pinned conversations that `order` does not name keep their order after the others.
    /// Conversations that are not pinned are ignored, because another device may have unpinned them at the same time.
    pub async fn order_pinned(&self, by: UserId, order: &[ConversationId]) -> Result<(), InboxError> {
        Pins::check_order(order)?;
        let mut pinned = self.pinned_places(by).await?;
        let place = |id: &ConversationId| order.iter().position(|named| named == id).unwrap_or(usize::MAX);
        pinned.sort_by_key(|(pin, id)| (place(id), *pin));
        for (number, (pin, id)) in pinned.into_iter().enumerate() {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            if pin != number {
                let change =
                    SettingsChange { pin: Some(PinChange::Move(number)), ..SettingsChange::default() };
                self.change_settings(by, id, change, AccountChange::SettingsChanged(id)).await?;
            }
        }
        Ok(())
    }

    /// Removes the unread mark when the member reads.
    pub(crate) async fn unmark(&self, by: UserId, id: ConversationId) -> Result<(), StoreError> {
        if self.store.settings(by, id).await?.marked_unread {
            let change = SettingsChange { marked_unread: Some(false), ..SettingsChange::default() };
            self.change_settings(by, id, change, AccountChange::SettingsChanged(id)).await?;
        }
        Ok(())
    }

    /// Deletes a conversation for one member: everything up to `up_to` is concealed, and a later message keeps it in the
    /// inbox or brings it back. Without `up_to`, everything up to the head is concealed.
    ///
    /// With `up_to` the call is idempotent: entries after `up_to` stay.
    pub async fn delete_for_me(
        &self,
        by: UserId,
        id: ConversationId,
        up_to: Option<Seq>,
    ) -> Result<(), CursorError> {
        let (live, _) = self.conversations.of_member(by, id).await?;
        self.conversations.reload(&live).await?;
        let head = live.read(|state| state.head.seq);
        let cleared = up_to.unwrap_or(head);
        if cleared > head {
            return Err(CursorError::AheadOfLog { head });
        }
        let cleared_ordinal = self.conversations.ordinal_at(&live, cleared).await?;
        let concealed = Concealed::clearing(cleared, cleared_ordinal);
        let settings = self.store.settings(by, id).await?;
        if up_to.is_some() && settings.has_cleared(cleared) {
            // The first call may have been interrupted before every node knew.
            self.concealing.conceal(&live, by, concealed).await;
            return Ok(());
        }
        self.forget_settings(by, id, &settings).await?;
        self.clear(by, &live, concealed).await?;
        Ok(())
    }

    async fn clear(&self, by: UserId, live: &Live, concealed: Concealed) -> Result<(), StoreError> {
        let Concealed { cleared, cleared_ordinal, .. } = concealed;
        let id = live.id();
        let note = |change| AccountNote { user_id: by, at: self.clock.now(), change };
        let gone = note(AccountChange::ConversationGone(id, GoneReason::Deleted));
        let entry = self.store.clear(by, id, cleared, cleared_ordinal, gone).await?;
        self.concealing.conceal(live, by, concealed).await;
        let is_listed = live.write(|state| {
            let is_listed = !leaves_inbox(cleared, state.head.last_shown());
            if let Some(member) = state.member_mut(by) {
                member.unlisted = !is_listed;
            }
            is_listed
        });
        self.account_log.announce(&[(by, entry)]).await;
        if is_listed {
            // Devices drop the conversation when they learn of the deletion. This note makes them load the rest of it.
            let listed = AccountChange::ConversationListed(id);
            self.change_settings(by, id, SettingsChange::default(), listed).await?;
        }
        Ok(())
    }

    /// Resets the settings, so that the conversation comes back without pin, archive flag, unread mark and draft. It stays
    /// muted.
    async fn forget_settings(
        &self,
        by: UserId,
        id: ConversationId,
        settings: &Settings,
    ) -> Result<(), StoreError> {
        let change = SettingsChange {
            pin: settings.pin.is_some().then_some(PinChange::Remove),
            archived: settings.archived.then_some(false),
            marked_unread: settings.marked_unread.then_some(false),
            draft: settings.draft.is_some().then_some(None),
            muted_until: None,
        };
        if change != SettingsChange::default() {
            self.change_settings(by, id, change, AccountChange::SettingsChanged(id)).await?;
        }
        Ok(())
    }

    async fn change_settings(
        &self,
        by: UserId,
        id: ConversationId,
        change: SettingsChange,
        told: AccountChange,
    ) -> Result<ChangeSettings, StoreError> {
        let note = AccountNote { user_id: by, at: self.clock.now(), change: told };
        let outcome = self.store.change_settings(by, id, change, note).await?;
        if let ChangeSettings::Changed(_, entry) = &outcome {
            self.account_log.announce(&[(by, *entry)]).await;
        }
        Ok(outcome)
    }

    async fn pinned_places(&self, by: UserId) -> Result<Vec<(i64, ConversationId)>, StoreError> {
        let (rows, large) = tokio::try_join!(self.store.pinned(by), self.store.fanned_out_on_read(by))?;
        let rows = rows.into_iter().map(|row| (row.settings.pin, row.conversation));
        let large = large.into_iter().map(|row| (row.settings.pin, row.conversation));
        Ok(rows.chain(large).filter_map(|(pin, id)| Some((pin?, id))).collect())
    }
}

fn parse_draft(draft: &NewDraft, now: Timestamp) -> Result<Box<SavedDraft>, InvalidField> {
    let text = field::kept("draft.text", &draft.text, DRAFT_CHARS_MAX)?;
    Ok(Box::new(SavedDraft { text, reply_to: draft.reply_to, updated_at: now }))
}
