/** Users who are typing, per conversation. A notice expires unless it is repeated. */

import type { ConversationId, TypingEvent, UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

export class Typing {
  private readonly notices = signal<ReadonlyMap<string, TypingEvent>>(new Map());
  private readonly timers = new Map<string, ReturnType<typeof setTimeout>>();

  /** Tracked. */
  who(conversation: ConversationId): UserId[] {
    return [...this.notices.value.values()]
      .filter((notice) => notice.conversation_id === conversation)
      .map((notice) => notice.user_id);
  }

  noted(notice: TypingEvent): void {
    const key = keyOf(notice.conversation_id, notice.user_id);
    clearTimeout(this.timers.get(key));
    if (notice.typing) {
      this.notices.value = new Map(this.notices.value).set(key, notice);
      this.timers.set(
        key,
        setTimeout(() => this.stopped(notice.conversation_id, notice.user_id), notice.ttl_ms),
      );
    } else {
      this.stopped(notice.conversation_id, notice.user_id);
    }
  }

  /** Also called when a message of the user arrives. */
  stopped(conversation: ConversationId, user: UserId): void {
    const key = keyOf(conversation, user);
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
    if (this.notices.value.has(key)) {
      this.notices.value = new Map([...this.notices.value].filter(([other]) => other !== key));
    }
  }
}

function keyOf(conversation: ConversationId, user: UserId): string {
  return `${conversation} ${user}`;
}
