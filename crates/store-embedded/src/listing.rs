//! Whose inbox has a conversation, where in it, and with which settings. What order the inbox is in is said in `order.rs`.

use godwit_domain::model::{
    AccountChange, AccountEntry, AccountNote, Concealed, FanOut, Settings, SettingsChange,
};
use godwit_domain::ports::StoreError;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use crate::keys;
use crate::read::Read;
use crate::records::{HeadRecord, ListingRecord, MemberRecord, Place, Standing, present};
use crate::txn::Txn;
use crate::{account_log, loading, order};

/// A conversation while it is put into inboxes and taken out of them.
pub(crate) struct Listing<'a> {
    pub(crate) conversation: ConversationId,
    pub(crate) fan_out: FanOut,
    pub(crate) standing: &'a mut Standing,
    /// Of the notes.
    pub(crate) at: Timestamp,
}

impl Listing<'_> {
    /// Puts the conversation into the inbox of a member, with a note. `None` when it is there.
    pub(crate) fn list(
        &mut self,
        txn: &mut Txn<'_>,
        user: UserId,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let mut listing = of(txn, user, self.conversation)?;
        if listing.place != Place::Nowhere {
            return Ok(None);
        }
        match self.fan_out {
            FanOut::OnWrite => {
                order::enter(txn, user, self.conversation, listing.section(), self.standing)?;
                listing.place = Place::Ordered;
            }
            FanOut::OnRead => {
                txn.put(keys::on_read(user, self.conversation), present());
                listing.place = Place::OnRead;
            }
        }
        txn.put_record(keys::listing(user, self.conversation), &listing);
        if self.standing.has_unlisted {
            set_unlisted(txn, self.conversation, user, false)?;
        }
        self.note(txn, user, AccountChange::ConversationListed(self.conversation)).map(Some)
    }

    /// Takes the conversation out of the inbox of somebody who is no longer a member, with their settings, and with a note.
    pub(crate) fn unlist(
        &mut self,
        txn: &mut Txn<'_>,
        user: UserId,
        reason: GoneReason,
    ) -> Result<AccountEntry, StoreError> {
        let listing = of(txn, user, self.conversation)?;
        match listing.place {
            Place::Nowhere => {}
            Place::Ordered => order::leave(txn, user, self.conversation, listing.section(), self.standing)?,
            Place::OnRead => txn.remove(keys::on_read(user, self.conversation)),
        }
        txn.remove(keys::listing(user, self.conversation));
        self.note(txn, user, AccountChange::ConversationGone(self.conversation, reason))
    }

    /// From now on the conversation is fanned out on read: takes it out of the order of all its members. Those who had
    /// cleared it have it among the others from now on, because nothing would list it for them later.
    pub(crate) fn cross(&mut self, txn: &mut Txn<'_>, members: &[UserId]) -> Result<(), StoreError> {
        for user in members {
            let mut listing = of(txn, *user, self.conversation)?;
            match listing.place {
                Place::Nowhere => {}
                Place::Ordered => {
                    order::leave(txn, *user, self.conversation, listing.section(), self.standing)?;
                }
                Place::OnRead => continue,
            }
            txn.put(keys::on_read(*user, self.conversation), present());
            listing.place = Place::OnRead;
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
        account_log::note(txn, AccountNote { user_id, at: self.at, change })
    }
}

/// Changes the settings, and moves the row to the section that they say.
pub(crate) fn change_settings(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    change: SettingsChange,
) -> Result<Settings, StoreError> {
    let before = of(txn, user, conversation)?;
    let (place, section) = (before.place, before.section());
    let settings = before.into_settings().changed_by(change);
    let after = ListingRecord::new(place, settings.clone());
    if place == Place::Ordered && after.section() != section {
        let head: Option<HeadRecord> = txn.record(&keys::head(conversation))?;
        if let Some(head) = head {
            let sections = (section, after.section());
            order::change_section(txn, user, conversation, sections, &head.standing);
        }
    }
    txn.put_record(keys::listing(user, conversation), &after);
    Ok(settings)
}

/// Puts what was said up to `cleared` out of a member's sight, and the conversation out of their inbox if that was
/// everything. One that is fanned out on read keeps its row: nothing would bring it back.
pub(crate) fn clear(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    cleared: Seq,
    ordinal: u64,
) -> Result<(), StoreError> {
    let concealed = Concealed { cleared, cleared_ordinal: ordinal, ..Concealed::default() };
    loading::conceal(txn, conversation, user, concealed)?;
    let mut listing = of(txn, user, conversation)?;
    listing.clear(cleared);
    let head_key = keys::head(conversation);
    let head: Option<HeadRecord> = txn.record(&head_key)?;
    if let Some(mut head) = head.filter(|head| head.last_shown().is_none_or(|last| last <= cleared)) {
        set_unlisted(txn, conversation, user, true)?;
        if listing.place == Place::Ordered {
            order::leave(txn, user, conversation, listing.section(), &head.standing)?;
            listing.place = Place::Nowhere;
            head.standing.has_unlisted = true;
            txn.put_record(head_key, &head);
        }
    }
    txn.put_record(keys::listing(user, conversation), &listing);
    Ok(())
}

/// What somebody has of a conversation in the inbox.
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
