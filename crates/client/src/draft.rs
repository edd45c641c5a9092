//! A message to send.

use godwit_protocol::messages::{Media, MessageKind, SendMessage};
use godwit_protocol::{ConversationId, MessageId};

/// A message to send. It gets a random client id unless one is set.
#[derive(Debug, Clone)]
pub struct Draft(SendMessage);

impl Draft {
    pub fn text(text: impl Into<String>) -> Self {
        let mut draft = Self::empty(Some(MessageKind::Text));
        draft.0.text = Some(text.into());
        draft
    }

    /// An image, a file or a recording, depending on `kind`.
    pub fn media(kind: MessageKind, media: Media) -> Self {
        let mut draft = Self::empty(Some(kind));
        draft.0.media = Some(Box::new(media));
        draft
    }

    /// An event, such as `app.call.ended`.
    pub fn event(event: impl Into<String>) -> Self {
        let mut draft = Self::empty(Some(MessageKind::System));
        draft.0.event = Some(event.into());
        draft
    }

    /// A forward of another message. The server copies its body.
    pub fn forward(message: MessageId) -> Self {
        let mut draft = Self::empty(None);
        draft.0.forwarded_from = Some(message);
        draft
    }

    /// Sets the data of an event.
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

    /// Sets the idempotency key. A second send with the same client id returns the first message.
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

/// The message in the format of the socket command, which names the conversation.
pub(crate) fn addressed(conversation: ConversationId, message: impl Into<SendMessage>) -> SendMessage {
    SendMessage { conversation_id: Some(conversation), ..message.into() }
}

/// 128 random bits, so that collisions do not occur.
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
