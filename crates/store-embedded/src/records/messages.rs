//! The log, and the index of messages.

use godwit_domain::model::{Change, ClientId, Entry, Forwarded, Media, Message, MessageBody};
use godwit_protocol::conversations::ConversationKind;
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use serde::{Deserialize, Serialize};

use super::Record;

#[derive(Serialize, Deserialize)]
pub(crate) struct MessageRecord {
    id: MessageId,
    /// Entries up to this one that are not messages: the difference of seq and ordinal, which stays small.
    others: u64,
    sender_id: UserId,
    client_id: Box<str>,
    body: BodyRecord,
    reply_to: Option<MessageId>,
    forwarded_from: Option<(MessageId, UserId)>,
}

#[derive(Serialize, Deserialize)]
enum BodyRecord {
    Text(Box<str>),
    Image(MediaRecord, Option<Box<str>>),
    File(MediaRecord, Option<Box<str>>),
    Voice(MediaRecord),
    System(Box<str>, Option<Box<str>>),
}

#[derive(Serialize, Deserialize)]
struct MediaRecord {
    url: Box<str>,
    content_type: Box<str>,
    size_bytes: u64,
    name: Option<Box<str>>,
    width: Option<u32>,
    height: Option<u32>,
    duration_ms: Option<u32>,
}

impl Record for MessageRecord {
    const TABLE: &'static str = "messages";
}

impl MessageRecord {
    pub(crate) fn new(seq: Seq, ordinal: u64, message: Message) -> Self {
        Self {
            id: message.id,
            others: seq.get().saturating_sub(ordinal),
            sender_id: message.sender_id,
            client_id: message.client_id.as_str().into(),
            body: message.body.into(),
            reply_to: message.reply_to,
            forwarded_from: message.forwarded_from.map(|from| (from.message_id, from.sender_id)),
        }
    }

    pub(crate) fn into_entry(self, seq: Seq) -> Entry {
        Entry {
            seq,
            id: self.id.get(),
            ordinal: seq.get().saturating_sub(self.others),
            change: Change::Message(Message {
                id: self.id,
                sender_id: self.sender_id,
                client_id: ClientId::from_stored(self.client_id),
                body: self.body.into(),
                reply_to: self.reply_to,
                forwarded_from: self
                    .forwarded_from
                    .map(|(message_id, sender_id)| Forwarded { message_id, sender_id }),
            }),
        }
    }
}

impl From<MessageBody> for BodyRecord {
    fn from(body: MessageBody) -> Self {
        match body {
            MessageBody::Text(text) => Self::Text(text),
            MessageBody::Image { media, caption } => Self::Image(media.into(), caption),
            MessageBody::File { media, caption } => Self::File(media.into(), caption),
            MessageBody::Voice { media } => Self::Voice(media.into()),
            MessageBody::System { event, text } => Self::System(event, text),
        }
    }
}

impl From<BodyRecord> for MessageBody {
    fn from(body: BodyRecord) -> Self {
        match body {
            BodyRecord::Text(text) => Self::Text(text),
            BodyRecord::Image(media, caption) => Self::Image { media: media.into(), caption },
            BodyRecord::File(media, caption) => Self::File { media: media.into(), caption },
            BodyRecord::Voice(media) => Self::Voice { media: media.into() },
            BodyRecord::System(event, text) => Self::System { event, text },
        }
    }
}

impl From<Media> for MediaRecord {
    fn from(media: Media) -> Self {
        let Media { url, content_type, size_bytes, name, width, height, duration_ms } = media;
        Self { url, content_type, size_bytes, name, width, height, duration_ms }
    }
}

impl From<MediaRecord> for Media {
    fn from(media: MediaRecord) -> Self {
        let MediaRecord { url, content_type, size_bytes, name, width, height, duration_ms } = media;
        Self { url, content_type, size_bytes, name, width, height, duration_ms }
    }
}

/// An entry of the log that is not a message.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChangeRecord {
    id: u64,
    ordinal: u64,
    change: OtherChangeRecord,
}

#[derive(Serialize, Deserialize)]
enum OtherChangeRecord {
    DirectCreated { by: UserId, member_ids: Vec<UserId> },
}

impl Record for ChangeRecord {
    const TABLE: &'static str = "changes";
}

impl ChangeRecord {
    pub(crate) fn created(
        id: u64,
        ordinal: u64,
        by: UserId,
        kind: ConversationKind,
        member_ids: Vec<UserId>,
    ) -> Self {
        let change = match kind {
            ConversationKind::Direct => OtherChangeRecord::DirectCreated { by, member_ids },
        };
        Self { id, ordinal, change }
    }

    pub(crate) fn into_entry(self, seq: Seq) -> Entry {
        let change = match self.change {
            OtherChangeRecord::DirectCreated { by, member_ids } => {
                Change::Created { by, kind: ConversationKind::Direct, member_ids }
            }
        };
        Entry { seq, id: self.id, ordinal: self.ordinal, change }
    }
}

/// Where the message with a client id is.
#[derive(Serialize, Deserialize)]
pub(crate) struct SentRecord(pub(crate) Seq);

impl Record for SentRecord {
    const TABLE: &'static str = "client ids";
}

/// Where a message is.
#[derive(Serialize, Deserialize)]
pub(crate) struct LocationRecord(pub(crate) ConversationId, pub(crate) Seq);

impl Record for LocationRecord {
    const TABLE: &'static str = "locations";
}
