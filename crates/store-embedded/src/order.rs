//! The order of the inbox: exact at any time, and cheap however much is sent.
//!
//! A row per listed conversation stands at the place of its activity (tag 60 of `keys.rs`). Moving the rows of all members
//! with every message would delete and insert a row per member and message, and bury the list in deleted rows. So the
//! rows of a busy conversation are left behind: it is then *hot* (tag 64). Its head says where the rows stand, and each
//! listed member has it in a short list (tag 61). While it is hot, messages write nothing here. A page takes the rows in
//! order, without the hot ones, and puts these where their heads say (`inbox.rs`). After [`HOT_MS_MAX`] a hot
//! conversation is *settled*: its rows are moved to where they belong, in one transaction.
//!
//! A conversation that is not busy is not worth that: its rows are moved at once, and so are those of one for which the
//! hot lists have no room. They are bounded, because a page looks at all that the user has.
//!
//! What always holds: the rows of all members who have the conversation in the order stand at the same time, which is the
//! activity unless the conversation is hot; and a hot conversation is in the hot list of all of them.
//!
//! Conversations that are fanned out on read are not in the order: they have no rows that could follow.

use godwit_domain::ports::{ActivityPosition, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use crate::changes;
use crate::hot::HOT_MS_MAX;
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotListRecord, ListingRecord, Place, Standing, present};
use crate::txn::Txn;

/// Hot conversations of one user, and with it what a page has to look at beyond its rows.
pub(crate) const HOT_PER_USER_MAX: usize = 64;

/// Makes the inboxes of members follow a conversation whose activity is `activity_at` from now on.
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

/// Puts a conversation into the order of a user. It may be settled by it.
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

/// Ends that a conversation is hot, whose rows are where they belong, or gone.
pub(crate) fn cool(txn: &mut Txn<'_>, conversation: ConversationId, standing: &mut Standing) {
    if standing.ordered_at.take().is_some() {
        txn.remove(keys::hot(conversation));
    }
}

/// Moves the rows of a hot conversation to where they belong.
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

/// Makes a conversation hot, if there is room for it.
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

/// Puts a conversation into the hot lists of users, if it fits into all of them.
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

/// Those of the users who have the conversation in the order, and in which section.
pub(crate) fn rows_of(
    txn: &Txn<'_>,
    conversation: ConversationId,
    users: &[UserId],
) -> Result<Vec<(UserId, Section)>, StoreError> {
    let mut rows = Vec::with_capacity(users.len());
    for user in users {
        let listing: Option<ListingRecord> = txn.record(&keys::listing(*user, conversation))?;
        let listing = listing.filter(|listing| listing.place == Place::Ordered);
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
