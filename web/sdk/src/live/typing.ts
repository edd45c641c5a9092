/** Throttles typing notices, because an application may report every keystroke. This module does no I/O. */

import type { ConversationId } from "../api.js";
import { TYPING_TTL_MS } from "../limits.js";

/** A notice is renewed at this age, well before it expires. */
const RENEW_AFTER_MS = TYPING_TTL_MS / 2;

export class TypingNotices {
  /** When the last notice was sent, for conversations where others see the user typing. */
  private readonly told = new Map<ConversationId, number>();

  /** Whether to send a notice. */
  isNews(id: ConversationId, typing: boolean, now: number): boolean {
    const toldAt = this.told.get(id);
    const believed = toldAt !== undefined && now - toldAt < TYPING_TTL_MS;
    if (!typing) {
      this.told.delete(id);
      return believed;
    }
    if (toldAt !== undefined && now - toldAt < RENEW_AFTER_MS) {
      return false;
    }
    this.told.set(id, now);
    return true;
  }

  /** A sent message implies that the user has stopped typing. */
  sent(id: ConversationId): void {
    this.told.delete(id);
  }

  disconnected(): void {
    this.told.clear();
  }
}
