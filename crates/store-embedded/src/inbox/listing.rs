//! Listings: whether a conversation is in a user's inbox, and with which settings. For the order of the inbox,
//! see `order.rs`.

use godwit_domain::model::{AccountChange, AccountEntry, AccountNote, FanOut, Settings, SettingsChange};
use godwit_domain::ports::StoreError;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::order;
use crate::account;
use crate::keys;
use crate::read::Read;
use crate::records::{HeadRecord, ListingRecord, ListingState, MemberRecord, Standing, present};
use crate::txn::Txn;

/// A conversation that enters and leaves inboxes.
pub(crate) struct Listing<'a> {
    pub(crate) conversation: ConversationId,
    pub(crate) fan_out: FanOut,
    pub(crate) standing: &'a mut Standing,
    /// The time of the notes.
    pub(crate) at: Timestamp,
}

impl Listing<'_> {
    /// Puts the conversation into the inbox of a member, and writes the note. `None` when it is already there.
    pub(crate) fn list(
        &mut self,
        txn: &mut Txn<'_>,
        user: UserId,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let mut listing = of(txn, user, self.conversation)?;
        if listing.state != ListingState::Nowhere {
            return Ok(None);
        }
        match self.fan_out {
            FanOut::OnWrite => {
                order::enter(txn, user, self.conversation, listing.section(), self.standing)?;
                listing.state = ListingState::Ordered;
            }
            FanOut::OnRead => {
                txn.put(keys::on_read(user, self.conversation), present());
                listing.state = ListingState::OnRead;
            }
        }
        txn.put_record(keys::listing(user, self.conversation), &listing);
        if self.standing.has_unlisted {
            set_unlisted(txn, self.conversation, user, false)?;
        }
        self.note(txn, user, AccountChange::ConversationListed(self.conversation)).map(Some)
    }

    /// Takes the conversation out of the inbox of a former member, removes their settings, and writes the note.
    pub(crate) fn unlist(
        &mut self,
        txn: &mut Txn<'_>,
        user: UserId,
        reason: GoneReason,
    ) -> Result<AccountEntry, StoreError> {
        let listing = of(txn, user, self.conversation)?;
        match listing.state {
            ListingState::Nowhere => {}
            ListingState::Ordered => {
                order::leave(txn, user, self.conversation, listing.section(), self.standing)?;
            }
            ListingState::OnRead => txn.remove(keys::on_read(user, self.conversation)),
        }
        txn.remove(keys::listing(user, self.conversation));
        self.note(txn, user, AccountChange::ConversationGone(self.conversation, reason))
    }

    /// Marks the conversation as fanned out on read, which it then stays, and takes it out of the order of all
    /// members. Members who had cleared it get it back, because no message would list it for them later.
    pub(crate) fn cross(&mut self, txn: &mut Txn<'_>, members: &[UserId]) -> Result<(), StoreError> {
        for user in members {
            let mut listing = of(txn, *user, self.conversation)?;
            match listing.state {
                ListingState::Nowhere => {}
                ListingState::Ordered => {
                    order::leave(txn, *user, self.conversation, listing.section(), self.standing)?;
                }
                ListingState::OnRead => continue,
            }
            txn.put(keys::on_read(*user, self.conversation), present());
            listing.state = ListingState::OnRead;
            txn.put_record(keys::listing(*user, self.conversation), &listing);
        }
        order::cool(txn, self.conversation, self.standing);
        self.standing.has_unlisted = false;
        Ok(())
    }

    fn note(
        &self,
        txn: &mut Txn<'_>,
        user_id: UserId,
        change: AccountChange,
    ) -> Result<AccountEntry, StoreError> {
        account::log::note(txn, AccountNote { user_id, at: self.at, change })
    }
}

/// Changes the settings, and moves the row to the section that they name.
pub(crate) fn change_settings(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    change: SettingsChange,
) -> Result<Settings, StoreError> {
    let before = of(txn, user, conversation)?;
    let (state, section) = (before.state, before.section());
    let settings = before.into_settings().changed_by(change);
    let after = ListingRecord::new(state, &settings);
    if state == ListingState::Ordered && after.section() != section {
        let head: Option<HeadRecord> = txn.record(&keys::head(conversation))?;
        if let Some(head) = head {
            let sections = (section, after.section());
            order::change_section(txn, user, conversation, sections, &head.standing);
        }
    }
    txn.put_record(keys::listing(user, conversation), &after);
    Ok(settings)
}

/// Clears a conversation for a member through `cleared`, and takes it out of their inbox if no later entry was
/// shown. A conversation that is fanned out on read stays, because no message would bring it back.
pub(crate) fn clear(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    cleared: Seq,
) -> Result<(), StoreError> {
    let mut listing = of(txn, user, conversation)?;
    listing.clear(cleared);
    let head_key = keys::head(conversation);
    let head: Option<HeadRecord> = txn.record(&head_key)?;
    if let Some(mut head) = head.filter(|head| head.last_shown().is_none_or(|last| last <= cleared)) {
        set_unlisted(txn, conversation, user, true)?;
        if listing.state == ListingState::Ordered {
            order::leave(txn, user, conversation, listing.section(), &head.standing)?;
            listing.state = ListingState::Nowhere;
            head.standing.has_unlisted = true;
            txn.put_record(head_key, &head);
        }
    }
    txn.put_record(keys::listing(user, conversation), &listing);
    Ok(())
}

/// The listing of a conversation for a user.
pub(crate) fn of(
    store: &impl Read,
    user: UserId,
    conversation: ConversationId,
) -> Result<ListingRecord, StoreError> {
    Ok(store.record(&keys::listing(user, conversation))?.unwrap_or_default())
}

fn set_unlisted(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    user: UserId,
    unlisted: bool,
) -> Result<(), StoreError> {
    let key = keys::member(conversation, user);
    let member: Option<MemberRecord> = txn.record(&key)?;
    if let Some(mut member) = member.filter(|member| member.unlisted != unlisted) {
        member.unlisted = unlisted;
        txn.put_record(key, &member);
    }
    Ok(())
}
