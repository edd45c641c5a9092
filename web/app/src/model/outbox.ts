/** Unsent messages, which the history shows below the others. */

import type { ConversationId, LogEntry, Message, UnsentMessage, UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

export interface Pending {
  unsent: UnsentMessage;
  /** Set when the server has the message and its entry has not arrived yet. */
  sent?: Message;
  /** When the message was written, to group it by day. */
  at: string;
}

export class OutboxView {
  private readonly pending = signal<readonly Pending[]>([]);

  constructor(private readonly me: UserId) {}

  /** Tracked; in the order in which they were written. */
  of(conversation: ConversationId): Pending[] {
    return this.pending.value.filter((one) => one.unsent.conversationId === conversation);
  }

  /** Adds or updates a message that is queued or refused. */
  put(unsent: UnsentMessage): void {
    const known = this.pending.value.find((one) => one.unsent.clientId === unsent.clientId);
    const at = known?.at ?? new Date().toISOString();
    this.pending.value = known
      ? this.pending.value.map((one) => (one === known ? { unsent, at } : one))
      : [...this.pending.value, { unsent, at }];
  }

  sent(clientId: string, message: Message): void {
    this.pending.value = this.pending.value.map((one) =>
      one.unsent.clientId === clientId ? { ...one, sent: message } : one,
    );
  }

  /** Removes a message whose entry has arrived. */
  apply(entry: LogEntry): void {
    if (entry.type === "message" && entry.message.sender_id === this.me && entry.message.client_id) {
      this.remove(entry.message.client_id);
    }
  }

  remove(clientId: string): void {
    if (this.pending.value.some((one) => one.unsent.clientId === clientId)) {
      this.pending.value = this.pending.value.filter((one) => one.unsent.clientId !== clientId);
    }
  }
}
