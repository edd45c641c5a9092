//! What users have deleted only for themselves: the entry through which a conversation is cleared, and hidden
//! messages.

use godwit_domain::model::Concealed;
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, UserId};

use crate::keys;
use crate::read::Read;
use crate::records::ConcealedRecord;
use crate::txn::Txn;

/// What a user has deleted for themselves in a conversation.
pub(crate) fn of(store: &impl Read, id: ConversationId, user: UserId) -> Result<Concealed, StoreError> {
    let record: Option<ConcealedRecord> = store.record(&keys::concealed(id, user))?;
    Ok(record.map(Concealed::from).unwrap_or_default())
}

/// Conceals more. Concealed messages never become visible again.
pub(crate) fn conceal(
    txn: &mut Txn<'_>,
    id: ConversationId,
    user: UserId,
    more: Concealed,
) -> Result<(), StoreError> {
    let before = of(txn, id, user)?;
    if before.and(more) != before {
        txn.put_record(keys::concealed(id, user), &ConcealedRecord::from(&before.and(more)));
    }
    Ok(())
}
