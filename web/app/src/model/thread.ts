/**
 * A thread: the message that started it, and all direct and indirect replies, oldest first.
 *
 * Replies are ordinary messages of the conversation; a thread is another view of them.
 */

import type { LogEntry, Message, MessageId, ThreadPage, UserId } from "@godwit/sdk";
import { batch, signal } from "@preact/signals";

import { messageAfter, messageWithout } from "./entries.js";

/** The maximum page size. Few threads need a second page. */
const PAGE_REPLIES = 200;

export interface ThreadSource {
  me: UserId;
  page(id: MessageId, page: { limit: number; after?: string }): Promise<ThreadPage>;
}

export class Thread {
  readonly root = signal<Message | undefined>(undefined);
  readonly replies = signal<readonly Message[]>([]);
  readonly loading = signal(false);
  /** Whether the last attempt to load failed. */
  readonly failed = signal(false);
  /** The cursor of the next page; `undefined` if all replies are loaded. */
  readonly next = signal<string | undefined>(undefined);

  /** Entries that arrived while a page was being loaded. */
  private meanwhile: LogEntry[] = [];
  /** Messages that the user has deleted for themselves while a page was being loaded. */
  private hiddenMeanwhile = new Set<MessageId>();
  private attempt = 0;

  constructor(
    /** Any message of the thread, usually the one that started it. */
    readonly id: MessageId,
    private readonly source: ThreadSource,
  ) {}

  /** Loads the thread again from the beginning, because it may have gaps. */
  reload(): Promise<void> {
    this.next.value = undefined;
    return this.ask();
  }

  /** Loads the next page. */
  async load(): Promise<void> {
    if (!this.loading.value) {
      await this.ask();
    }
  }

  apply(entry: LogEntry): void {
    if (this.loading.value) {
      this.meanwhile.push(entry);
    }
    this.change(entry);
  }

  /** The user has deleted the message for themselves. */
  hide(id: MessageId): void {
    if (this.loading.value) {
      this.hiddenMeanwhile.add(id);
    }
    this.leaveOut(new Set([id]));
  }

  /** The server's response to a change of this message. */
  update(changed: Message): void {
    this.map((message) => (message.id === changed.id ? changed : message));
  }

  private async ask(): Promise<void> {
    const after = this.next.value;
    const attempt = ++this.attempt;
    this.loading.value = true;
    this.meanwhile = [];
    this.hiddenMeanwhile = new Set();
    try {
      const page = await this.source.page(this.id, {
        limit: PAGE_REPLIES,
        ...(after === undefined ? {} : { after }),
      });
      if (attempt !== this.attempt) {
        return;
      }
      batch(() => {
        this.root.value = page.root ?? undefined;
        this.replies.value = after === undefined ? page.replies : [...this.replies.value, ...page.replies];
        this.next.value = page.next ?? undefined;
        this.failed.value = false;
        this.leaveOut(this.hiddenMeanwhile);
        this.meanwhile.forEach((entry) => this.change(entry));
      });
    } catch {
      this.failed.value ||= attempt === this.attempt;
    } finally {
      if (attempt === this.attempt) {
        this.loading.value = false;
        this.meanwhile = [];
        this.hiddenMeanwhile = new Set();
      }
    }
  }

  private leaveOut(hidden: ReadonlySet<MessageId>): void {
    this.root.value = this.root.value && messageWithout(this.root.value, hidden);
    this.replies.value = this.replies.value.flatMap((message) => messageWithout(message, hidden) ?? []);
  }

  private change(entry: LogEntry): void {
    this.map((message) => messageAfter(message, entry, this.source.me));
    // The user may not be able to see the root.
    const root = this.root.value?.id ?? this.replies.value[0]?.thread_id;
    const isReply = entry.type === "message" && root != null && entry.message.thread_id === root;
    if (!isReply || this.next.value !== undefined) {
      return;
    }
    const last = this.replies.value.at(-1)?.seq ?? 0;
    if (entry.seq > last) {
      this.replies.value = [...this.replies.value, entry.message];
    }
  }

  /** A deleted root stays as a message without content, because its replies still exist. */
  private map(how: (message: Message) => Message | undefined): void {
    const root = this.root.value;
    const now = root && how(root);
    this.root.value = root && (now ?? { ...root, text: null, media: null, deleted_at: root.created_at });
    this.replies.value = this.replies.value.flatMap((message) => how(message) ?? []);
  }
}
