/**
 * What is kept for the first paint after a reload: conversations as they are, and the newest messages of those that
 * were opened or that something was said in. Written a moment after the changes, together with the place in the stream.
 */

import type {
  CacheChanges,
  ClientStorage,
  Conversation,
  ConversationId,
  Live,
  LogEntry,
  Message,
  UserId,
} from "@godwit/sdk";

import { messageAfter } from "./entries.js";

const WRITE_AFTER_MS = 500;

export class Cache {
  private readonly conversations = new Set<ConversationId>();
  private readonly messages = new Map<string, Message>();
  /** Changes of messages that may be cached. */
  private readonly entries = new Map<ConversationId, LogEntry[]>();
  private readonly gone = new Set<ConversationId>();
  private readonly reset = new Set<ConversationId>();
  private resetAll = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly me: UserId,
    private readonly storage: ClientStorage,
    private readonly live: Pick<Live, "checkpoint">,
    private readonly conversation: (id: ConversationId) => Conversation | undefined,
  ) {}

  changed(id: ConversationId): void {
    this.conversations.add(id);
    this.plan();
  }

  apply(id: ConversationId, entry: LogEntry): void {
    this.conversations.add(id);
    if (entry.type === "message") {
      this.messages.set(`${id} ${entry.seq}`, entry.message);
    } else {
      const entries = this.entries.get(id) ?? [];
      entries.push(entry);
      this.entries.set(id, entries);
    }
    this.plan();
  }

  /** These are the newest messages; what was cached before may have a gap before them. */
  newest(id: ConversationId, messages: readonly Message[]): void {
    this.reset.add(id);
    for (const message of messages) {
      this.messages.set(`${id} ${message.seq}`, message);
    }
    this.plan();
  }

  forget(id: ConversationId): void {
    this.gone.add(id);
    this.plan();
  }

  forgetMessages(id: ConversationId): void {
    this.reset.add(id);
    this.plan();
  }

  forgetAll(): void {
    this.resetAll = true;
    this.plan();
  }

  /** Writes what has changed. A cache that cannot be written costs a slower start, and nothing else. */
  async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const entries = [...this.entries];
    this.entries.clear();
    const changedByEntries = await Promise.all(entries.map(([id, changes]) => this.rewritten(id, changes)));
    const changes = this.take();
    changes.messages = [...changedByEntries.flat(), ...(changes.messages ?? [])];
    await this.live.checkpoint(changes).catch(() => undefined);
  }

  private async rewritten(id: ConversationId, entries: LogEntry[]): Promise<Message[]> {
    const cached = await this.storage.cachedMessages(id).catch(() => []);
    return cached.flatMap((message) => {
      const now = entries.reduce<Message | undefined>(
        (one, entry) => one && messageAfter(one, entry, this.me),
        message,
      );
      // One that is gone cannot be taken out alone, but without its text it gives nothing away.
      const kept = now ?? { ...message, text: null, media: null, deleted_at: message.created_at };
      return kept === message ? [] : [kept];
    });
  }

  private take(): CacheChanges {
    const conversations = [...this.conversations].flatMap((id) => this.conversation(id) ?? []);
    const changes: CacheChanges = {
      resetAll: this.resetAll,
      gone: [...this.gone],
      reset: [...this.reset],
      conversations,
      messages: [...this.messages.values()],
    };
    this.resetAll = false;
    this.gone.clear();
    this.reset.clear();
    this.conversations.clear();
    this.messages.clear();
    return changes;
  }

  private plan(): void {
    this.timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS);
  }
}
