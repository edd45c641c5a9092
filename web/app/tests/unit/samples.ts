/** Things as the server sends them, with what a test cares about. */

import type { Conversation, LogEntry, Message } from "@godwit/sdk";

const AT = "2026-03-01T12:00:00Z";

export function conversation(head: number): Conversation {
  return {
    id: "c",
    kind: "group",
    name: "Birds",
    history: "all",
    edits_visible_to: "members",
    member_count: 2,
    large: false,
    pinned_message_ids: [],
    created_by: "bob",
    created_at: AT,
    updated_at: AT,
    last_activity_at: AT,
    head,
    unread: 0,
    unread_mentions: 0,
    me: {
      role: "member",
      joined_at: AT,
      pinned: false,
      archived: false,
      marked_unread: false,
      history_from: 0,
    },
    cursors: [
      { user_id: "ada", delivered: 0, read: 0 },
      { user_id: "bob", delivered: 0, read: 0 },
    ],
  };
}

export function message(seq: number, senderId: string, text: string): Message {
  return {
    id: `m${seq}`,
    client_id: `client-${seq}`,
    conversation_id: "c",
    seq,
    sender_id: senderId,
    kind: "text",
    text,
    created_at: AT,
    status: "SENT",
  };
}

export function messageEntry(sent: Message): LogEntry {
  return { type: "message", seq: sent.seq, at: sent.created_at, message: sent };
}
