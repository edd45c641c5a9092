//! Messages and drafts.

use godwit_domain::model::{
    ClientId, Draft, Forwarded, Media, Mentions, Message, MessageBody, Reply, Target,
};
use godwit_protocol::messages::MessageKind;
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};
use godwit_records::records;

use super::is_false;

records! {
    /// A message without the values in other columns of its row.
    pub(crate) struct StoredMessage for Message,
    into_message(id: MessageId, sender_id: UserId, client_id: ClientId) {
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

    #[serde(tag = "kind", rename_all = "snake_case")]
    enum StoredBody for MessageBody {
        Text { text: Box<str> } = Text(text),
        Image {
            media: Box<StoredMedia>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            caption: Option<Box<str>>,
        },
        File {
            media: Box<StoredMedia>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            caption: Option<Box<str>>,
        },
        Voice { media: Box<StoredMedia> },
        System {
            event: Box<str>,
            /// JSON within JSON, so that it is returned unchanged.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            data: Option<Box<str>>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            text: Option<Box<str>>,
        },
        Erased { was: MessageKind } = Erased(was),
    }

    struct StoredMedia for Media {
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

    struct StoredReply for Reply {
        to: StoredTarget,
        root: StoredTarget,
    }

    pub(crate) struct StoredTarget for Target {
        id: MessageId,
        seq: Seq,
    }

    #[derive(Default)]
    pub(crate) struct StoredMentions for Mentions {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        users: Vec<UserId>,
        #[serde(default, skip_serializing_if = "is_false")]
        all: bool,
    }

    struct StoredForward for Forwarded {
        message_id: MessageId,
        sender_id: UserId,
    }

    /// A message that has not been sent yet.
    pub(crate) struct StoredDraft for Draft {
        client_id: Box<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<StoredBody>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply_to: Option<MessageId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forwarded_from: Option<MessageId>,
    }
}

impl StoredMentions {
    const fn is_empty(&self) -> bool {
        self.users.is_empty() && !self.all
    }
}
