//! Sample data of a server.

use godwit_client::protocol::accounts::Device;
use godwit_client::protocol::conversations::{
    Conversation, ConversationKind, EditsVisibleTo, HistoryVisibility, MemberCursor, Membership, Role,
};
use godwit_client::protocol::limits;
use godwit_client::protocol::messages::{
    Change, LogEntry, LogPage, Mentions, Message, MessageKind, MessageStatus, SendMessage,
};
use godwit_client::protocol::socket::{Hello, HelloLimits, SignedInSocket};
use godwit_client::protocol::sync::SyncPage;
use godwit_client::protocol::{
    ConversationId, DeviceId, ErrorCode, MessageId, Problem, Seq, Timestamp, UserId,
};

pub(crate) const ME: UserId = UserId::new(1);
pub(crate) const PEER: UserId = UserId::new(2);
pub(crate) const C: ConversationId = ConversationId::new(100);
pub(crate) const D: ConversationId = ConversationId::new(101);

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

pub(crate) fn hello() -> Hello {
    let limits = HelloLimits {
        frame_bytes_max: limits::FRAME_BYTES_MAX,
        text_bytes_max: limits::TEXT_BYTES_MAX,
        text_chars_max: limits::TEXT_CHARS_MAX,
        commands_in_flight_max: limits::COMMANDS_IN_FLIGHT_MAX,
        page_max: limits::PAGE_MAX,
    };
    Hello { server_time: now(), heartbeat_ms: 30_000, sign_in_within_ms: 10_000, signed_in: None, limits }
}

pub(crate) fn signed_in() -> SignedInSocket {
    let device = Device {
        id: DeviceId::new(5),
        name: "test".into(),
        created_at: now(),
        last_active_at: now(),
        current: true,
    };
    SignedInSocket { user_id: ME, device, expires_at: now().plus_millis(3_600_000) }
}

pub(crate) fn message(
    conversation_id: ConversationId,
    seq: u64,
    sender_id: UserId,
    sent: &SendMessage,
) -> Message {
    Message {
        id: MessageId::new(1_000_000 + seq),
        conversation_id,
        seq: Seq::new(seq),
        sender_id,
        client_id: Some(sent.client_id.clone()),
        kind: MessageKind::Text,
        text: sent.text.clone(),
        media: None,
        event: None,
        data: None,
        notice: None,
        reply_to: None,
        quote: None,
        thread_id: None,
        forwarded_from: None,
        mentions: Mentions::default(),
        created_at: now(),
        edited_at: None,
        deleted_at: None,
        expires_at: None,
        reactions: Vec::new(),
        my_reaction: None,
        replies: 0,
        status: MessageStatus::Sent,
    }
}

/// An entry with a message of the other person.
pub(crate) fn entry(conversation: ConversationId, seq: u64) -> LogEntry {
    let sent = godwit_client::Draft::text(format!("message {seq}")).client_id(format!("peer-{seq}")).into();
    let message = message(conversation, seq, PEER, &sent);
    LogEntry { seq: Seq::new(seq), at: now(), change: Change::Message { message: Box::new(message) } }
}

pub(crate) fn log_page(
    conversation_id: ConversationId,
    seqs: impl IntoIterator<Item = u64>,
    head: u64,
) -> LogPage {
    let entries: Vec<_> = seqs.into_iter().map(|seq| entry(conversation_id, seq)).collect();
    let more = entries.last().is_some_and(|last| last.seq < Seq::new(head));
    let (begins, head) = (Seq::new(1), Seq::new(head));
    LogPage { conversation_id, entries, begins, head, more, truncated: false }
}

pub(crate) fn conversation(id: ConversationId, head: u64, delivered: u64) -> Conversation {
    let cursor = |user_id, seq| MemberCursor { user_id, delivered: Seq::new(seq), read: Seq::ZERO };
    Conversation {
        id,
        kind: ConversationKind::Direct,
        name: "Peer".into(),
        description: None,
        image: None,
        peer: None,
        permissions: None,
        history: HistoryVisibility::All,
        edits_visible_to: EditsVisibleTo::Members,
        message_ttl_secs: None,
        member_count: 2,
        large: false,
        pinned_message_ids: Vec::new(),
        created_by: PEER,
        created_at: now(),
        updated_at: now(),
        last_activity_at: now(),
        head: Seq::new(head),
        last_message: None,
        unread: 0,
        unread_mentions: 0,
        me: Membership {
            role: Role::Member,
            joined_at: now(),
            delivered: Seq::new(delivered),
            read: Seq::ZERO,
            pinned: false,
            pin_place: None,
            archived: false,
            muted_until: None,
            marked_unread: false,
            history_from: Seq::ZERO,
            draft: None,
        },
        cursors: vec![cursor(ME, delivered), cursor(PEER, 0)],
    }
}

/// A page with the head of each conversation.
pub(crate) fn sync_page(token: &str, heads: &[(ConversationId, u64)]) -> SyncPage {
    SyncPage {
        conversations: heads.iter().map(|(id, head)| conversation(*id, *head, *head)).collect(),
        cursors: Vec::new(),
        gone: Vec::new(),
        account: Vec::new(),
        token: token.into(),
        more: false,
        truncated: false,
    }
}

pub(crate) fn problem(code: ErrorCode, status: u16, temporary: bool) -> Problem {
    Problem {
        r#type: format!("/docs/errors#{code}"),
        title: "refused".into(),
        status,
        code,
        detail: None,
        field: None,
        temporary,
        retry_after: None,
    }
}
