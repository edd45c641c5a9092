//! Messages, and their index.

use godwit_domain::model::{Draft, Forwarded, Media, Mentions, Message, MessageBody, Reply, Target};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use godwit_records::records;
use serde::{Deserialize, Serialize};

use super::words::MessageKindRecord;

records! {
    /// A message without its id, which is that of its entry. Written and read without copying the content.
    pub(super) struct MessageRecord<'a> for Message, into_message(id: MessageId) {
        sender_id: UserId,
        client_id: &'a str,
        #[serde(borrow)]
        body: BodyRecord<'a>,
        reply: Option<ReplyRecord>,
        forwarded_from: Option<ForwardedRecord>,
        mentions: MentionsRecord,
        expires_at: Option<Timestamp>,
    }

    enum BodyRecord<'a> for MessageBody {
        Text(text: &'a str),
        Image {
            #[serde(borrow)]
            media: Box<MediaRecord<'a>>,
            caption: Option<&'a str>,
        },
        File {
            #[serde(borrow)]
            media: Box<MediaRecord<'a>>,
            caption: Option<&'a str>,
        },
        Voice {
            #[serde(borrow)]
            media: Box<MediaRecord<'a>>,
        },
        System { event: &'a str, data: Option<&'a str>, text: Option<&'a str> },
        Erased(kind: MessageKindRecord),
    }

    struct MediaRecord<'a> for Media {
        url: &'a str,
        content_type: &'a str,
        size_bytes: u64,
        name: Option<&'a str>,
        width: Option<u32>,
        height: Option<u32>,
        duration_ms: Option<u32>,
    }

    struct ReplyRecord for Reply {
        to: TargetRecord,
        root: TargetRecord,
    }

    struct ForwardedRecord for Forwarded {
        message_id: MessageId,
        sender_id: UserId,
    }

    pub(super) struct TargetRecord for Target {
        id: MessageId,
        seq: Seq,
    }

    pub(super) struct MentionsRecord for Mentions {
        users: Vec<UserId>,
        all: bool,
    }

    /// A message that has not been sent yet.
    pub(super) struct DraftRecord<'a> for Draft {
        client_id: &'a str,
        #[serde(borrow)]
        body: Option<BodyRecord<'a>>,
        reply_to: Option<MessageId>,
        forwarded_from: Option<MessageId>,
    }
}

/// The seq of the message with a client id, or of a reply in a thread.
#[derive(Serialize, Deserialize)]
pub(crate) struct SeqRecord(pub(crate) Seq);

/// The location of messages with consecutive ids and sequence numbers. The key contains the first id.
#[derive(Serialize, Deserialize)]
pub(crate) struct LocationRecord {
    pub(crate) conversation: ConversationId,
    pub(crate) first: Seq,
    pub(crate) count: u64,
}
