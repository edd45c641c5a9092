//! The order of the inbox: always exact, and cheap at any rate of messages.
//!
//! A listed conversation has a row per member, at the time of its activity (tag 60 of `keys`). Moving the rows
//! of all members with every message would delete and insert a row per member and message, and fill the list
//! with tombstones. So the rows of a busy conversation stay put: the conversation becomes *hot* (tag 64), its
//! head stores where the rows are, and each member who lists it has it in a short hot list (tag 61). While it
//! is hot, messages write nothing here. A page reads the rows in order, skips hot conversations, and inserts
//! these at the activity of their heads (`page.rs`). After [`HOT_MS_MAX`] a hot conversation is *settled*: one
//! transaction moves its rows to the right place.
//!
//! A conversation that is not busy does not become hot. Its rows move at once, and so do the rows of one that
//! does not fit into the hot lists. Hot lists are bounded, because a page reads all hot conversations of the
//! user.
//!
//! Invariants: the rows of all members who have the conversation in the order are at the same time, which is
//! its activity unless it is hot. A hot conversation is in the hot list of each of these members.
//!
//! Conversations that are fanned out on read are not in the order.

use godwit_domain::ports::{ActivityPosition, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::changes;
use super::hot::HOT_MS_MAX;
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotListRecord, ListingRecord, ListingState, Standing, present};
use crate::txn::Txn;

/// Hot conversations per user. Bounds what a page reads besides its rows.
pub(crate) const HOT_PER_USER_MAX: usize = 64;

/// Moves a conversation to a new activity in the inboxes of its members.
pub(crate) fn follow(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    standing: &mut Standing,
    activity_at: Timestamp,
    members: &[UserId],
) -> Result<(), StoreError> {
    let stand_at = standing.rows_at();
    let may_stay = standing.is_hot() || activity_at == stand_at;
    standing.activity_at = activity_at;
    if may_stay {
        return Ok(());
    }
    let rows = rows_of(txn, conversation, members)?;
    let is_busy = activity_at.millis_since(stand_at) < HOT_MS_MAX;
    if is_busy && heat(txn, conversation, &rows)? {
        standing.ordered_at = Some(stand_at);
        return Ok(());
    }
    for (user, section) in rows {
        displace(txn, user, conversation, stand_at, section);
        place(txn, user, conversation, activity_at, section);
    }
    Ok(())
}

/// Puts a conversation into the order of a user. Settles it if the user's hot list is full.
pub(crate) fn enter(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    section: Section,
    standing: &mut Standing,
) -> Result<(), StoreError> {
    if standing.is_hot() && !enlist(txn, &[user], conversation)? {
        settle_rows(txn, conversation, standing)?;
    }
    place(txn, user, conversation, standing.rows_at(), section);
    changes::enter(txn, user, conversation, standing);
    Ok(())
}

/// Takes a conversation out of the order of a user.
pub(crate) fn leave(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    section: Section,
    standing: &Standing,
) -> Result<(), StoreError> {
    displace(txn, user, conversation, standing.rows_at(), section);
    changes::leave(txn, user, conversation, standing);
    if standing.is_hot() { delist(txn, user, conversation) } else { Ok(()) }
}

/// Moves the row of a user to another section.
pub(crate) fn change_section(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    (from, to): (Section, Section),
    standing: &Standing,
) {
    displace(txn, user, conversation, standing.rows_at(), from);
    place(txn, user, conversation, standing.rows_at(), to);
}

/// Marks a conversation as no longer hot, after its rows were moved or removed.
pub(crate) fn cool(txn: &mut Txn<'_>, conversation: ConversationId, standing: &mut Standing) {
    if standing.ordered_at.take().is_some() {
        txn.remove(keys::hot(conversation));
    }
}

/// Moves the rows of a hot conversation to the right place.
pub(crate) fn settle(txn: &mut Txn<'_>, conversation: ConversationId) -> Result<(), StoreError> {
    let key = keys::head(conversation);
    let head: Option<HeadRecord> = txn.record(&key)?;
    if let Some(mut head) = head.filter(|head| head.standing.is_hot()) {
        settle_rows(txn, conversation, &mut head.standing)?;
        txn.put_record(key, &head);
    }
    Ok(())
}

fn settle_rows(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    standing: &mut Standing,
) -> Result<(), StoreError> {
    let members = txn.all(&keys::members_after(conversation, None))?;
    let members = members.iter().map(|(key, _)| keys::last_id("members", key).map(UserId::new));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    for (user, section) in rows_of(txn, conversation, &members)? {
        displace(txn, user, conversation, standing.rows_at(), section);
        place(txn, user, conversation, standing.activity_at, section);
        delist(txn, user, conversation)?;
    }
    cool(txn, conversation, standing);
    Ok(())
}

/// Makes a conversation hot, if the store and all hot lists have room.
fn heat(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    rows: &[(UserId, Section)],
) -> Result<bool, StoreError> {
    let users: Vec<UserId> = rows.iter().map(|(user, _)| *user).collect();
    let is_hot = !users.is_empty() && txn.may_heat() && enlist(txn, &users, conversation)?;
    if is_hot {
        txn.put(keys::hot(conversation), present());
        txn.heat(conversation);
    }
    Ok(is_hot)
}

/// Puts a conversation into the hot lists of users, if all lists have room.
fn enlist(txn: &mut Txn<'_>, users: &[UserId], conversation: ConversationId) -> Result<bool, StoreError> {
    let mut lists = Vec::with_capacity(users.len());
    for user in users {
        let mut list: HotListRecord = txn.record(&keys::hot_list(*user))?.unwrap_or_default();
        if list.0.len() >= HOT_PER_USER_MAX {
            return Ok(false);
        }
        list.0.push(conversation);
        lists.push((*user, list));
    }
    for (user, list) in lists {
        txn.put_record(keys::hot_list(user), &list);
    }
    Ok(true)
}

fn delist(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId) -> Result<(), StoreError> {
    let key = keys::hot_list(user);
    let mut list: HotListRecord = txn.record(&key)?.unwrap_or_default();
    list.0.retain(|hot| *hot != conversation);
    if list.0.is_empty() {
        txn.remove(key);
    } else {
        txn.put_record(key, &list);
    }
    Ok(())
}

/// The users who have the conversation in the order, with their sections.
pub(crate) fn rows_of(
    txn: &Txn<'_>,
    conversation: ConversationId,
    users: &[UserId],
) -> Result<Vec<(UserId, Section)>, StoreError> {
    let mut rows = Vec::with_capacity(users.len());
    for user in users {
        let listing: Option<ListingRecord> = txn.record(&keys::listing(*user, conversation))?;
        let listing = listing.filter(|listing| listing.state == ListingState::Ordered);
        rows.extend(listing.map(|listing| (*user, listing.section())));
    }
    Ok(rows)
}

fn place(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, at: Timestamp, section: Section) {
    txn.put(keys::order(user, section, ActivityPosition { at, conversation }), present());
}

fn displace(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, at: Timestamp, section: Section) {
    txn.remove(keys::order(user, section, ActivityPosition { at, conversation }));
}
