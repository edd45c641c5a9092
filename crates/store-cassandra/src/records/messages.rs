//! Messages and drafts.

use godwit_domain::model::{
    ClientId, Draft, Forwarded, Media, Mentions, Message, MessageBody, Reply, Target,
};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::is_false;

/// A message without the values in other columns of its row: id, sender and client id.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredMessage {
    #[serde(flatten)]
    body: StoredBody,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<StoredReply>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forwarded_from: Option<StoredForward>,
    #[serde(default, skip_serializing_if = "StoredMentions::is_empty")]
    mentions: StoredMentions,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum StoredBody {
    Text {
        text: Box<str>,
    },
    Image {
        media: StoredMedia,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<Box<str>>,
    },
    File {
        media: StoredMedia,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<Box<str>>,
    },
    Voice {
        media: StoredMedia,
    },
    System {
        event: Box<str>,
        /// JSON within JSON, so that it is returned unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Box<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Box<str>>,
    },
    Erased {
        was: MessageKind,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredMedia {
    url: Box<str>,
    content_type: Box<str>,
    size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct StoredReply {
    to: StoredTarget,
    root: StoredTarget,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct StoredTarget {
    id: MessageId,
    seq: Seq,
}

#[derive(Serialize, Deserialize, Default)]
pub(crate) struct StoredMentions {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    users: Vec<UserId>,
    #[serde(default, skip_serializing_if = "is_false")]
    all: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredForward {
    message_id: MessageId,
    sender_id: UserId,
}

/// A message that has not been sent yet.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredDraft {
    client_id: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<StoredBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forwarded_from: Option<MessageId>,
}

impl StoredMessage {
    pub(crate) fn into_message(self, id: MessageId, sender_id: UserId, client_id: ClientId) -> Message {
        Message {
            id,
            sender_id,
            client_id,
            body: self.body.into(),
            reply: self.reply.map(|reply| Reply { to: reply.to.into(), root: reply.root.into() }),
            forwarded_from: self
                .forwarded_from
                .map(|from| Forwarded { message_id: from.message_id, sender_id: from.sender_id }),
            mentions: self.mentions.into(),
            expires_at: self.expires_at,
        }
    }
}

impl From<&Message> for StoredMessage {
    fn from(message: &Message) -> Self {
        Self {
            body: StoredBody::from(&message.body),
            reply: message.reply.map(|reply| StoredReply { to: reply.to.into(), root: reply.root.into() }),
            forwarded_from: message
                .forwarded_from
                .map(|from| StoredForward { message_id: from.message_id, sender_id: from.sender_id }),
            mentions: StoredMentions::from(&message.mentions),
            expires_at: message.expires_at,
        }
    }
}

impl From<&Draft> for StoredDraft {
    fn from(draft: &Draft) -> Self {
        Self {
            client_id: draft.client_id.as_str().into(),
            body: draft.body.as_ref().map(StoredBody::from),
            reply_to: draft.reply_to,
            forwarded_from: draft.forwarded_from,
        }
    }
}

impl From<StoredDraft> for Draft {
    fn from(stored: StoredDraft) -> Self {
        Self {
            client_id: ClientId::from_stored(stored.client_id),
            body: stored.body.map(Into::into),
            reply_to: stored.reply_to,
            forwarded_from: stored.forwarded_from,
        }
    }
}

impl StoredMentions {
    const fn is_empty(&self) -> bool {
        self.users.is_empty() && !self.all
    }
}

impl From<&Mentions> for StoredMentions {
    fn from(mentions: &Mentions) -> Self {
        Self { users: mentions.users.clone(), all: mentions.all }
    }
}

impl From<StoredMentions> for Mentions {
    fn from(StoredMentions { users, all }: StoredMentions) -> Self {
        Self { users, all }
    }
}

impl From<Target> for StoredTarget {
    fn from(Target { id, seq }: Target) -> Self {
        Self { id, seq }
    }
}

impl From<StoredTarget> for Target {
    fn from(StoredTarget { id, seq }: StoredTarget) -> Self {
        Self { id, seq }
    }
}

impl From<&MessageBody> for StoredBody {
    fn from(body: &MessageBody) -> Self {
        match body.clone() {
            MessageBody::Text(text) => Self::Text { text },
            MessageBody::Image { media, caption } => Self::Image { media: media.into(), caption },
            MessageBody::File { media, caption } => Self::File { media: media.into(), caption },
            MessageBody::Voice { media } => Self::Voice { media: media.into() },
            MessageBody::System { event, data, text } => Self::System { event, data, text },
            MessageBody::Erased(was) => Self::Erased { was },
        }
    }
}

impl From<StoredBody> for MessageBody {
    fn from(body: StoredBody) -> Self {
        match body {
            StoredBody::Text { text } => Self::Text(text),
            StoredBody::Image { media, caption } => Self::Image { media: media.into(), caption },
            StoredBody::File { media, caption } => Self::File { media: media.into(), caption },
            StoredBody::Voice { media } => Self::Voice { media: media.into() },
            StoredBody::System { event, data, text } => Self::System { event, data, text },
            StoredBody::Erased { was } => Self::Erased(was),
        }
    }
}

impl From<Box<Media>> for StoredMedia {
    fn from(media: Box<Media>) -> Self {
        let Media { url, content_type, size_bytes, name, width, height, duration_ms } = *media;
        Self { url, content_type, size_bytes, name, width, height, duration_ms }
    }
}

impl From<StoredMedia> for Box<Media> {
    fn from(media: StoredMedia) -> Self {
        let StoredMedia { url, content_type, size_bytes, name, width, height, duration_ms } = media;
        Self::new(Media { url, content_type, size_bytes, name, width, height, duration_ms })
    }
}
