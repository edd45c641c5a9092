/**
 * A thread: the message that began it, and what was replied to it and to its replies, oldest first.
 *
 * Replies are messages of the conversation like all others; this is another view of them.
 */

import type { LogEntry, Message, MessageId, ThreadPage, UserId } from "@godwit/sdk";
import { batch, signal } from "@preact/signals";

import { messageAfter } from "./entries.js";

/** The longest page there is: few threads need a second one. */
const PAGE_REPLIES = 200;

export interface ThreadSource {
  me: UserId;
  page(id: MessageId, page: { limit: number; after?: string }): Promise<ThreadPage>;
}

export class Thread {
  readonly root = signal<Message | undefined>(undefined);
  readonly replies = signal<readonly Message[]>([]);
  readonly loading = signal(false);
  /** The last attempt to load failed; the next one may not. */
  readonly failed = signal(false);
  /** Where the next page begins, unless all replies are here. */
  readonly next = signal<string | undefined>(undefined);

  /** What came while a page was under way. */
  private meanwhile: LogEntry[] = [];
  private attempt = 0;

  constructor(
    /** A message of it, most often the one that began it. */
    readonly id: MessageId,
    private readonly source: ThreadSource,
  ) {}

  /** From the beginning: what is here, or about to be, may have gaps. */
  reload(): Promise<void> {
    this.next.value = undefined;
    return this.ask();
  }

  /** The first page, or the one after those that are here. */
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
    this.root.value = this.root.value?.id === id ? undefined : this.root.value;
    this.replies.value = this.replies.value.filter((message) => message.id !== id);
  }

  /** What the server answered with to a change of this message. */
  update(changed: Message): void {
    this.map((message) => (message.id === changed.id ? changed : message));
  }

  private async ask(): Promise<void> {
    const after = this.next.value;
    const attempt = ++this.attempt;
    this.loading.value = true;
    this.meanwhile = [];
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
        this.meanwhile.forEach((entry) => this.change(entry));
      });
    } catch {
      this.failed.value ||= attempt === this.attempt;
    } finally {
      if (attempt === this.attempt) {
        this.loading.value = false;
        this.meanwhile = [];
      }
    }
  }

  private change(entry: LogEntry): void {
    this.map((message) => messageAfter(message, entry, this.source.me));
    // The user may not see what began it.
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

  /** A root that is gone stays as a message without content, since its replies are still there. */
  private map(how: (message: Message) => Message | undefined): void {
    const root = this.root.value;
    const now = root && how(root);
    this.root.value = root && (now ?? { ...root, text: null, media: null, deleted_at: root.created_at });
    this.replies.value = this.replies.value.flatMap((message) => how(message) ?? []);
  }
}
