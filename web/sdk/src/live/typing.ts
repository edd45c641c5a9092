/** Which typing notices are worth sending: an application may tell of every keystroke. Without input or output. */

import type { ConversationId } from "../api.js";
import { TYPING_TTL_MS } from "../limits.js";

/** A notice is renewed at this age, well before it is void. */
const RENEW_AFTER_MS = TYPING_TTL_MS / 2;

export class TypingNotices {
  /** When the others were last told, of the conversations in which they believe that one is typing. */
  private readonly told = new Map<ConversationId, number>();

  /** Whether the server should be told. */
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

  /** The message itself says that one has stopped. */
  sent(id: ConversationId): void {
    this.told.delete(id);
  }

  disconnected(): void {
    this.told.clear();
  }
}
