/**
 * Applies log entries to conversations and messages.
 *
 * Applying an entry twice is harmless, because a loaded conversation may be newer than the entries that arrive after it. The
 * exception is the count of replies: `messageAfter` must see each new message exactly once.
 */

import type { Conversation, LogEntry, MemberCursor, Message, MessageId, Seq, UserId } from "@godwit/sdk";

import { messagePreview, onOneLine } from "../text/index.js";

type MessageEntry = Extract<LogEntry, { type: "message" }>;
type DetailsEntry = Extract<LogEntry, { type: "details_changed" }>;
type LastMessage = NonNullable<Conversation["last_message"]>;

/** The event names of the server for changes that appear as notices between the messages. */
const NOTICES: Partial<Record<LogEntry["type"], string>> = {
  created: "conversation.created",
  members_added: "members.added",
  member_joined: "member.joined",
  member_left: "member.left",
  member_removed: "member.removed",
  member_banned: "member.banned",
  member_unbanned: "member.unbanned",
  role_changed: "role.changed",
  ownership_transferred: "ownership.transferred",
  details_changed: "details.changed",
  pinned: "message.pinned",
};

/** Changes without a notice in large conversations, where they would be too frequent. */
const UNSEEN_IN_CROWDS: ReadonlySet<LogEntry["type"]> = new Set([
  "members_added",
  "member_joined",
  "member_left",
]);

/** The conversation after the entry. */
export function conversationAfter(conversation: Conversation, entry: LogEntry, me: UserId): Conversation {
  if (entry.seq <= conversation.head) {
    return conversation;
  }
  const next = { ...conversation, head: entry.seq };
  const notice = noticeOf(conversation, entry);
  if (notice) {
    next.last_message = lastMessageOf(notice);
    next.last_activity_at = entry.at;
  }
  switch (entry.type) {
    case "message":
      return withMessage(next, entry, me);
    case "edited":
      return next.last_message?.id === entry.message_id && entry.text != null
        ? { ...next, last_message: { ...next.last_message, preview: onOneLine(entry.text) } }
        : next;
    case "deleted":
      // A message that is gone is not pinned any more.
      return next.last_message?.id === entry.message_id
        ? { ...unpinned(next, entry.message_id), last_message: erased(next.last_message) }
        : unpinned(next, entry.message_id);
    case "members_added":
      return withMembers(next, entry.user_ids, entry.seq, me);
    case "member_joined":
      return withMembers(next, [entry.user_id], entry.seq, me);
    case "member_left":
    case "member_removed":
      return withoutMember(next, entry.user_id);
    case "member_banned":
      return entry.was_member ? withoutMember(next, entry.user_id) : next;
    case "role_changed":
      return entry.user_id === me ? { ...next, me: { ...next.me, role: entry.role } } : next;
    case "ownership_transferred":
      return withOwner(next, entry.by, entry.user_id, me);
    case "details_changed":
      return withDetails(next, entry);
    case "pinned":
      return { ...next, pinned_message_ids: [entry.message_id, ...without(next, entry.message_id)] };
    case "unpinned":
      return unpinned(next, entry.message_id);
    default:
      return next;
  }
}

/** The message after the entry; `undefined` if it no longer exists. */
export function messageAfter(message: Message, entry: LogEntry, me: UserId): Message | undefined {
  switch (entry.type) {
    case "message":
      return message.id === entry.message.thread_id
        ? { ...message, replies: (message.replies ?? 0) + 1 }
        : message;
    case "edited":
      if (entry.text == null) {
        // The message was edited again or deleted: a later entry follows.
        return message;
      }
      if (message.id === entry.message_id && !message.deleted_at) {
        return { ...message, text: entry.text, mentions: entry.mentions ?? {}, edited_at: entry.at };
      }
      return message.quote?.message_id === entry.message_id
        ? { ...message, quote: { ...message.quote, preview: onOneLine(entry.text) } }
        : message;
    case "deleted":
      if (message.id === entry.message_id) {
        const nothing = { text: null, media: null, event: null, data: null, quote: null, reactions: [] };
        return { ...message, ...nothing, deleted_at: entry.at };
      }
      return withErasedQuote(message, [entry.message_id]);
    case "expired":
      return entry.message_ids.includes(message.id) ? undefined : withErasedQuote(message, entry.message_ids);
    case "reacted": {
      if (message.id !== entry.message_id) {
        return message;
      }
      const own = entry.changes?.find((change) => change.user_id === me);
      const mine = own ? (own.reaction ?? null) : message.my_reaction;
      return { ...message, reactions: entry.reactions, my_reaction: mine ?? null };
    }
    default:
      return message;
  }
}

/** The message after the user has deleted these messages for themselves; `undefined` if it is one of them. */
export function messageWithout(message: Message, hidden: ReadonlySet<MessageId>): Message | undefined {
  if (hidden.has(message.id)) {
    return undefined;
  }
  return message.quote && hidden.has(message.quote.message_id) ? { ...message, quote: null } : message;
}

/** The notice for the entry, if the history shows one. */
export function noticeOf(
  conversation: Pick<Conversation, "id" | "kind" | "large">,
  entry: LogEntry,
): Message | undefined {
  const event = NOTICES[entry.type];
  const crowd = conversation.large || conversation.kind === "channel";
  const hidden =
    (crowd && UNSEEN_IN_CROWDS.has(entry.type)) ||
    (entry.type === "created" && conversation.kind === "direct");
  if (event === undefined || hidden) {
    return undefined;
  }
  return {
    id: `notice-${entry.seq}`,
    conversation_id: conversation.id,
    seq: entry.seq,
    sender_id: "by" in entry ? entry.by : "user_id" in entry ? entry.user_id : "",
    kind: "system",
    event,
    notice: entry,
    created_at: entry.at,
    status: "SENT",
  };
}

/** Cursors only move forward. */
export function withCursor(conversation: Conversation, moved: MemberCursor, me: UserId): Conversation {
  const cursors = conversation.cursors ?? [];
  const known =
    moved.user_id === me ? conversation.me : cursors.find((cursor) => cursor.user_id === moved.user_id);
  if (known && known.delivered >= moved.delivered && known.read >= moved.read) {
    return conversation;
  }
  const cursor = {
    user_id: moved.user_id,
    delivered: Math.max(known?.delivered ?? 0, moved.delivered),
    read: Math.max(known?.read ?? 0, moved.read),
  };
  if (moved.user_id === me) {
    const { delivered, read } = cursor;
    return { ...conversation, me: { ...conversation.me, delivered, read } };
  }
  return { ...conversation, cursors: [...cursors.filter((other) => other !== known), cursor] };
}

export function mentions(message: Message, user: UserId): boolean {
  return message.mentions?.all === true || message.mentions?.user_ids?.includes(user) === true;
}

/** A quote of a message that is gone has no content. */
function withErasedQuote(message: Message, gone: readonly MessageId[]): Message {
  return message.quote && gone.includes(message.quote.message_id)
    ? { ...message, quote: { ...message.quote, preview: "", deleted: true } }
    : message;
}

function withMessage(conversation: Conversation, entry: MessageEntry, me: UserId): Conversation {
  const { message } = entry;
  const own = message.sender_id === me;
  const cursor = { user_id: message.sender_id, delivered: entry.seq, read: entry.seq };
  const moved = withCursor(conversation, cursor, me);
  const mentioned = !own && mentions(message, me) ? 1 : 0;
  return {
    ...moved,
    last_message: lastMessageOf(message),
    last_activity_at: message.created_at,
    unread: own ? 0 : conversation.unread + 1,
    unread_mentions: own ? 0 : conversation.unread_mentions + mentioned,
  };
}

function lastMessageOf(message: Message): LastMessage {
  return {
    id: message.id,
    seq: message.seq,
    sender_id: message.sender_id,
    kind: message.kind,
    event: message.event ?? null,
    preview: messagePreview(message),
    created_at: message.created_at,
    status: message.status,
    deleted: message.deleted_at != null,
  };
}

function withMembers(conversation: Conversation, users: UserId[], seq: Seq, me: UserId): Conversation {
  const cursors = users.map((user) => ({ user_id: user, delivered: seq, read: seq }));
  const moved = conversation.large
    ? conversation
    : cursors.reduce((so_far, cursor) => withCursor(so_far, cursor, me), conversation);
  return { ...moved, member_count: conversation.member_count + users.length };
}

function withoutMember(conversation: Conversation, user: UserId): Conversation {
  const cursors = (conversation.cursors ?? []).filter((cursor) => cursor.user_id !== user);
  return { ...conversation, cursors, member_count: Math.max(0, conversation.member_count - 1) };
}

function withOwner(conversation: Conversation, from: UserId, to: UserId, me: UserId): Conversation {
  const role = me === to ? "owner" : me === from ? "admin" : conversation.me.role;
  return { ...conversation, me: { ...conversation.me, role } };
}

/** Absent fields did not change. An empty text or zero seconds means that the value was removed. */
function withDetails(conversation: Conversation, entry: DetailsEntry): Conversation {
  return {
    ...conversation,
    name: entry.name ?? conversation.name,
    description: entry.description ?? conversation.description ?? null,
    image: entry.image ?? conversation.image ?? null,
    permissions: entry.permissions ?? conversation.permissions ?? null,
    history: entry.history ?? conversation.history,
    edits_visible_to: entry.edits_visible_to ?? conversation.edits_visible_to,
    message_ttl_secs: entry.message_ttl_secs ?? conversation.message_ttl_secs ?? null,
  };
}

function unpinned(conversation: Conversation, messageId: MessageId): Conversation {
  return { ...conversation, pinned_message_ids: without(conversation, messageId) };
}

function erased(last: LastMessage): LastMessage {
  return { ...last, event: null, preview: "", deleted: true };
}

function without(conversation: Conversation, messageId: MessageId): MessageId[] {
  return conversation.pinned_message_ids.filter((id) => id !== messageId);
}
