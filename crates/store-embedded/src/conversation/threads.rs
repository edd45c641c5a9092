//! The replies of threads.

use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq};

use crate::engine::Direction;
use crate::keys;
use crate::read::Read;
use crate::records::{Record, SeqRecord};

pub(crate) fn after(
    store: &impl Read,
    id: ConversationId,
    root: Seq,
    after: u32,
    limit: usize,
) -> Result<Vec<Seq>, StoreError> {
    let rows = store.page(&keys::replies_after(id, root, after), Direction::Forward, limit)?;
    rows.iter().map(|(key, value)| Ok(SeqRecord::decode(key, value)?.0)).collect()
}
