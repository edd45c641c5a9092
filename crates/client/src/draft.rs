//! A message that is about to be sent.

use godwit_protocol::messages::{Media, MessageKind, SendMessage};
use godwit_protocol::{ConversationId, MessageId};

/// A message that is about to be sent. It gets a random client id unless one is given.
#[derive(Debug, Clone)]
pub struct Draft(SendMessage);

impl Draft {
    pub fn text(text: impl Into<String>) -> Self {
        let mut draft = Self::empty(Some(MessageKind::Text));
        draft.0.text = Some(text.into());
        draft
    }

    /// An image, a file or a recording, as `kind` says.
    pub fn media(kind: MessageKind, media: Media) -> Self {
        let mut draft = Self::empty(Some(kind));
        draft.0.media = Some(Box::new(media));
        draft
    }

    /// Something that happened, such as `app.call.ended`.
    pub fn event(event: impl Into<String>) -> Self {
        let mut draft = Self::empty(Some(MessageKind::System));
        draft.0.event = Some(event.into());
        draft
    }

    /// What another message says: the server copies it when it is sent.
    pub fn forward(message: MessageId) -> Self {
        let mut draft = Self::empty(None);
        draft.0.forwarded_from = Some(message);
        draft
    }

    /// What an event is about.
    #[must_use]
    pub fn data(mut self, data: serde_json::Value) -> Self {
        self.0.data = Some(data);
        self
    }

    #[must_use]
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.0.text = Some(text.into());
        self
    }

    /// Sending the same client id again gives back the message that was sent first.
    #[must_use]
    pub fn client_id(mut self, client_id: impl Into<String>) -> Self {
        self.0.client_id = client_id.into();
        self
    }

    #[must_use]
    pub fn reply_to(mut self, message: MessageId) -> Self {
        self.0.reply_to = Some(message);
        self
    }

    fn empty(kind: Option<MessageKind>) -> Self {
        Self(SendMessage {
            conversation_id: None,
            client_id: random_client_id(),
            kind,
            text: None,
            media: None,
            event: None,
            data: None,
            reply_to: None,
            forwarded_from: None,
        })
    }
}

impl From<Draft> for SendMessage {
    fn from(draft: Draft) -> Self {
        draft.0
    }
}

/// The message as the socket takes it: it names the conversation.
pub(crate) fn addressed(conversation: ConversationId, message: impl Into<SendMessage>) -> SendMessage {
    SendMessage { conversation_id: Some(conversation), ..message.into() }
}

/// 128 random bits: two of them never meet in one conversation.
fn random_client_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

#[cfg(test)]
mod tests {
    use godwit_protocol::limits::CLIENT_ID_BYTES_MAX;

    use super::*;

    #[test]
    fn a_draft_has_a_client_id_of_its_own() {
        let [one, two] = ["a", "b"].map(|text| SendMessage::from(Draft::text(text)));
        assert_ne!(one.client_id, two.client_id);
        assert!(one.client_id.len() <= CLIENT_ID_BYTES_MAX);
        let named = SendMessage::from(Draft::text("c").client_id("mine"));
        assert_eq!(named.client_id, "mine");
    }
}
