//! Listings: whether a conversation is in a user's inbox, and with which settings. For the order of the inbox,
//! see `order.rs`.

use godwit_domain::account::Pins;
use godwit_domain::model::{AccountNote, FanOut, Settings, leaves_inbox};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::Unlisting;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::order;
use crate::keys;
use crate::read::Read;
use crate::records::{HeadRecord, ListingRecord, ListingState, MemberRecord, PinsRecord, Standing, present};
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
    /// Puts the conversation into the inbox of a member, and returns the note to write. `None` when it is already there.
    pub(crate) fn list(
        &mut self,
        txn: &mut Txn<'_>,
        user: UserId,
    ) -> Result<Option<AccountNote>, StoreError> {
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
        Ok(Some(AccountNote::listed(user, self.conversation, self.at)))
    }

    /// Takes the conversation out of the inbox of a former member, removes their settings, and returns the
    /// note to write.
    pub(crate) fn unlist(
        &mut self,
        txn: &mut Txn<'_>,
        unlisting: Unlisting,
    ) -> Result<AccountNote, StoreError> {
        let user = unlisting.user_id;
        let listing = of(txn, user, self.conversation)?;
        if listing.is_pinned() {
            let mut pins = pins(txn, user)?;
            pins.0.remove(&self.conversation);
            put_pins(txn, user, pins);
        }
        match listing.state {
            ListingState::Nowhere => {}
            ListingState::Ordered => {
                order::leave(txn, user, self.conversation, listing.section(), self.standing)?;
            }
            ListingState::OnRead => txn.remove(keys::on_read(user, self.conversation)),
        }
        txn.remove(keys::listing(user, self.conversation));
        Ok(unlisting.note(self.conversation, self.at))
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
}

/// Writes the settings, and moves the row to the section that they name.
pub(crate) fn put_settings(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    settings: &Settings,
) -> Result<(), StoreError> {
    let before = of(txn, user, conversation)?;
    let after = ListingRecord::new(before.state, settings);
    let sections = (before.section(), after.section());
    if before.state == ListingState::Ordered && sections.0 != sections.1 {
        let head: Option<HeadRecord> = txn.record(&keys::head(conversation))?;
        if let Some(head) = head {
            order::change_section(txn, user, conversation, sections, &head.standing);
        }
    }
    txn.put_record(keys::listing(user, conversation), &after);
    Ok(())
}

/// Clears a conversation for a member through `cleared`, and takes it out of their inbox if it leaves it. A conversation that
/// is fanned out on read stays, because no message would bring it back.
pub(crate) fn clear(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    cleared: Seq,
) -> Result<(), StoreError> {
    let listing = of(txn, user, conversation)?;
    let (mut state, section) = (listing.state, listing.section());
    let mut settings = listing.into_settings();
    settings.clear(cleared);
    let head_key = keys::head(conversation);
    let head: Option<HeadRecord> = txn.record(&head_key)?;
    if let Some(mut head) = head.filter(|head| leaves_inbox(cleared, head.last_shown())) {
        set_unlisted(txn, conversation, user, true)?;
        if state == ListingState::Ordered {
            order::leave(txn, user, conversation, section, &head.standing)?;
            state = ListingState::Nowhere;
            head.standing.has_unlisted = true;
            txn.put_record(head_key, &head);
        }
    }
    txn.put_record(keys::listing(user, conversation), &ListingRecord::new(state, &settings));
    Ok(())
}

/// The pinned conversations of a user.
pub(crate) fn pins(store: &impl Read, user: UserId) -> Result<Pins, StoreError> {
    let PinsRecord(pins) = store.record(&keys::pins(user))?.unwrap_or_default();
    Ok(Pins(pins.into_iter().collect()))
}

pub(crate) fn put_pins(txn: &mut Txn<'_>, user: UserId, Pins(pins): Pins) {
    txn.put_record(keys::pins(user), &PinsRecord(pins.into_iter().collect()));
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
