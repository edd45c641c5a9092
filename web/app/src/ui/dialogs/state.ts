/** The open dialog. */

import type { Conversation, ConversationId, Message, SendMessage } from "@godwit/sdk";
import { signal } from "@preact/signals";

export type Dialog =
  | { type: "settings" }
  | { type: "devices" }
  | { type: "new_conversation" }
  | { type: "join"; token?: string }
  | { type: "info"; id: ConversationId }
  | { type: "add_members"; id: ConversationId }
  | { type: "leave"; id: ConversationId }
  | { type: "receipts"; message: Message }
  | { type: "reactions"; message: Message }
  | { type: "edits"; message: Message }
  | { type: "forward"; message: Message }
  | { type: "stars" }
  | { type: "scheduled" }
  | { type: "schedule"; conversation: Conversation; message: SendMessage; onDone: () => void }
  | { type: "shortcuts" }
  | { type: "confirm"; title: string; text: string; action: string; onConfirm: () => void };

export const dialog = signal<Dialog | undefined>(undefined);

export function showDialog(next: Dialog): void {
  dialog.value = next;
}

export function closeDialog(): void {
  dialog.value = undefined;
}
