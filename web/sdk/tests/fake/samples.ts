/** Sample data of the server, with defaults for fields that a test does not need. */

import type { Conversation, LogEntry, LogPage, Message, SyncPage, Tokens } from "../../src/index.js";

/** All ids are above 2^53, so that a conversion to a number would change them. */
export const ME = "118059912994951168";
export const PEER = "118059912994951169";
export const C = "118059912994951171";
export const D = "118059912994951173";

const AT = "2026-11-15T08:30:00.125Z";

export function tokens(generation: number): Tokens {
  return {
    access_token: `access-${generation}`,
    access_expires_at: AT,
    refresh_token: `refresh-${generation}`,
    refresh_expires_at: AT,
  };
}

export function message(id: string, seq: number, fields: Partial<Message> = {}): Message {
  return {
    id: `${id}${seq}`,
    conversation_id: id,
    seq,
    sender_id: PEER,
    client_id: `from-peer-${seq}`,
    kind: "text",
    text: `message ${seq}`,
    created_at: AT,
    status: "SENT",
    ...fields,
  };
}

export function entry(id: string, seq: number, fields: Partial<Message> = {}): LogEntry {
  return { seq, at: AT, type: "message", message: message(id, seq, fields) };
}

export function conversation(id: string, head: number, fields: Partial<Conversation> = {}): Conversation {
  return {
    id,
    kind: "group",
    name: "Birds",
    history: "all",
    edits_visible_to: "members",
    member_count: 2,
    large: false,
    pinned_message_ids: [],
    created_by: PEER,
    created_at: AT,
    updated_at: AT,
    last_activity_at: AT,
    head,
    unread: 0,
    unread_mentions: 0,
    me: {
      role: "member",
      joined_at: AT,
      delivered: head,
      read: 0,
      pinned: false,
      archived: false,
      marked_unread: false,
      history_from: 1,
    },
    ...fields,
  };
}

export function syncPage(
  token: string,
  heads: Record<string, number> = {},
  fields: Partial<SyncPage> = {},
): SyncPage {
  const conversations = Object.entries(heads).map(([id, head]) => conversation(id, head));
  return {
    conversations,
    cursors: [],
    gone: [],
    account: [],
    token,
    more: false,
    truncated: false,
    ...fields,
  };
}

export function logPage(id: string, seqs: number[], head: number, fields: Partial<LogPage> = {}): LogPage {
  const entries = seqs.map((seq) => entry(id, seq));
  const more = (seqs.at(-1) ?? head) < head;
  return { conversation_id: id, entries, begins: 1, head, more, truncated: false, ...fields };
}

export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
