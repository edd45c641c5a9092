//! The order of change, in which a returning client finds changes that are not activity.
//!
//! A listed conversation has a row per member (tag 65 of `keys`), at the time of the last change that is not
//! shown as an entry, rounded up by [`change_time`] to a minute. Within that minute the rows stay, so that any
//! number of reactions and read marks costs nothing; a change in a later minute moves all of them. The head
//! stores where the rows are. A message writes nothing here, because it moves the conversation in the order of
//! the inbox. A page merges both orders.
//!
//! Invariant: a member who has the conversation in the order of the inbox has a row here, at `changed_at` of
//! the head, unless no such change ever happened.

use std::cmp::Reverse;

use godwit_domain::model::FanOut;
use godwit_domain::ports::{ActivityPosition, ChangedRow, StoreError, change_time};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::{listing, order, page};
use crate::engine::Direction;
use crate::keys;
use crate::read::Read;
use crate::records::{DetailsRecord, HeadRecord, Standing, present};
use crate::txn::Txn;

/// Moves the rows of these members because the conversation has changed.
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

/// The same for a caller that has read neither the head nor the members.
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
    // Members of a large conversation have no rows, and are too many to read.
    let members = match details.map(|details| details.fan_out()) {
        Some(FanOut::OnWrite) => txn.all(&keys::members_after(conversation, None))?,
        _ => Vec::new(),
    };
    let members = members.iter().map(|(key, _)| keys::last_id("members", key).map(UserId::new));
    touch(txn, conversation, &mut head.standing, at, &members.collect::<Result<Vec<_>, _>>()?)?;
    txn.put_record(key, &head);
    Ok(())
}

/// Adds the row of a user whose inbox the conversation enters.
pub(crate) fn enter(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, standing: &Standing) {
    if let Some(key) = row(user, conversation, standing) {
        txn.put(key, present());
    }
}

/// Removes the row of a user whose inbox the conversation leaves.
pub(crate) fn leave(txn: &mut Txn<'_>, user: UserId, conversation: ConversationId, standing: &Standing) {
    if let Some(key) = row(user, conversation, standing) {
        txn.remove(key);
    }
}

/// A page of the changed conversations, each at the time of its activity or of its last other change, whichever
/// is later.
pub(crate) fn page(
    store: &impl Read,
    user: UserId,
    floor: Timestamp,
    mut after: Option<ActivityPosition>,
    limit: usize,
) -> Result<Vec<ChangedRow>, StoreError> {
    let mut page = Vec::new();
    while page.len() < limit {
        let mut positions = page::active(store, user, floor, after, limit)?;
        let mut is_last = positions.len() < limit;
        let changes = store.page(&keys::changes_after(user, after, floor), Direction::Forward, limit)?;
        is_last &= changes.len() < limit;
        for (key, _) in &changes {
            positions.push(keys::decode_order(key)?);
        }
        positions.sort_unstable_by_key(|position| Reverse(*position));
        positions.dedup();
        // Past these positions, one of the two lists may have more.
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

/// The time of the last change of a conversation, from its head.
fn latest(store: &impl Read, conversation: ConversationId) -> Result<Option<Timestamp>, StoreError> {
    let head: Option<HeadRecord> = store.record(&keys::head(conversation))?;
    Ok(head.map(|head| head.standing.activity_at.max(head.standing.changed_at)))
}

fn row(user: UserId, conversation: ConversationId, standing: &Standing) -> Option<keys::Key> {
    let at = standing.changed_at;
    (at > Timestamp::default()).then(|| keys::change(user, ActivityPosition { at, conversation }))
}
