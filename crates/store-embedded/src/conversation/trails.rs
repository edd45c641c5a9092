//! Trails: cursors with the times of all their moves, including those of former members.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use godwit_domain::ports::{StoreError, Trail};
use godwit_protocol::{ConversationId, UserId};

use crate::engine::{Direction, View};
use crate::inbox::changes;
use crate::keys::{self, Mark};
use crate::read::Read;
use crate::records::{CursorRecord, MoveRecord, Record};
use crate::txn::Txn;

/// The trails of users after `after`.
pub(crate) fn after(
    view: &View,
    id: ConversationId,
    after: Option<UserId>,
    limit: usize,
) -> Result<Vec<Trail>, StoreError> {
    let mut trails = moved_after(view, id, after, limit)?;
    for (key, value) in view.page(&keys::cursors_after(id, after), Direction::Forward, limit)? {
        let user = UserId::new(keys::last_id(CursorRecord::TABLE, &key)?);
        let trail = trails.entry(user).or_insert_with(|| empty(user));
        (trail.cursor, trail.moved_at) = CursorRecord::decode(&key, &value)?.into_cursor();
    }
    // Both lists are complete up to their `limit`-th user, so the first `limit` users of the two together are
    // complete.
    Ok(trails.into_values().take(limit).collect())
}

/// The moves of the first `limit` users who have any.
fn moved_after(
    view: &View,
    id: ConversationId,
    after: Option<UserId>,
    limit: usize,
) -> Result<BTreeMap<UserId, Trail>, StoreError> {
    let mut trails = BTreeMap::new();
    view.visit(&keys::moves_after(id, after), Direction::Forward, |key, value| {
        let (user, mark, seq) = keys::decode_move(key)?;
        if trails.len() == limit && !trails.contains_key(&user) {
            return Ok(ControlFlow::Break(()));
        }
        let trail = trails.entry(user).or_insert_with(|| empty(user));
        let moves = match mark {
            Mark::Delivered => &mut trail.delivered,
            Mark::Read => &mut trail.read,
        };
        let MoveRecord(at) = MoveRecord::decode(key, value)?;
        moves.push((seq, at));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(trails)
}

/// Merges trails into the existing ones.
pub(crate) fn put(txn: &mut Txn<'_>, id: ConversationId, trails: &[Trail]) -> Result<(), StoreError> {
    for trail in trails {
        let key = keys::cursor(id, trail.user_id);
        let record: Option<CursorRecord> = txn.record(&key)?;
        let (before, moved_at) = record.map_or_else(Default::default, CursorRecord::into_cursor);
        let after = before.advanced_by(trail.cursor);
        if (after, moved_at.max(trail.moved_at)) != (before, moved_at) {
            txn.put_record(key, &CursorRecord::new(after, moved_at.max(trail.moved_at)));
            changes::touch_all(txn, id, trail.moved_at)?;
        }
        for (mark, moves) in [(Mark::Delivered, &trail.delivered), (Mark::Read, &trail.read)] {
            for (seq, at) in moves {
                txn.put_record(keys::cursor_move(id, trail.user_id, mark, *seq), &MoveRecord(*at));
            }
        }
    }
    Ok(())
}

fn empty(user_id: UserId) -> Trail {
    let (cursor, moved_at) = Default::default();
    Trail { user_id, cursor, moved_at, delivered: Vec::new(), read: Vec::new() }
}
