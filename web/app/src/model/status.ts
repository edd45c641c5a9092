/** The delivery status of the user's own messages, from the cursors of the other members. */

import type { Conversation, Seq, UserId } from "@godwit/sdk";

export type Progress = "sending" | "sent" | "delivered" | "read" | "refused";

export function progressOf(
  conversation: Pick<Conversation, "cursors" | "large" | "member_count">,
  seq: Seq,
  me: UserId,
  /** The status that the server sent with the message, used when not all cursors are known. */
  told: string,
): Progress {
  const others = (conversation.cursors ?? []).filter((cursor) => cursor.user_id !== me);
  if (conversation.large || others.length === 0 || !hasAllCursors(conversation, me)) {
    return told === "READ" ? "read" : told === "DELIVERED" ? "delivered" : "sent";
  }
  if (others.every((cursor) => cursor.read >= seq)) {
    return "read";
  }
  return others.every((cursor) => cursor.delivered >= seq) ? "delivered" : "sent";
}

/**
 * Lists have no cursors, and events bring only those that move. All cursors are known after the conversation was loaded on
 * its own. Comparing counts is sufficient, because `Inbox` drops the cursors when it skips entries in which members may have
 * left.
 */
export function hasAllCursors(
  conversation: Pick<Conversation, "cursors" | "large" | "member_count">,
  me: UserId,
): boolean {
  const others = (conversation.cursors ?? []).filter((cursor) => cursor.user_id !== me);
  return conversation.large || others.length >= conversation.member_count - 1;
}
