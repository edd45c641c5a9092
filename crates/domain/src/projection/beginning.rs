//! New conversations: the first entry and its effects.

use std::sync::Arc;

use godwit_protocol::{ConversationId, MessageId};

use super::fold::Fold;
use crate::model::{Change, Conversation, ConversationState, Created, Details, Entry, Head, Kind};
use crate::ports::{NewConversation, StoreError};
use crate::snowflake::IdGenerator;

/// A new conversation with its first entry and the effects of that entry.
pub fn beginning(ids: &IdGenerator, kind: Kind, created: Created) -> Result<NewConversation, StoreError> {
    let id = ConversationId::new(ids.next()?);
    let entry_id = ids.next()?;
    let created_at = MessageId::new(entry_id).timestamp();
    let conversation = Conversation { id, kind, created_by: created.by, created_at };
    let state = empty(conversation, &created);
    let entry = Fold::new(&state).next_entry(entry_id, Change::Created(Box::new(created)));
    Ok(begun(state, entry))
}

/// A conversation that was created elsewhere, rebuilt from its first entry. `None` if `first` is not a creation.
pub fn beginning_again(conversation: Conversation, first: Entry) -> Option<NewConversation> {
    let Change::Created(created) = &first.change else { return None };
    let state = empty(conversation, created);
    Some(begun(state, first))
}

fn empty(conversation: Conversation, created: &Created) -> ConversationState {
    ConversationState {
        details: Arc::new(Details::new(conversation.created_at, created.permissions)),
        conversation,
        head: Head::empty(),
        members: Vec::new(),
    }
}

fn begun(state: ConversationState, created: Entry) -> NewConversation {
    let mut fold = Fold::new(&state);
    fold.apply(&created);
    let effects = fold.finish();
    NewConversation { conversation: state.conversation, created, effects }
}
