//! How entries are written: what is asked for by itself in columns, the rest as JSON.

use godwit_domain::model::{Change, ClientId, Entry, Forwarded, LastMessage, Media, Message, MessageBody};
use godwit_domain::ports::StoreError;
use godwit_protocol::conversations::{ConversationKind, Role};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use scylla::DeserializeRow;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Whether an entry is a message: the first clustering column of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Message = 0,
    Other = 1,
}

/// A row of the log.
#[derive(Debug, DeserializeRow)]
pub(super) struct LogRow {
    pub(super) seq: i64,
    pub(super) id: i64,
    pub(super) ordinal: i64,
    pub(super) sender_id: Option<i64>,
    pub(super) client_id: Option<String>,
    pub(super) body: String,
    pub(super) list_for: Option<Vec<i64>>,
}

/// The columns of [`LogRow`].
pub(super) const LOG_COLUMNS: &str = "seq, id, ordinal, sender_id, client_id, body, list_for";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredChange {
    Created { by: UserId, kind: ConversationKind, member_ids: Vec<UserId> },
}

#[derive(Serialize, Deserialize)]
struct StoredMessage {
    #[serde(flatten)]
    body: StoredBody,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forwarded_from: Option<StoredForward>,
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Box<str>>,
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
struct StoredForward {
    message_id: MessageId,
    sender_id: UserId,
}

#[derive(Serialize, Deserialize)]
struct StoredLastMessage {
    id: MessageId,
    seq: Seq,
    sender_id: UserId,
    kind: MessageKind,
    preview: Box<str>,
}

impl Class {
    pub(super) const fn of(entry: &Entry) -> Self {
        match entry.change {
            Change::Message(_) => Self::Message,
            Change::Created { .. } => Self::Other,
        }
    }

    pub(super) const fn number(self) -> i8 {
        self as i8
    }
}

impl LogRow {
    pub(super) const fn seq(&self) -> Seq {
        Seq::new(self.seq.cast_unsigned())
    }

    /// Whose inbox the conversation came into with this entry.
    pub(super) fn listed_for(&self) -> Vec<UserId> {
        self.list_for.iter().flatten().map(|id| UserId::new(id.cast_unsigned())).collect()
    }

    pub(super) fn into_entry(self, conversation: ConversationId) -> Result<Entry, StoreError> {
        let (seq, id) = (self.seq(), self.id.cast_unsigned());
        let key = || format!("{conversation}/{seq}");
        let change = match (self.sender_id, self.client_id) {
            (Some(sender), Some(client_id)) => {
                let StoredMessage { body, reply_to, forwarded_from } = from_json("log", key, &self.body)?;
                Change::Message(Message {
                    id: MessageId::new(id),
                    sender_id: UserId::new(sender.cast_unsigned()),
                    client_id: ClientId::from_stored(client_id),
                    body: body.into_body(),
                    reply_to,
                    forwarded_from: forwarded_from
                        .map(|from| Forwarded { message_id: from.message_id, sender_id: from.sender_id }),
                })
            }
            _ => match from_json("log", key, &self.body)? {
                StoredChange::Created { by, kind, member_ids } => Change::Created { by, kind, member_ids },
            },
        };
        Ok(Entry { seq, id, ordinal: self.ordinal.cast_unsigned(), change })
    }
}

/// The column `body` of an entry.
pub(super) fn body_of(change: &Change) -> String {
    match change {
        Change::Message(message) => to_json(&StoredMessage {
            body: StoredBody::from(&message.body),
            reply_to: message.reply_to,
            forwarded_from: message
                .forwarded_from
                .map(|from| StoredForward { message_id: from.message_id, sender_id: from.sender_id }),
        }),
        Change::Created { by, kind, member_ids } => {
            to_json(&StoredChange::Created { by: *by, kind: *kind, member_ids: member_ids.clone() })
        }
    }
}

pub(super) fn last_message_to_text(last: &LastMessage) -> String {
    let LastMessage { id, seq, sender_id, kind, preview } = last.clone();
    to_json(&StoredLastMessage { id, seq, sender_id, kind, preview })
}

pub(super) fn last_message_from_text(
    conversation: ConversationId,
    text: &str,
) -> Result<LastMessage, StoreError> {
    let StoredLastMessage { id, seq, sender_id, kind, preview } =
        from_json("log", || format!("{conversation}/head"), text)?;
    Ok(LastMessage { id, seq, sender_id, kind, preview })
}

pub(super) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Owner => "owner",
        Role::Admin => "admin",
        Role::Member => "member",
    }
}

pub(super) fn role_from_name(conversation: ConversationId, name: &str) -> Result<Role, StoreError> {
    match name {
        "owner" => Ok(Role::Owner),
        "admin" => Ok(Role::Admin),
        "member" => Ok(Role::Member),
        _ => Err(corrupt("conversations", conversation.to_string(), "an unknown role")),
    }
}

pub(super) fn corrupt(table: &'static str, key: String, reason: impl Into<String>) -> StoreError {
    StoreError::Corrupt { table, key, reason: reason.into() }
}

impl From<&MessageBody> for StoredBody {
    fn from(body: &MessageBody) -> Self {
        match body.clone() {
            MessageBody::Text(text) => Self::Text { text },
            MessageBody::Image { media, caption } => Self::Image { media: media.into(), caption },
            MessageBody::File { media, caption } => Self::File { media: media.into(), caption },
            MessageBody::Voice { media } => Self::Voice { media: media.into() },
            MessageBody::System { event, text } => Self::System { event, text },
        }
    }
}

impl StoredBody {
    fn into_body(self) -> MessageBody {
        match self {
            Self::Text { text } => MessageBody::Text(text),
            Self::Image { media, caption } => MessageBody::Image { media: media.into(), caption },
            Self::File { media, caption } => MessageBody::File { media: media.into(), caption },
            Self::Voice { media } => MessageBody::Voice { media: media.into() },
            Self::System { event, text } => MessageBody::System { event, text },
        }
    }
}

impl From<Media> for StoredMedia {
    fn from(media: Media) -> Self {
        let Media { url, content_type, size_bytes, name, width, height, duration_ms } = media;
        Self { url, content_type, size_bytes, name, width, height, duration_ms }
    }
}

impl From<StoredMedia> for Media {
    fn from(media: StoredMedia) -> Self {
        let StoredMedia { url, content_type, size_bytes, name, width, height, duration_ms } = media;
        Self { url, content_type, size_bytes, name, width, height, duration_ms }
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records are plain data")
}

fn from_json<T: DeserializeOwned>(
    table: &'static str,
    key: impl FnOnce() -> String,
    text: &str,
) -> Result<T, StoreError> {
    // The reason must not quote the content.
    serde_json::from_str(text)
        .map_err(|error| corrupt(table, key(), format!("invalid at column {}", error.column())))
}
