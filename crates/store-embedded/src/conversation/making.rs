//! Makes conversations, which may be unique for a pair or a key.

use godwit_domain::model::Conversation;
use godwit_domain::ports::{Append, Made, NewConversation, StoreError};
use godwit_protocol::{ConversationId, Seq};

use super::append::PreparedAppend;
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{ConversationIdRecord, ConversationRecord, Standing};
use crate::txn::Txn;

/// A new conversation with encoded rows.
pub(crate) struct PreparedConversation {
    conversation: Conversation,
    first: PreparedAppend,
}

impl PreparedConversation {
    pub(crate) fn new(new: NewConversation) -> Self {
        let NewConversation { conversation, created, effects } = new;
        let expected_head = Seq::ZERO;
        let append = Append { conversation: conversation.id, expected_head, entries: vec![created], effects };
        Self { conversation, first: PreparedAppend::new(&append) }
    }

    /// Makes the conversation, unless it exists or `unique` already leads to another one.
    pub(crate) fn run(self, txn: &mut Txn<'_>, unique: Option<Key>) -> Result<Made, StoreError> {
        let id = self.conversation.id;
        if let Some(key) = &unique
            && let Some(ConversationIdRecord(id)) = txn.record(key)?
        {
            return Ok(Made { id, made: None });
        }
        if txn.contains(&keys::conversation(id))? {
            return Ok(Made { id, made: None });
        }
        if let Some(key) = unique {
            txn.put_record(key, &ConversationIdRecord(id));
        }
        txn.put_record(keys::conversation(id), &ConversationRecord::from(&self.conversation));
        let activity_at = self.first.head.activity_at().unwrap_or(self.conversation.created_at);
        let notes = self.first.write(txn, Standing::new(activity_at))?;
        Ok(Made { id, made: Some(notes) })
    }
}

/// The conversation that a pair, a key or an invite leads to.
pub(crate) fn conversation_at(store: &impl Read, key: &Key) -> Result<Option<ConversationId>, StoreError> {
    let record: Option<ConversationIdRecord> = store.record(key)?;
    Ok(record.map(|ConversationIdRecord(id)| id))
}
