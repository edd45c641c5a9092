/** How far a message of one's own has come, as the cursors of the others tell. */

import type { Conversation, Seq, UserId } from "@godwit/sdk";

export type Progress = "sending" | "sent" | "delivered" | "read" | "refused";

export function progressOf(
  conversation: Pick<Conversation, "cursors" | "large">,
  seq: Seq,
  me: UserId,
  /** What the server said when it sent the message: all there is in a large conversation. */
  told: string,
): Progress {
  const others = conversation.cursors.filter((cursor) => cursor.user_id !== me);
  if (conversation.large || others.length === 0) {
    return told === "READ" ? "read" : told === "DELIVERED" ? "delivered" : "sent";
  }
  if (others.every((cursor) => cursor.read >= seq)) {
    return "read";
  }
  return others.every((cursor) => cursor.delivered >= seq) ? "delivered" : "sent";
}
