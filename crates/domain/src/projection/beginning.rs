//! Conversations that are about to be made.

use std::sync::Arc;

use godwit_protocol::{ConversationId, MessageId};

use super::fold::Fold;
use crate::model::{Change, Conversation, ConversationState, Created, Details, Head, Kind};
use crate::ports::{NewConversation, StoreError};
use crate::snowflake::IdGenerator;

/// A conversation with its first entry and what follows from it.
pub fn beginning(ids: &IdGenerator, kind: Kind, created: Created) -> Result<NewConversation, StoreError> {
    let id = ConversationId::new(ids.next()?);
    let entry_id = ids.next()?;
    let created_at = MessageId::new(entry_id).timestamp();
    let state = ConversationState {
        conversation: Conversation { id, kind, created_by: created.by, created_at },
        details: Arc::new(Details::new(created_at, created.permissions)),
        head: Head::empty(),
        members: Vec::new(),
    };
    let mut fold = Fold::new(&state);
    let created = fold.next_entry(entry_id, Change::Created(Box::new(created)));
    fold.apply(&created);
    let effects = fold.finish();
    Ok(NewConversation { conversation: state.conversation, created, effects })
}
