//! Taking content out of the log.

use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq};

use crate::keys;
use crate::read::Read;
use crate::records::EntryRecord;
use crate::txn::Txn;

/// Overwrites messages with what is left of them when their content is gone, and edits likewise.
///
/// No read finds the content again. The bytes of the earlier row stay in the files of the engine until it merges them.
pub(crate) fn erase(txn: &mut Txn<'_>, id: ConversationId, seqs: &[Seq]) -> Result<(), StoreError> {
    for seq in seqs {
        for (key, shown) in [(keys::shown(id, *seq), true), (keys::other(id, *seq), false)] {
            let entry: Option<EntryRecord> = txn.record(&key)?;
            if let Some(entry) = entry {
                let mut entry = entry.into_entry(*seq, shown);
                entry.change.erase();
                txn.put_record(key, &EntryRecord::from(entry));
                break;
            }
        }
    }
    Ok(())
}
