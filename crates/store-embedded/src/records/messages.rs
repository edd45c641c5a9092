//! Messages, and the index of them.

use godwit_domain::model::{
    ClientId, Draft, Forwarded, Media, Mentions, Message, MessageBody, Reply, Target,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Record;
use super::words::MessageKindRecord;

/// A message without its id, which is that of its entry.
#[derive(Serialize, Deserialize)]
pub(super) struct MessageRecord {
    sender_id: UserId,
    client_id: Box<str>,
    body: BodyRecord,
    reply: Option<(TargetRecord, TargetRecord)>,
    forwarded_from: Option<(MessageId, UserId)>,
    mentions: MentionsRecord,
    expires_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum BodyRecord {
    Text(Box<str>),
    Image(MediaRecord, Option<Box<str>>),
    File(MediaRecord, Option<Box<str>>),
    Voice(MediaRecord),
    System(Box<str>, Option<Box<str>>),
    Erased(MessageKindRecord),
}

#[derive(Serialize, Deserialize)]
pub(super) struct MediaRecord {
    url: Box<str>,
    content_type: Box<str>,
    size_bytes: u64,
    name: Option<Box<str>>,
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

impl MessageRecord {
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

impl From<Message> for MessageRecord {
    fn from(message: Message) -> Self {
        Self {
            sender_id: message.sender_id,
            client_id: message.client_id.as_str().into(),
            body: message.body.into(),
            reply: message.reply.map(|reply| (reply.to.into(), reply.root.into())),
            forwarded_from: message.forwarded_from.map(|from| (from.message_id, from.sender_id)),
            mentions: message.mentions.into(),
            expires_at: message.expires_at,
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
            MessageBody::Erased(kind) => Self::Erased(kind.into()),
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
            BodyRecord::Erased(kind) => Self::Erased(kind.into()),
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

/// A message that is not sent yet.
#[derive(Serialize, Deserialize)]
pub(super) struct DraftRecord {
    client_id: Box<str>,
    body: BodyRecord,
    reply_to: Option<MessageId>,
    forwarded_from: Option<MessageId>,
}

impl From<Draft> for DraftRecord {
    fn from(draft: Draft) -> Self {
        Self {
            client_id: draft.client_id.as_str().into(),
            body: draft.body.into(),
            reply_to: draft.reply_to,
            forwarded_from: draft.forwarded_from,
        }
    }
}

impl From<DraftRecord> for Draft {
    fn from(record: DraftRecord) -> Self {
        Self {
            client_id: ClientId::from_stored(record.client_id),
            body: record.body.into(),
            reply_to: record.reply_to,
            forwarded_from: record.forwarded_from,
        }
    }
}

/// Where the message with a client id is, or a reply of a thread.
#[derive(Serialize, Deserialize)]
pub(crate) struct SeqRecord(pub(crate) Seq);

impl Record for SeqRecord {
    const TABLE: &'static str = "client ids and replies";
}

/// Where some messages are whose ids follow each other as they do themselves. The key is the id of the first.
#[derive(Serialize, Deserialize)]
pub(crate) struct LocationRecord {
    pub(crate) conversation: ConversationId,
    pub(crate) first: Seq,
    pub(crate) count: u64,
}

impl Record for LocationRecord {
    const TABLE: &'static str = "locations";
}
