/**
 * Messages on their way from the composer to the session, which needs a moment to store them. After a reload, messages that
 * are left here are passed to the session again. The client id makes this idempotent.
 */

import type { ConversationId, SendMessage, UserId } from "@godwit/sdk";

export interface Handed {
  id: ConversationId;
  message: SendMessage;
}

/** The storage key for the messages of an account. */
export function handoffKey(account: UserId): string {
  return `godwit.handoff.${account}`;
}

export class Handoff {
  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">,
    private readonly key: string,
  ) {}

  /** The remaining messages, in the order in which they were written. */
  left(): Handed[] {
    try {
      const stored = JSON.parse(this.storage.getItem(this.key) ?? "[]") as unknown;
      return Array.isArray(stored) ? (stored as Handed[]) : [];
    } catch {
      return [];
    }
  }

  /** Stores the message synchronously. If the storage is full, only the session protects it. */
  begin(handed: Handed): void {
    try {
      this.store([...this.left(), handed]);
    } catch {
      return;
    }
  }

  /** The session has stored or refused the message. */
  end(clientId: string): void {
    this.store(this.left().filter(({ message }) => message.client_id !== clientId));
  }

  private store(handed: Handed[]): void {
    if (handed.length === 0) {
      this.storage.removeItem(this.key);
    } else {
      this.storage.setItem(this.key, JSON.stringify(handed));
    }
  }
}
