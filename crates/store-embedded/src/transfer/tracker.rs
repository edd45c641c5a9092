//! The effect of a transfer from this store on its writes.
//!
//! While a transfer runs, every write marks each part that it changes, in the same transaction. The
//! transferring task takes some changed parts, copies them, and settles them. A mark contains the *round* in
//! which its part last changed, and each time parts are taken a new round begins. So a part that changes after
//! it was taken has a higher round than the settled one, and its mark stays. The round is stored with the state
//! of the transfer before the taken parts are returned, so no later write marks with a round that has ended.
//!
//! Toward the end of a transfer writes are refused. All this is decided on the committer's thread, between two
//! writes.

use std::collections::BTreeSet;

use godwit_domain::ports::{Changed, Part, StoreError, TransferState};
use thiserror::Error;

use crate::engine::Direction;
use crate::keys::{self, Key, RowOf};
use crate::read::Read;
use crate::records::{DeviceRecord, Record, RoundRecord, TransferRecord};
use crate::txn::Txn;

/// Marks removed by one transaction, so that no other write waits long for it.
pub(crate) const FORGOTTEN_AT_ONCE_MAX: usize = 1_000;

/// The state of a transfer, as stored.
#[derive(Debug)]
pub(crate) struct Tracker {
    pub(crate) transfer: TransferState,
    round: u64,
}

/// Why a write is refused.
#[derive(Debug, Error)]
#[error("the data {0}")]
pub(crate) struct Refused(TransferState);

impl Tracker {
    pub(crate) fn read(store: &impl Read) -> Result<Self, StoreError> {
        let record: Option<TransferRecord> = store.record(&keys::transfer())?;
        Ok(match record {
            Some(record) => Self { round: record.round, transfer: record.into_state() },
            None => Self { transfer: TransferState::Not, round: 0 },
        })
    }

    /// Whether the store will never accept a write again.
    pub(crate) const fn is_gone(&self) -> bool {
        matches!(self.transfer, TransferState::Gone { .. })
    }

    /// Why writes are refused now, if they are.
    pub(crate) fn refusal(&self) -> Option<Refused> {
        match &self.transfer {
            TransferState::Held { .. } | TransferState::Gone { .. } => Some(Refused(self.transfer.clone())),
            TransferState::Not | TransferState::Out { .. } | TransferState::In { .. } => None,
        }
    }

    /// Marks each part that a write has changed.
    pub(crate) fn mark(&self, txn: &mut Txn<'_>) -> Result<(), StoreError> {
        if !matches!(self.transfer, TransferState::Out { .. }) {
            return Ok(());
        }
        for part in changed_parts(txn)? {
            txn.put_record(keys::changed(&part), &RoundRecord(self.round));
        }
        Ok(())
    }

    fn write(self, txn: &mut Txn<'_>) {
        txn.put_record(keys::transfer(), &TransferRecord::new(&self.transfer, self.round));
    }
}

/// Changes the state if it is `from`. Returns the state after that.
pub(crate) fn set(
    txn: &mut Txn<'_>,
    from: &TransferState,
    to: TransferState,
) -> Result<TransferState, StoreError> {
    let Tracker { transfer, round } = Tracker::read(txn)?;
    if transfer != *from {
        return Ok(transfer);
    }
    Tracker { transfer: to.clone(), round }.write(txn);
    Ok(to)
}

/// Takes changed parts. Later changes belong to the next round.
pub(crate) fn changed(txn: &mut Txn<'_>, limit: usize) -> Result<Changed, StoreError> {
    let Tracker { transfer, round } = Tracker::read(txn)?;
    let rows = txn.page(&keys::all_changed(), Direction::Forward, limit)?;
    let parts = rows.iter().map(|(key, _)| keys::decode_changed(key)).collect::<Result<_, _>>()?;
    Tracker { transfer, round: round + 1 }.write(txn);
    Ok(Changed { parts, round })
}

/// Removes the marks of copied parts, except those of parts that changed in a later round.
pub(crate) fn settle(txn: &mut Txn<'_>, settled: &Changed) -> Result<(), StoreError> {
    for part in &settled.parts {
        let key = keys::changed(part);
        let mark: Option<RoundRecord> = txn.record(&key)?;
        if mark.is_some_and(|RoundRecord(round)| round <= settled.round) {
            txn.remove(key);
        }
    }
    Ok(())
}

/// Removes marks that are no longer needed. Returns whether they were the last.
pub(crate) fn forget_some(txn: &mut Txn<'_>) -> Result<bool, StoreError> {
    if Tracker::read(txn)?.transfer != TransferState::Not {
        // Another transfer has begun meanwhile. It copies the parts of the remaining marks once more, which
        // does no harm.
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
                parts.insert(Part::Account(device.user_id));
            }
            (RowOf::Device, None) | (RowOf::Nothing, _) => {}
        }
    }
    Ok(parts)
}
