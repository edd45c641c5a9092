/** The messages in memory: the histories that were opened last, and the open thread. */

import type {
  Conversation,
  ConversationId,
  Http,
  LogEntry,
  Message,
  MessageId,
  Seq,
  UserId,
} from "@godwit/sdk";

import { Thread } from "./thread.js";
import { Timeline } from "./timeline.js";

const TIMELINES_MAX = 6;

export interface HistoriesSource {
  me: UserId;
  http: Http;
  cached(id: ConversationId): Promise<Message[]>;
  conversation(id: ConversationId): Conversation | undefined;
  /** A conversation was opened, possibly not for the first time. */
  onOpen(id: ConversationId): void;
  /** The newest messages of a conversation were loaded from the server. */
  onNewest(id: ConversationId, messages: readonly Message[]): void;
}

export class Histories {
  private readonly timelines = new Map<ConversationId, Timeline>();
  private lastThread: Thread | undefined;

  constructor(private readonly source: HistoriesSource) {}

  /** The history of a conversation, at the position where the user left it. */
  timeline(id: ConversationId): Timeline {
    const known = this.timelines.get(id);
    if (known) {
      // Moves the history to the end, because the map is in order of use.
      this.timelines.delete(id);
      this.timelines.set(id, known);
      return known;
    }
    const { source } = this;
    const timeline = new Timeline({
      me: source.me,
      history: (asked, limit) => source.http.messages.history(id, asked, limit),
      cached: () => source.cached(id),
      conversation: () => source.conversation(id),
      onNewest: (messages) => source.onNewest(id, messages),
    });
    this.timelines.set(id, timeline);
    for (const oldest of [...this.timelines.keys()].slice(0, -TIMELINES_MAX)) {
      this.timelines.delete(oldest);
    }
    void timeline.open(...this.unreadOf(id));
    return timeline;
  }

  /** A conversation was opened, possibly not for the first time. */
  reopen(id: ConversationId): void {
    this.timeline(id).reopen(...this.unreadOf(id));
    this.source.onOpen(id);
  }

  /** The thread that a message started or belongs to. */
  thread(id: MessageId): Thread {
    if (this.lastThread?.id !== id) {
      const { me, http } = this.source;
      this.lastThread = new Thread(id, {
        me,
        page: (message, page) => http.messages.thread(message, page),
      });
      void this.lastThread.load();
    }
    return this.lastThread;
  }

  apply(id: ConversationId, entry: LogEntry): void {
    this.timelines.get(id)?.apply(entry);
    this.lastThread?.apply(entry);
  }

  /** The server's response to a change of this message. */
  update(changed: Message): void {
    this.timelines.get(changed.conversation_id)?.update(changed);
    this.lastThread?.update(changed);
  }

  /** The user has deleted the message for themselves. */
  hide(id: MessageId): void {
    this.timelines.forEach((timeline) => timeline.hide(id));
    this.lastThread?.hide(id);
  }

  /** Loads a history again, because it may have gaps. */
  reload(id: ConversationId): void {
    void this.timelines.get(id)?.loadNewest();
    void this.lastThread?.reload();
  }

  /** The connection is back: retries failed loads. */
  loadFailed(): void {
    for (const timeline of this.timelines.values()) {
      void timeline.retry();
    }
    if (this.lastThread?.failed.value) {
      void this.lastThread.load();
    }
  }

  forget(id: ConversationId): void {
    this.timelines.delete(id);
  }

  clear(): void {
    this.timelines.clear();
    void this.lastThread?.reload();
  }

  /** The entry after which messages are unread, and their number. */
  private unreadOf(id: ConversationId): [Seq | undefined, number] {
    const conversation = this.source.conversation(id);
    return conversation && conversation.unread > 0
      ? [conversation.me.read, conversation.unread]
      : [undefined, 0];
  }
}
