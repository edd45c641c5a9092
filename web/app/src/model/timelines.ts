/** The histories that are in memory: those that were opened last. */

import type {
  Conversation,
  ConversationId,
  Http,
  IndexedDbStorage,
  LogEntry,
  MessageId,
  UserId,
} from "@godwit/sdk";

import type { Cache } from "./cache.js";
import { readCursorOf } from "./entries.js";
import { Timeline } from "./timeline.js";

const TIMELINES_MAX = 6;

export class Timelines {
  /** The one that was used last is last. */
  private readonly open = new Map<ConversationId, Timeline>();

  constructor(
    private readonly me: UserId,
    private readonly http: Pick<Http, "messages">,
    private readonly storage: Pick<IndexedDbStorage, "cachedMessages">,
    private readonly cache: Pick<Cache, "newest">,
    private readonly conversation: (id: ConversationId) => Conversation | undefined,
  ) {}

  /** The history of a conversation, opened where the user left it. */
  of(id: ConversationId): Timeline {
    const known = this.open.get(id);
    if (known) {
      this.open.delete(id);
      this.open.set(id, known);
      return known;
    }
    const timeline = this.make(id);
    this.open.set(id, timeline);
    for (const oldest of [...this.open.keys()].slice(0, -TIMELINES_MAX)) {
      this.open.delete(oldest);
    }
    return timeline;
  }

  apply(id: ConversationId, entry: LogEntry): void {
    this.open.get(id)?.apply(entry);
  }

  /** The user has deleted the message for themselves. */
  hide(id: MessageId): void {
    this.open.forEach((timeline) => timeline.hide(id));
  }

  /** What is shown may have a gap. */
  reload(id: ConversationId): void {
    void this.open.get(id)?.loadNewest();
  }

  /** The connection is back. */
  retryFailed(): void {
    for (const timeline of this.open.values()) {
      if (timeline.failed.value) {
        void (timeline.loaded.value ? timeline.loadBefore() : timeline.loadNewest());
      }
    }
  }

  forget(id: ConversationId): void {
    this.open.delete(id);
  }

  forgetAll(): void {
    this.open.clear();
  }

  private make(id: ConversationId): Timeline {
    const timeline = new Timeline({
      me: this.me,
      history: (asked, limit) => this.http.messages.history(id, asked, limit),
      cached: () => this.storage.cachedMessages(id),
      conversation: () => this.conversation(id),
      onNewest: (messages) => this.cache.newest(id, messages),
    });
    const conversation = this.conversation(id);
    const unread = conversation?.unread ?? 0;
    void timeline.open(conversation && unread > 0 ? readCursorOf(conversation, this.me) : undefined, unread);
    return timeline;
  }
}
