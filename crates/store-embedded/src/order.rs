//! The order of the inbox: exact at any time, and cheap however much is sent.
//!
//! A row per listed conversation stands at the place of its activity (tag 60 of `keys.rs`). Moving the rows of all members
//! with every message would delete and insert a row per member and message, and bury the list in deleted rows. So the
//! rows of a busy conversation are left behind: it is then *hot*. Its head says where the rows stand, and each listed
//! member has it in a short list (tag 61). While it is hot, messages write nothing here. A page takes the rows in
//! order, without the hot ones, and puts these where their heads say (`inbox.rs`). After [`HOT_MS_MAX`] a hot
//! conversation is *settled*: its rows are moved to where they belong, in one transaction.
//!
//! A conversation that is not busy is not worth that: its rows are moved at once, and so are those of one for which the
//! hot lists have no room. They are bounded, because a page looks at all that the user has.
//!
//! What always holds: the rows of all listed members stand at the same time, which is the activity unless the
//! conversation is hot; and a hot conversation is in the hot list of all its listed members.

use godwit_domain::model::{AccountChange, AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::{ActivityPosition, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use crate::account_log;
use crate::hot::HOT_MS_MAX;
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotRecord, ListingRecord, OrderRecord};
use crate::txn::Txn;

/// Hot conversations of one user, and with it what a page has to look at beyond its rows.
pub(crate) const HOT_PER_USER_MAX: usize = 64;

/// Makes the inboxes follow a conversation whose activity is `activity_at` from now on. Returns where the rows stand, if not
/// there.
pub(crate) fn follow(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    head: &HeadRecord,
    activity_at: Timestamp,
    members: &[UserId],
) -> Result<Option<Timestamp>, StoreError> {
    let stand_at = head.activity_at;
    if head.ordered_at.is_some() || activity_at == stand_at {
        return Ok(head.ordered_at);
    }
    let listed = listed(txn, conversation, members)?;
    let is_busy = activity_at.millis_since(stand_at) < HOT_MS_MAX;
    if is_busy && heat(txn, conversation, &listed)? {
        return Ok(Some(stand_at));
    }
    for (user, settings) in listed {
        displace(txn, user, conversation, stand_at, settings);
        place(txn, user, conversation, activity_at, settings);
    }
    Ok(None)
}

/// Puts a conversation into the inbox of a user, with a note. `None` when it is there. `head` may be settled by it.
pub(crate) fn list(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    head: &mut HeadRecord,
    at: Timestamp,
) -> Result<Option<AccountEntry>, StoreError> {
    let key = keys::listing(user, conversation);
    let listing: ListingRecord = txn.record(&key)?.unwrap_or_default();
    if listing.is_listed {
        return Ok(None);
    }
    let settings = listing.settings();
    if head.ordered_at.is_some() && !enlist(txn, &[user], conversation)? {
        settle_rows(txn, conversation, head)?;
    }
    place(txn, user, conversation, head.ordered_at.unwrap_or(head.activity_at), settings);
    txn.put_record(key, &ListingRecord::new(true, settings));
    let change = AccountChange::ConversationListed(conversation);
    account_log::note(txn, AccountNote { user_id: user, at, change }).map(Some)
}

/// Changes the settings, and moves the row to the section that they say.
pub(crate) fn change_settings(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    change: SettingsChange,
) -> Result<Settings, StoreError> {
    let key = keys::listing(user, conversation);
    let listing: ListingRecord = txn.record(&key)?.unwrap_or_default();
    let head: Option<HeadRecord> = txn.record(&keys::head(conversation))?;
    let settings = listing.settings().changed_by(change);
    if let Some(head) = head.filter(|_| listing.is_listed) {
        let stand_at = head.ordered_at.unwrap_or(head.activity_at);
        displace(txn, user, conversation, stand_at, listing.settings());
        place(txn, user, conversation, stand_at, settings);
    }
    txn.put_record(key, &ListingRecord::new(listing.is_listed, settings));
    Ok(settings)
}

/// Moves the rows of a hot conversation to where they belong.
pub(crate) fn settle(txn: &mut Txn<'_>, conversation: ConversationId) -> Result<(), StoreError> {
    let key = keys::head(conversation);
    let head: Option<HeadRecord> = txn.record(&key)?;
    if let Some(mut head) = head.filter(|head| head.ordered_at.is_some()) {
        settle_rows(txn, conversation, &mut head)?;
        txn.put_record(key, &head);
    }
    Ok(())
}

fn settle_rows(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    head: &mut HeadRecord,
) -> Result<(), StoreError> {
    let Some(stand_at) = head.ordered_at.take() else { return Ok(()) };
    let members = txn.all(&keys::members(conversation))?;
    let members = members.iter().map(|(key, _)| keys::last_id("members", key).map(UserId::new));
    let members = members.collect::<Result<Vec<_>, _>>()?;
    for (user, settings) in listed(txn, conversation, &members)? {
        displace(txn, user, conversation, stand_at, settings);
        place(txn, user, conversation, head.activity_at, settings);
        delist(txn, user, conversation)?;
    }
    Ok(())
}

/// Makes a conversation hot, if there is room for it.
fn heat(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    listed: &[(UserId, Settings)],
) -> Result<bool, StoreError> {
    let users: Vec<UserId> = listed.iter().map(|(user, _)| *user).collect();
    let is_hot = txn.may_heat() && enlist(txn, &users, conversation)?;
    if is_hot {
        txn.heat(conversation);
    }
    Ok(is_hot)
}

/// Puts a conversation into the hot lists of users, if it fits into all of them.
fn enlist(txn: &mut Txn<'_>, users: &[UserId], conversation: ConversationId) -> Result<bool, StoreError> {
    let mut lists = Vec::with_capacity(users.len());
    for user in users {
        let mut list: HotRecord = txn.record(&keys::hot(*user))?.unwrap_or_default();
        if list.0.len() >= HOT_PER_USER_MAX {
            return Ok(false);
        }
        list.0.push(conversation);
        lists.push((*user, list));
    }
    for (user, list) in lists {
        txn.put_record(keys::hot(user), &list);
    }
    Ok(true)
}

fn delist(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId) -> Result<(), StoreError> {
    let key = keys::hot(user);
    let mut list: HotRecord = txn.record(&key)?.unwrap_or_default();
    list.0.retain(|hot| *hot != conversation);
    if list.0.is_empty() {
        txn.remove(key);
    } else {
        txn.put_record(key, &list);
    }
    Ok(())
}

/// Those of the users in whose inbox the conversation is, with what decides on its section.
fn listed(
    txn: &Txn<'_>,
    conversation: ConversationId,
    users: &[UserId],
) -> Result<Vec<(UserId, Settings)>, StoreError> {
    let mut listed = Vec::with_capacity(users.len());
    for user in users {
        let listing: Option<ListingRecord> = txn.record(&keys::listing(*user, conversation))?;
        listed.extend(listing.filter(|listing| listing.is_listed).map(|listing| (*user, listing.settings())));
    }
    Ok(listed)
}

fn place(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, at: Timestamp, settings: Settings) {
    let key = keys::order(user, section(settings), ActivityPosition { at, conversation });
    txn.put_record(key, &OrderRecord { muted_until: settings.muted_until });
}

fn displace(
    txn: &mut Txn<'_>,
    user: UserId,
    conversation: ConversationId,
    at: Timestamp,
    settings: Settings,
) {
    txn.remove(keys::order(user, section(settings), ActivityPosition { at, conversation }));
}

const fn section(settings: Settings) -> Section {
    Section { archived: settings.archived, pinned: settings.pinned }
}
