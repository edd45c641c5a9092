//! Cursors, and the history of their moves.

use godwit_domain::model::{AccountEntry, Cursor};
use godwit_domain::ports::{CursorMove, ReceiptTimes, StoreError};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::history;
use crate::account;
use crate::engine::Direction;
use crate::inbox::changes;
use crate::keys::{self, Mark};
use crate::read::Read;
use crate::records::{CursorRecord, MoveRecord, Record};
use crate::txn::Txn;

/// Moves the cursors of members who received or read messages.
pub(crate) fn advance(
    txn: &mut Txn<'_>,
    moves: &[CursorMove],
) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
    let mut notes = Vec::new();
    for by in moves {
        let Some(advance) = advance_one(txn, by)? else { continue };
        for passed in advance.passed() {
            record(txn, by, &passed);
        }
        if let Some(note) = by.note(advance.before, advance.after) {
            notes.push((by.user_id, account::log::note(txn, note)?));
        }
        changes::touch_all(txn, by.conversation, by.at)?;
    }
    Ok(notes)
}

/// Moves the cursors of members who sent messages or joined. `old_head` is the head before the append, and
/// `appended` are its entries, with the senders of those that are messages.
///
/// Most of these moves pass only the sender's own messages, whose receipt times are known anyway. So the
/// history gets a row only for a move that passes other entries: a send normally writes none, and [`receipts`]
/// stays exact.
pub(crate) fn advance_senders(
    txn: &mut Txn<'_>,
    moves: &[CursorMove],
    old_head: Seq,
    appended: &[(Seq, Option<UserId>)],
) -> Result<(), StoreError> {
    for by in moves {
        let Some(advance) = advance_one(txn, by)? else { continue };
        for passed in advance.passed() {
            let is_other =
                |(seq, sender): &(Seq, Option<UserId>)| passed.contains(*seq) && *sender != Some(by.user_id);
            if passed.after < old_head || appended.iter().any(is_other) {
                record(txn, by, &passed);
            }
        }
    }
    Ok(())
}

/// When users received and read an entry: the times of the first moves that reached it.
pub(crate) fn receipts(
    store: &impl Read,
    id: ConversationId,
    seq: Seq,
    users: &[UserId],
) -> Result<Vec<ReceiptTimes>, StoreError> {
    let entry = history::entry(store, id, seq)?;
    let first = |user_id, mark| -> Result<Option<Timestamp>, StoreError> {
        let rows = store.page(&keys::moves_reaching(id, user_id, mark, seq), Direction::Forward, 1)?;
        rows.first().map(|(key, value)| MoveRecord::decode(key, value).map(|record| record.0)).transpose()
    };
    let times = |&user_id: &UserId| match ReceiptTimes::of_sender(user_id, entry.as_ref()) {
        Some(sent) => Ok(sent),
        None => Ok(ReceiptTimes {
            user_id,
            delivered_at: first(user_id, Mark::Delivered)?,
            read_at: first(user_id, Mark::Read)?,
        }),
    };
    users.iter().map(times).collect()
}

/// A cursor before and after a move.
struct Advance {
    before: Cursor,
    after: Cursor,
}

/// The entries that a mark has passed: those after `after` through `up_to`.
struct Passed {
    mark: Mark,
    after: Seq,
    up_to: Seq,
}

impl Advance {
    fn passed(&self) -> impl Iterator<Item = Passed> {
        let marks = [
            Passed { mark: Mark::Delivered, after: self.before.delivered, up_to: self.after.delivered },
            Passed { mark: Mark::Read, after: self.before.read, up_to: self.after.read },
        ];
        marks.into_iter().filter(|passed| passed.up_to > passed.after)
    }
}

impl Passed {
    fn contains(&self, seq: Seq) -> bool {
        self.after < seq && seq <= self.up_to
    }
}

/// `None` when the cursor is already there, or the user is not a member. A member whose cursor has never moved
/// has no cursor row.
fn advance_one(txn: &mut Txn<'_>, by: &CursorMove) -> Result<Option<Advance>, StoreError> {
    let key = keys::cursor(by.conversation, by.user_id);
    let record: Option<CursorRecord> = txn.record(&key)?;
    if record.is_none() && !txn.contains(&keys::member(by.conversation, by.user_id))? {
        return Ok(None);
    }
    let (before, moved_at) = record.map_or_else(Default::default, CursorRecord::into_cursor);
    let after = before.advanced_by(by.cursor);
    if after == before {
        return Ok(None);
    }
    txn.put_record(key, &CursorRecord::new(after, moved_at.max(by.at)));
    Ok(Some(Advance { before, after }))
}

fn record(txn: &mut Txn<'_>, by: &CursorMove, passed: &Passed) {
    let key = keys::cursor_move(by.conversation, by.user_id, passed.mark, passed.up_to);
    txn.put_record(key, &MoveRecord(by.at));
}
