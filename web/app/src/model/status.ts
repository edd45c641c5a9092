/** How far a message of one's own has come, as the cursors of the others tell. */

import type { Conversation, Seq, UserId } from "@godwit/sdk";

export type Progress = "sending" | "sent" | "delivered" | "read" | "refused";

export function progressOf(
  conversation: Pick<Conversation, "cursors" | "large" | "member_count">,
  seq: Seq,
  me: UserId,
  /** What the server said when it sent the message: all there is where not all cursors are known. */
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
 * Lists come without cursors, and events bring those that move: all of them are known once it was opened. They are counted,
 * because nobody is among them who has left: `Inbox` forgets them when it passes over entries.
 */
export function hasAllCursors(
  conversation: Pick<Conversation, "cursors" | "large" | "member_count">,
  me: UserId,
): boolean {
  const others = (conversation.cursors ?? []).filter((cursor) => cursor.user_id !== me);
  return conversation.large || others.length >= conversation.member_count - 1;
}
