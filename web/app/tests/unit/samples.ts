/** Sample data in a conversation of Ada and Bob. */

import type { Conversation, LogEntry, Message } from "@godwit/sdk";

import { conversation as anyConversation, message as anyMessage } from "../../../sdk/tests/fake/samples.js";

export function conversation(head: number): Conversation {
  return anyConversation("c", head, {
    cursors: [{ user_id: "bob", delivered: 0, read: 0 }],
  });
}

export function message(seq: number, senderId: string, text: string): Message {
  return anyMessage("c", seq, { id: `m${seq}`, client_id: `client-${seq}`, sender_id: senderId, text });
}

export function messageEntry(sent: Message): LogEntry {
  return { type: "message", seq: sent.seq, at: sent.created_at, message: sent };
}
