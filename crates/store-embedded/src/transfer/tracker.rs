//! What a move from this store means for its writes.
//!
//! While it is under way, every write leaves a mark at each part that it changes, in the same transaction. Whoever moves
//! takes some parts, copies them, and settles them. A mark says in which *round* its part was last changed, and each
//! time that parts are taken a new round begins: so a part that changed after it was taken has a higher number than
//! those that are settled, and stays. The number is stored with the state of the move, before anybody is told of the round
//! that ended: no later run marks with a number of a round that has ended.
//!
//! Towards the end writes are refused. All of this is decided on the committer's thread, between one write and the next.

use std::collections::BTreeSet;

use godwit_domain::ports::{Changed, Moving, Part, StoreError};
use thiserror::Error;

use crate::engine::Direction;
use crate::keys::{self, Key, RowOf};
use crate::read::Read;
use crate::records::{DeviceRecord, MovingRecord, Record, RoundRecord};
use crate::txn::Txn;

/// Marks that one transaction removes, so that no other write waits long for it.
pub(crate) const FORGOTTEN_AT_ONCE_MAX: usize = 1_000;

/// What is known of a move, as it is stored.
#[derive(Debug)]
pub(crate) struct Tracker {
    pub(crate) moving: Moving,
    round: u64,
}

/// Why a write is not made.
#[derive(Debug, Error)]
#[error("the data {0}")]
pub(crate) struct Refused(Moving);

impl Tracker {
    pub(crate) fn read(store: &impl Read) -> Result<Self, StoreError> {
        let record: Option<MovingRecord> = store.record(&keys::moving())?;
        Ok(match record {
            Some(record) => Self { round: record.round, moving: record.into_moving() },
            None => Self { moving: Moving::Not, round: 0 },
        })
    }

    /// Whether nothing will ever be written here again.
    pub(crate) const fn is_gone(&self) -> bool {
        matches!(self.moving, Moving::Gone { .. })
    }

    /// Why no writes are made now, if that is so.
    pub(crate) fn refusal(&self) -> Option<Refused> {
        match &self.moving {
            Moving::Held { .. } | Moving::Gone { .. } => Some(Refused(self.moving.clone())),
            Moving::Not | Moving::Out { .. } | Moving::In { .. } => None,
        }
    }

    /// Leaves a mark at each part that a write has changed.
    pub(crate) fn mark(&self, txn: &mut Txn<'_>) -> Result<(), StoreError> {
        if !matches!(self.moving, Moving::Out { .. }) {
            return Ok(());
        }
        for part in changed_parts(txn)? {
            txn.put_record(keys::changed(&part), &RoundRecord(self.round));
        }
        Ok(())
    }

    fn write(self, txn: &mut Txn<'_>) {
        txn.put_record(keys::moving(), &MovingRecord::new(self.moving, self.round));
    }
}

/// Changes what is known, if it is `from`. Gives back what it is now.
pub(super) fn set(txn: &mut Txn<'_>, from: &Moving, to: Moving) -> Result<Moving, StoreError> {
    let Tracker { moving, round } = Tracker::read(txn)?;
    if moving != *from {
        return Ok(moving);
    }
    Tracker { moving: to.clone(), round }.write(txn);
    Ok(to)
}

/// Parts that have changed. Those that change from here on are of another round.
pub(super) fn changed(txn: &mut Txn<'_>, limit: usize) -> Result<Changed, StoreError> {
    let Tracker { moving, round } = Tracker::read(txn)?;
    let rows = txn.page(&keys::all_changed(), Direction::Forward, limit)?;
    let parts = rows.iter().map(|(key, _)| keys::decode_changed(key)).collect::<Result<_, _>>()?;
    Tracker { moving, round: round + 1 }.write(txn);
    Ok(Changed { parts, round })
}

/// Removes the marks of parts, but for those that changed in a later round.
pub(super) fn settle(txn: &mut Txn<'_>, settled: &Changed) -> Result<(), StoreError> {
    for part in &settled.parts {
        let key = keys::changed(part);
        let mark: Option<RoundRecord> = txn.record(&key)?;
        if mark.is_some_and(|RoundRecord(round)| round <= settled.round) {
            txn.remove(key);
        }
    }
    Ok(())
}

/// Removes marks that nobody will ask for. Whether that were the last.
pub(super) fn forget_some(txn: &mut Txn<'_>) -> Result<bool, StoreError> {
    if Tracker::read(txn)?.moving != Moving::Not {
        // Another move has begun meanwhile. What is left is copied once more, which does no harm.
        return Ok(true);
    }
    let range = keys::all_changed();
    let rows = txn.page(&range, Direction::Forward, FORGOTTEN_AT_ONCE_MAX)?;
    let is_last = rows.len() < FORGOTTEN_AT_ONCE_MAX;
    for (bytes, _) in rows {
        txn.remove(Key { table: range.table, bytes });
    }
    Ok(is_last)
}

fn changed_parts(txn: &Txn<'_>) -> Result<BTreeSet<Part>, StoreError> {
    let mut parts = BTreeSet::new();
    for (key, value) in txn.written() {
        match (keys::part_of(key)?, value) {
            (RowOf::Part(part), _) => _ = parts.insert(part),
            (RowOf::Device, Some(value)) => {
                let device = DeviceRecord::decode(&key.bytes, value)?;
                parts.insert(Part::Account(device.user_id()));
            }
            (RowOf::Device, None) | (RowOf::Nothing, _) => {}
        }
    }
    Ok(parts)
}
