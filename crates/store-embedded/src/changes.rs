//! The order of change: what somebody who comes back has to hear of although it is no activity.
//!
//! A row per listed conversation and member (tag 65 of `keys.rs`) stands at the time of its last change that is neither a
//! message nor anything else that is shown, rounded up by [`change_time`]. Within a minute the rows stay where they are, so
//! that reactions and read marks cost nothing however many there are; in a later minute all of them move. The head says
//! where they stand. A message writes nothing here: that is what the order of the inbox is for, and a page takes both.
//!
//! What always holds: who has a conversation in the order of the inbox has a row of it here, at `changed_at` of its head,
//! unless nothing of the kind ever happened.

use std::cmp::Reverse;

use godwit_domain::model::FanOut;
use godwit_domain::ports::{ActivityPosition, ChangedRow, StoreError, change_time};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use crate::engine::Direction;
use crate::keys;
use crate::read::Read;
use crate::records::{DetailsRecord, HeadRecord, Standing, present};
use crate::txn::Txn;
use crate::{inbox, listing, order};

/// Something changed in a conversation, whose members these are.
pub(crate) fn touch(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    standing: &mut Standing,
    at: Timestamp,
    members: &[UserId],
) -> Result<(), StoreError> {
    let changed_at = change_time(at);
    if changed_at <= standing.changed_at {
        return Ok(());
    }
    let rows = order::rows_of(txn, conversation, members)?;
    for (user, _) in &rows {
        leave(txn, *user, conversation, standing);
    }
    standing.changed_at = changed_at;
    for (user, _) in rows {
        enter(txn, user, conversation, standing);
    }
    Ok(())
}

/// The same where the caller has neither its head nor its members.
pub(crate) fn touch_all(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let key = keys::head(conversation);
    let head: Option<HeadRecord> = txn.record(&key)?;
    let Some(mut head) = head.filter(|head| head.standing.changed_at < change_time(at)) else {
        return Ok(());
    };
    let details: Option<DetailsRecord> = txn.record(&keys::details(conversation))?;
    // The members of a large one have no rows, and are many.
    let members = match details.map(|details| details.fan_out()) {
        Some(FanOut::OnWrite) => txn.all(&keys::members_after(conversation, None))?,
        _ => Vec::new(),
    };
    let members = members.iter().map(|(key, _)| keys::last_id("members", key).map(UserId::new));
    touch(txn, conversation, &mut head.standing, at, &members.collect::<Result<Vec<_>, _>>()?)?;
    txn.put_record(key, &head);
    Ok(())
}

/// The conversation comes into the inbox of a user.
pub(crate) fn enter(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, standing: &Standing) {
    if let Some(key) = row(user, conversation, standing) {
        txn.put(key, present());
    }
}

/// The conversation leaves the inbox of a user.
pub(crate) fn leave(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, standing: &Standing) {
    if let Some(key) = row(user, conversation, standing) {
        txn.remove(key);
    }
}

/// A page of the conversations that changed, each at the later of its activity and its last other change.
pub(crate) fn page(
    store: &impl Read,
    user: UserId,
    floor: Timestamp,
    mut after: Option<ActivityPosition>,
    limit: usize,
) -> Result<Vec<ChangedRow>, StoreError> {
    let mut page = Vec::new();
    while page.len() < limit {
        let mut positions = inbox::active(store, user, floor, after, limit)?;
        let mut is_last = positions.len() < limit;
        let changes = store.page(&keys::changes_after(user, after, floor), Direction::Forward, limit)?;
        is_last &= changes.len() < limit;
        for (key, _) in &changes {
            positions.push(keys::decode_order(key)?);
        }
        positions.sort_unstable_by_key(|position| Reverse(*position));
        positions.dedup();
        // Beyond these one of the two may have more.
        positions.truncate(if is_last { positions.len() } else { limit });
        after = positions.last().copied().or(after);
        for position in positions {
            if page.len() < limit && latest(store, position.conversation)? == Some(position.at) {
                let ActivityPosition { at: changed_at, conversation } = position;
                let settings = listing::of(store, user, conversation)?.into_settings();
                page.push(ChangedRow { conversation, settings, changed_at });
            }
        }
        if is_last {
            break;
        }
    }
    Ok(page)
}

/// When a conversation last changed, by what it says itself.
fn latest(store: &impl Read, conversation: ConversationId) -> Result<Option<Timestamp>, StoreError> {
    let head: Option<HeadRecord> = store.record(&keys::head(conversation))?;
    Ok(head.map(|head| head.standing.activity_at.max(head.standing.changed_at)))
}

fn row(user: UserId, conversation: ConversationId, standing: &Standing) -> Option<keys::Key> {
    let at = standing.changed_at;
    (at > Timestamp::default()).then(|| keys::change(user, ActivityPosition { at, conversation }))
}
