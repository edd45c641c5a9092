//! Taking content out of the log.

use godwit_domain::model::Entry;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq};

use crate::chunks;
use crate::keys;
use crate::records::ChunkRecord;
use crate::txn::Txn;

/// Overwrites messages with what is left of them when their content is gone, and edits likewise.
///
/// No read finds the content again. The bytes of the earlier row stay in the files of the engine until it merges them.
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
