//! The state that an application stores in order to resume in another process.

use std::collections::BTreeMap;

use godwit_protocol::sync::AccountChange;
use godwit_protocol::{ConversationId, Seq};
use serde::{Deserialize, Serialize};

use super::update::Update;

/// The position of the application. It stores this as JSON, or in any other format of serde, and passes it to
/// [`LiveConfig::resume`](super::LiveConfig::resume).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumeState {
    /// The token for the next `sync`. Absent until the first one is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The newest entry of the account log that the application has taken.
    #[serde(default)]
    pub account_seq: u64,
    /// The newest entry of each conversation that the application has taken.
    #[serde(default)]
    pub seen: BTreeMap<ConversationId, Seq>,
}

impl ResumeState {
    /// The application has taken this update.
    pub(super) fn note(&mut self, update: &Update) {
        match update {
            Update::Entry(event) => {
                self.seen.insert(event.conversation_id, event.entry.seq);
            }
            Update::Reset { conversation_id, seq } => {
                self.seen.insert(*conversation_id, *seq);
            }
            Update::Gone(gone) => {
                self.seen.remove(&gone.conversation_id);
            }
            Update::Account(entry) => {
                self.account_seq = self.account_seq.max(entry.seq);
                if let AccountChange::ConversationGone { conversation_id, .. } = &entry.change {
                    self.seen.remove(conversation_id);
                }
            }
            Update::ResetAll => {
                self.token = None;
                self.seen.clear();
            }
            Update::Conversation(_)
            | Update::CaughtUp
            | Update::Cursor(_)
            | Update::Typing(_)
            | Update::Presence(_)
            | Update::UserUpdated(_)
            | Update::Connection(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_survives_json() {
        let mut state = ResumeState { token: Some("t".into()), account_seq: 4, ..ResumeState::default() };
        state.note(&Update::Reset { conversation_id: ConversationId::new(7), seq: Seq::new(9) });
        let json = serde_json::to_string(&state).unwrap();
        assert_eq!(json, r#"{"token":"t","account_seq":4,"seen":{"7":9}}"#);
        assert_eq!(serde_json::from_str::<ResumeState>(&json).unwrap(), state);
    }
}
