//! Pinned conversations: a bounded list, in the order that the user chooses.

use std::collections::BTreeMap;

use godwit_protocol::ConversationId;
use godwit_protocol::limits::PINNED_CONVERSATIONS_MAX;

use crate::model::{InvalidField, PinChange};

/// The pinned conversations of a user with their positions, the lowest first. Equals the pins of all [`Settings`], so that a
/// decision about one conversation need not read the others.
///
/// [`Settings`]: crate::model::Settings
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins(pub BTreeMap<ConversationId, i64>);

impl Pins {
    /// Changes the pin of one conversation. False if too many are pinned.
    pub(super) fn change(&mut self, conversation: ConversationId, change: PinChange) -> bool {
        let first = self.0.values().map(|position| position.saturating_sub(1)).min().unwrap_or(0);
        match change {
            PinChange::First if self.0.contains_key(&conversation) => {}
            PinChange::First if self.0.len() >= PINNED_CONVERSATIONS_MAX => return false,
            PinChange::First => drop(self.0.insert(conversation, first)),
            PinChange::Move(to) => {
                self.0.entry(conversation).and_modify(|position| *position = to);
            }
            PinChange::Put(at) => drop(self.0.insert(conversation, at)),
            PinChange::Remove => drop(self.0.remove(&conversation)),
        }
        true
    }

    /// Checks the length of an order of pinned conversations that a user asks for.
    pub(crate) fn check_order(order: &[ConversationId]) -> Result<(), InvalidField> {
        if order.len() > PINNED_CONVERSATIONS_MAX {
            let reason = format!("must have at most {PINNED_CONVERSATIONS_MAX} conversations");
            return Err(InvalidField::new("conversation_ids", reason));
        }
        Ok(())
    }
}
