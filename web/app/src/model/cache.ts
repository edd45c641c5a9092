/**
 * The cache for the first paint after a reload: all conversations, and the newest messages of conversations that were
 * opened or that had new messages. It is written shortly after changes, together with the position in the update stream.
 */

import type {
  CacheChanges,
  ClientStorage,
  Conversation,
  ConversationId,
  Live,
  LogEntry,
  Message,
  MessageId,
  Seq,
  UserId,
} from "@godwit/sdk";

import { messageAfter, messageWithout } from "./entries.js";

const WRITE_AFTER_MS = 500;
const NOTHING: ReadonlySet<MessageId> = new Set();

export class Cache {
  private readonly conversations = new Set<ConversationId>();
  private readonly messages = new Map<string, Message>();
  /** Changes to messages that may be in the cache. */
  private readonly entries = new Map<ConversationId, LogEntry[]>();
  /** Messages that the user has deleted for themselves, and that may be in the cache. */
  private readonly hidden = new Map<ConversationId, Set<MessageId>>();
  private readonly gone = new Set<ConversationId>();
  private readonly reset = new Set<ConversationId>();
  /** The last message of a page that takes the place of what is cached: messages after it stay. */
  private readonly newestSeq = new Map<ConversationId, Seq>();
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
      this.messages.set(keyOf(entry.message), entry.message);
    } else {
      const entries = this.entries.get(id) ?? [];
      entries.push(entry);
      this.entries.set(id, entries);
    }
    this.plan();
  }

  /** The user has deleted the message for themselves. */
  hide(id: ConversationId, message: MessageId): void {
    this.hidden.set(id, (this.hidden.get(id) ?? new Set<MessageId>()).add(message));
    this.plan();
  }

  /** Stores the newest messages. Replaces older cached ones, because there may be a gap between them. */
  newest(id: ConversationId, messages: readonly Message[]): void {
    this.reset.add(id);
    // A message may have been cached while the page was on its way.
    this.newestSeq.set(id, messages.at(-1)?.seq ?? 0);
    for (const message of messages) {
      this.messages.set(keyOf(message), message);
    }
    this.plan();
  }

  /** The conversation is gone: deletes its messages. */
  forget(id: ConversationId): void {
    this.gone.add(id);
    this.entries.delete(id);
    this.hidden.delete(id);
    this.pendingOf(id).forEach((message) => this.messages.delete(keyOf(message)));
    this.plan();
  }

  forgetMessages(id: ConversationId): void {
    this.reset.add(id);
    this.newestSeq.delete(id);
    this.plan();
  }

  forgetAll(): void {
    this.resetAll = true;
    this.entries.clear();
    this.hidden.clear();
    this.messages.clear();
    this.plan();
  }

  /** Writes the changes. If this fails, the next start is slower, but nothing is lost. */
  async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const cached = await this.readCached();
    // No `await` between here and `take`: the messages must be as new as the position in the stream.
    cached.forEach((messages, id) => this.rewrite(id, messages));
    await this.live.checkpoint(this.take()).catch(() => undefined);
  }

  /** The cached messages of the conversations that are rewritten, also of those that join them while others are read. */
  private async readCached(): Promise<Map<ConversationId, Message[]>> {
    const cached = new Map<ConversationId, Message[]>();
    for (;;) {
      const rewritten = [...this.entries.keys(), ...this.hidden.keys(), ...this.newestSeq.keys()];
      const missing = rewritten.filter((id) => !cached.has(id));
      if (missing.length === 0) {
        return cached;
      }
      const read = await Promise.all(missing.map((id) => this.storage.cachedMessages(id).catch(() => [])));
      missing.forEach((id, index) => cached.set(id, read[index] ?? []));
    }
  }

  /** Applies changes to messages that are or will be cached, because a page may be older than the entries after it. */
  private rewrite(id: ConversationId, cached: readonly Message[]): void {
    const entries = this.entries.get(id) ?? [];
    const hidden = this.hidden.get(id);
    this.entries.delete(id);
    this.hidden.delete(id);
    const isReset = this.reset.has(id);
    const newest = this.newestSeq.get(id);
    const isForgotten = this.resetAll || this.gone.has(id) || (isReset && newest === undefined);
    const old = isForgotten
      ? []
      : cached.filter((one) => one.seq > (newest ?? 0) && !this.messages.has(keyOf(one)));
    // The cache cannot delete a single message, so the others are stored again.
    if (hidden) {
      this.reset.add(id);
    }
    for (const message of [...old, ...this.pendingOf(id)]) {
      const shown = messageWithout(message, hidden ?? NOTHING);
      if (!shown) {
        this.messages.delete(keyOf(message));
        continue;
      }
      const now = entries.reduce<Message | undefined>(
        (one, entry) => one && messageAfter(one, entry, this.me),
        shown,
      );
      // An expired message is stored without its content.
      const kept = now ?? { ...shown, text: null, media: null, deleted_at: shown.created_at };
      if (isReset || hidden || kept !== message) {
        this.messages.set(keyOf(kept), kept);
      }
    }
  }

  private pendingOf(id: ConversationId): Message[] {
    return [...this.messages.values()].filter((message) => message.conversation_id === id);
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
    this.newestSeq.clear();
    this.conversations.clear();
    this.messages.clear();
    return changes;
  }

  private plan(): void {
    this.timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS);
  }
}

function keyOf(message: Message): string {
  return `${message.conversation_id} ${message.seq}`;
}
