/**
 * Messages between the field in which they were written and the session, which takes a moment to store them. What a reload
 * finds here is given to the session once more: the client id makes it the same message.
 */

import type { ConversationId, SendMessage, UserId } from "@godwit/sdk";

export interface Handed {
  id: ConversationId;
  message: SendMessage;
}

/** Where those of an account are. */
export function handoffKey(account: UserId): string {
  return `godwit.handoff.${account}`;
}

export class Handoff {
  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">,
    private readonly key: string,
  ) {}

  /** In the order in which they were written. */
  left(): Handed[] {
    try {
      const stored = JSON.parse(this.storage.getItem(this.key) ?? "[]") as unknown;
      return Array.isArray(stored) ? (stored as Handed[]) : [];
    } catch {
      return [];
    }
  }

  /** Stored when this returns. Where there is no room for it, it is as safe as the session makes it. */
  begin(handed: Handed): void {
    try {
      this.store([...this.left(), handed]);
    } catch {
      return;
    }
  }

  /** The session has it, or has refused it. */
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
