//! Messages, and their index.

use godwit_domain::model::{
    ClientId, Draft, Forwarded, Media, Mentions, Message, MessageBody, Reply, Target,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use super::words::MessageKindRecord;

/// A message without its id, which is that of its entry. Written and read without copying the content.
#[derive(Serialize, Deserialize)]
pub(super) struct MessageRecord<'a> {
    sender_id: UserId,
    client_id: &'a str,
    #[serde(borrow)]
    body: BodyRecord<'a>,
    reply: Option<(TargetRecord, TargetRecord)>,
    forwarded_from: Option<(MessageId, UserId)>,
    mentions: MentionsRecord,
    expires_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum BodyRecord<'a> {
    Text(&'a str),
    Image(#[serde(borrow)] Box<MediaRecord<'a>>, Option<&'a str>),
    File(#[serde(borrow)] Box<MediaRecord<'a>>, Option<&'a str>),
    Voice(#[serde(borrow)] Box<MediaRecord<'a>>),
    /// Event, data and text.
    System(&'a str, Option<&'a str>, Option<&'a str>),
    Erased(MessageKindRecord),
}

#[derive(Serialize, Deserialize)]
pub(super) struct MediaRecord<'a> {
    url: &'a str,
    content_type: &'a str,
    size_bytes: u64,
    name: Option<&'a str>,
    width: Option<u32>,
    height: Option<u32>,
    duration_ms: Option<u32>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
pub(super) struct TargetRecord(MessageId, Seq);

#[derive(Serialize, Deserialize, Default)]
pub(super) struct MentionsRecord {
    users: Vec<UserId>,
    all: bool,
}

impl MessageRecord<'_> {
    pub(super) fn into_message(self, id: MessageId) -> Message {
        Message {
            id,
            sender_id: self.sender_id,
            client_id: ClientId::from_stored(self.client_id),
            body: self.body.into(),
            reply: self.reply.map(|(to, root)| Reply { to: to.into(), root: root.into() }),
            forwarded_from: self
                .forwarded_from
                .map(|(message_id, sender_id)| Forwarded { message_id, sender_id }),
            mentions: self.mentions.into(),
            expires_at: self.expires_at,
        }
    }
}

impl<'a> From<&'a Message> for MessageRecord<'a> {
    fn from(message: &'a Message) -> Self {
        Self {
            sender_id: message.sender_id,
            client_id: message.client_id.as_str(),
            body: (&message.body).into(),
            reply: message.reply.map(|reply| (reply.to.into(), reply.root.into())),
            forwarded_from: message.forwarded_from.map(|from| (from.message_id, from.sender_id)),
            mentions: message.mentions.clone().into(),
            expires_at: message.expires_at,
        }
    }
}

impl<'a> From<&'a MessageBody> for BodyRecord<'a> {
    fn from(body: &'a MessageBody) -> Self {
        match body {
            MessageBody::Text(text) => Self::Text(text),
            MessageBody::Image { media, caption } => Self::Image(media.as_ref().into(), caption.as_deref()),
            MessageBody::File { media, caption } => Self::File(media.as_ref().into(), caption.as_deref()),
            MessageBody::Voice { media } => Self::Voice(media.as_ref().into()),
            MessageBody::System { event, data, text } => {
                Self::System(event, data.as_deref(), text.as_deref())
            }
            MessageBody::Erased(kind) => Self::Erased((*kind).into()),
        }
    }
}

impl From<BodyRecord<'_>> for MessageBody {
    fn from(body: BodyRecord<'_>) -> Self {
        match body {
            BodyRecord::Text(text) => Self::Text(text.into()),
            BodyRecord::Image(media, caption) => {
                Self::Image { media: media.into(), caption: caption.map(Into::into) }
            }
            BodyRecord::File(media, caption) => {
                Self::File { media: media.into(), caption: caption.map(Into::into) }
            }
            BodyRecord::Voice(media) => Self::Voice { media: media.into() },
            BodyRecord::System(event, data, text) => {
                Self::System { event: event.into(), data: data.map(Into::into), text: text.map(Into::into) }
            }
            BodyRecord::Erased(kind) => Self::Erased(kind.into()),
        }
    }
}

impl<'a> From<&'a Media> for Box<MediaRecord<'a>> {
    fn from(media: &'a Media) -> Self {
        let Media { url, content_type, size_bytes, name, width, height, duration_ms } = media;
        Self::new(MediaRecord {
            url,
            content_type,
            size_bytes: *size_bytes,
            name: name.as_deref(),
            width: *width,
            height: *height,
            duration_ms: *duration_ms,
        })
    }
}

impl From<Box<MediaRecord<'_>>> for Box<Media> {
    fn from(media: Box<MediaRecord<'_>>) -> Self {
        let MediaRecord { url, content_type, size_bytes, name, width, height, duration_ms } = *media;
        Self::new(Media {
            url: url.into(),
            content_type: content_type.into(),
            size_bytes,
            name: name.map(Into::into),
            width,
            height,
            duration_ms,
        })
    }
}

impl From<Target> for TargetRecord {
    fn from(target: Target) -> Self {
        Self(target.id, target.seq)
    }
}

impl From<TargetRecord> for Target {
    fn from(TargetRecord(id, seq): TargetRecord) -> Self {
        Self { id, seq }
    }
}

impl From<Mentions> for MentionsRecord {
    fn from(Mentions { users, all }: Mentions) -> Self {
        Self { users, all }
    }
}

impl From<MentionsRecord> for Mentions {
    fn from(MentionsRecord { users, all }: MentionsRecord) -> Self {
        Self { users, all }
    }
}

/// A message that has not been sent yet.
#[derive(Serialize, Deserialize)]
pub(super) struct DraftRecord<'a> {
    client_id: &'a str,
    #[serde(borrow)]
    body: Option<BodyRecord<'a>>,
    reply_to: Option<MessageId>,
    forwarded_from: Option<MessageId>,
}

impl<'a> From<&'a Draft> for DraftRecord<'a> {
    fn from(draft: &'a Draft) -> Self {
        Self {
            client_id: draft.client_id.as_str(),
            body: draft.body.as_ref().map(Into::into),
            reply_to: draft.reply_to,
            forwarded_from: draft.forwarded_from,
        }
    }
}

impl From<DraftRecord<'_>> for Draft {
    fn from(record: DraftRecord<'_>) -> Self {
        Self {
            client_id: ClientId::from_stored(record.client_id),
            body: record.body.map(Into::into),
            reply_to: record.reply_to,
            forwarded_from: record.forwarded_from,
        }
    }
}

/// The seq of the message with a client id, or of a reply in a thread.
#[derive(Serialize, Deserialize)]
pub(crate) struct SeqRecord(pub(crate) Seq);

impl Record for SeqRecord {
    const TABLE: &'static str = "client ids and replies";
}

/// The location of messages with consecutive ids and sequence numbers. The key contains the first id.
#[derive(Serialize, Deserialize)]
pub(crate) struct LocationRecord {
    pub(crate) conversation: ConversationId,
    pub(crate) first: Seq,
    pub(crate) count: u64,
}

impl Record for LocationRecord {
    const TABLE: &'static str = "locations";
}
