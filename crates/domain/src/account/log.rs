//! The account log, which is compacted by subject and bounded.

use godwit_protocol::limits::ACCOUNT_LOG_ENTRIES_MAX;

use super::{Account, Noted};
use crate::model::{AccountEntry, AccountNote};

/// Adds an entry and removes the previous one about the same subject. If there is none and the log is full, the oldest entry
/// is dropped.
pub fn note<A: Account>(account: &mut A, note: &AccountNote) -> Result<Noted, A::Stop> {
    let mut head = account.log_head()?;
    let replaced = account.entry_about(note.change.subject())?;
    head.last += 1;
    let mut dropped = None;
    if replaced.is_none() {
        if head.count >= ACCOUNT_LOG_ENTRIES_MAX as u64 {
            dropped = account.oldest_entry()?;
        }
        match &dropped {
            Some(oldest) => head.floor = oldest.seq,
            None => head.count += 1,
        }
    }
    let entry = AccountEntry { seq: head.last, at: note.at, change: note.change };
    Ok(Noted { entry, replaced, dropped, head })
}
