//! Erases the content of entries.

use godwit_domain::model::Entry;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq};

use super::chunks;
use crate::keys;
use crate::records::ChunkRecord;
use crate::txn::Txn;

/// Overwrites deleted messages, and their edits, with what remains without the content.
///
/// No read returns the content again. Its bytes stay in the engine's files until compaction.
pub(crate) fn erase(txn: &mut Txn<'_>, id: ConversationId, seqs: &[Seq]) -> Result<(), StoreError> {
    for seq in seqs {
        let Some(mut entries) = chunks::with(txn, id, *seq)? else { continue };
        let Some(last) = entries.last().map(|last| (last.seq, last.shown)) else { continue };
        let erased = entries.iter_mut().filter(|entry| entry.seq == *seq);
        erased.for_each(|entry: &mut Entry| entry.change.erase());
        txn.put_record(keys::chunk(id, last.1, last.0), &ChunkRecord::new(&entries, last.0));
    }
    Ok(())
}
