/**
 * A window into the history of one conversation: messages without gaps between them.
 *
 * It grows at either end and is cut at the other, so it stays small however far somebody scrolls. Changes come from the
 * live session; those that come while a page is under way are applied to the page again, since it may be older.
 */

import type {
  Conversation,
  History,
  LogEntry,
  Message,
  MessageId,
  MessagePage,
  Position,
  Seq,
  UserId,
} from "@godwit/sdk";
import { batch, signal } from "@preact/signals";

import { messageAfter, noticeOf } from "./entries.js";

/** Messages of one page. */
export const PAGE_MESSAGES = 20;
/** Messages that are kept, and shown, at once: several screens, since all of them are laid out when one is added. */
export const WINDOW_MESSAGES_MAX = 160;

export interface TimelineSource {
  me: UserId;
  history(asked: History, limit: number): Promise<MessagePage>;
  cached(): Promise<Message[]>;
  conversation(): Conversation | undefined;
  /** The newest messages have been read from the server. */
  onNewest(messages: readonly Message[]): void;
}

export class Timeline {
  readonly messages = signal<readonly Message[]>([]);
  readonly moreBefore = signal(true);
  readonly moreAfter = signal(false);
  readonly loading = signal<"before" | "after" | "all" | undefined>(undefined);
  /** The last attempt to load failed; the next one may not. */
  readonly failed = signal(false);
  /** Whether what is shown came from the server, and not only from the cache. */
  readonly loaded = signal(false);
  /** Messages of others after this entry were new when the conversation was opened. */
  readonly unreadAfter = signal<Seq | undefined>(undefined);

  /** What came while a page was under way. */
  private meanwhile: LogEntry[] = [];
  /** Replies up to this entry are counted in what is shown. */
  private countedTo: Seq = 0;
  private attempt = 0;

  constructor(private readonly source: TimelineSource) {}

  /** Shows what is cached, then what the server has: the newest, or what is around the first unread message. */
  async open(unreadAfter: Seq | undefined, unread: number): Promise<void> {
    this.unreadAfter.value = unreadAfter;
    const attempt = this.attempt;
    const cached = await this.source.cached().catch(() => []);
    if (attempt === this.attempt && this.messages.value.length === 0) {
      this.messages.value = cached;
    }
    // Somebody may have jumped elsewhere meanwhile.
    if (attempt === this.attempt) {
      await this.loadFirst(unreadAfter, unread);
    }
  }

  /** It comes into sight again: what is new has a line before it, and is shown. */
  reopen(unreadAfter: Seq | undefined, unread: number): void {
    this.unreadAfter.value = unreadAfter;
    const first = this.messages.value[0]?.seq ?? 0;
    const cut = unreadAfter !== undefined && first > unreadAfter && this.moreBefore.value;
    if (this.loaded.value && (this.moreAfter.value || cut)) {
      void this.loadFirst(unreadAfter, unread);
    }
  }

  loadNewest(): Promise<void> {
    return this.load("all", {}, (page) => {
      this.replace(page);
      this.source.onNewest(page.messages);
    });
  }

  /** What is around a message, in place of what is shown. */
  loadAround(position: Position): Promise<void> {
    return this.load("all", { around: position }, (page) => this.replace(page));
  }

  /** Has a message among those that are shown, and says whether it is there. */
  async bring(id: MessageId): Promise<boolean> {
    if (this.loaded.value && this.has(id)) {
      this.stopReplacing();
      return true;
    }
    const failedBefore = this.failed.value;
    await this.loadAround(id);
    // That one message is not there says nothing about the others.
    this.failed.value = failedBefore;
    if (!this.loaded.value) {
      await this.loadNewest();
    }
    return this.has(id);
  }

  async loadBefore(): Promise<void> {
    const first = this.messages.value[0];
    if (first && this.moreBefore.value && !this.loading.value) {
      await this.load("before", { before: first.seq }, (page) => {
        const all = [...page.messages, ...this.messages.value];
        this.messages.value = all.slice(0, WINDOW_MESSAGES_MAX);
        this.moreBefore.value = page.more_before;
        this.moreAfter.value ||= all.length > WINDOW_MESSAGES_MAX;
      });
    }
  }

  async loadAfter(): Promise<void> {
    const last = this.messages.value.at(-1);
    if (last && this.moreAfter.value && !this.loading.value) {
      await this.load("after", { after: last.seq }, (page) => {
        const all = [...this.messages.value, ...page.messages];
        this.messages.value = all.slice(-WINDOW_MESSAGES_MAX);
        this.moreAfter.value = page.more_after;
        this.moreBefore.value ||= all.length > WINDOW_MESSAGES_MAX;
      });
    }
  }

  has(id: MessageId): boolean {
    return this.messages.value.some((message) => message.id === id);
  }

  apply(entry: LogEntry): void {
    if (this.loading.value) {
      this.meanwhile.push(entry);
    }
    this.change(entry);
  }

  /** The user has deleted the message for themselves. */
  hide(id: MessageId): void {
    this.messages.value = this.messages.value.filter((message) => message.id !== id);
  }

  /** What the server answered with to a change of this message. */
  update(changed: Message): void {
    this.messages.value = this.messages.value.map((message) =>
      message.id === changed.id ? changed : message,
    );
  }

  private loadFirst(unreadAfter: Seq | undefined, unread: number): Promise<void> {
    return unreadAfter !== undefined && unread > PAGE_MESSAGES / 2
      ? this.loadAround(unreadAfter)
      : this.loadNewest();
  }

  private async load(
    what: "before" | "after" | "all",
    asked: History,
    merge: (page: MessagePage) => void,
  ): Promise<void> {
    // A jump elsewhere makes what is under way meaningless.
    const attempt = ++this.attempt;
    const head = this.source.conversation()?.head ?? 0;
    this.loading.value = what;
    this.meanwhile = [];
    try {
      const page = await this.source.history(asked, PAGE_MESSAGES);
      if (attempt === this.attempt) {
        batch(() => {
          merge(page);
          this.failed.value = false;
          this.loaded.value = true;
          this.counted(this.moreAfter.value ? head : Math.max(head, this.messages.value.at(-1)?.seq ?? 0));
          this.meanwhile.forEach((entry) => this.change(entry));
        });
      }
    } catch {
      if (attempt === this.attempt) {
        this.failed.value = true;
      }
    } finally {
      if (attempt === this.attempt) {
        this.loading.value = undefined;
        this.meanwhile = [];
      }
    }
  }

  /** What is about to take the place of what is shown does not. */
  private stopReplacing(): void {
    if (this.loading.value === "all") {
      this.attempt += 1;
      this.loading.value = undefined;
    }
  }

  private counted(seq: Seq): void {
    this.countedTo = Math.max(this.countedTo, seq);
  }

  private replace(page: MessagePage): void {
    this.messages.value = page.messages;
    this.moreBefore.value = page.more_before;
    this.moreAfter.value = page.more_after;
  }

  private change(entry: LogEntry): void {
    const before = this.messages.value;
    const isCounted = entry.type === "message" && entry.seq <= this.countedTo;
    const changed = isCounted
      ? before
      : before.flatMap((message) => messageAfter(message, entry, this.source.me) ?? []);
    const next = this.withNew(changed, entry);
    this.counted(entry.seq);
    if (next.length !== before.length || next.some((message, index) => message !== before[index])) {
      this.messages.value = next;
    }
  }

  /** What is new stands at the end, if the window reaches it. */
  private withNew(messages: readonly Message[], entry: LogEntry): readonly Message[] {
    const conversation = this.source.conversation();
    const added =
      entry.type === "message" ? entry.message : conversation ? noticeOf(conversation, entry) : undefined;
    const last = messages.at(-1)?.seq ?? 0;
    if (!added || this.moreAfter.value || added.seq <= last) {
      return messages;
    }
    const all = [...messages, added];
    if (all.length > WINDOW_MESSAGES_MAX) {
      this.moreBefore.value = true;
    }
    return all.slice(-WINDOW_MESSAGES_MAX);
  }
}
