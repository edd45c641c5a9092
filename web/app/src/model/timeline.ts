/**
 * A window into the history of one conversation, without gaps.
 *
 * The window grows at one end and shrinks at the other, so it stays small however far the user scrolls. It grows by a few
 * messages at a time, which are prefetched, so that no frame has much work. Changes come from the live session; those that
 * arrive while a page is being loaded are also applied to the page, because the page may be older.
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
import { batch, computed, signal } from "@preact/signals";

import { messageAfter, messageWithout, noticeOf } from "./entries.js";

/** Messages per page. The next page is prefetched when fewer loaded messages than this are outside of the window. */
export const PAGE_MESSAGES = 40;
/** The number of messages by which the window grows at a time. */
export const STEP_MESSAGES = 10;
/** Messages in the window: more than fit on any screen. */
export const WINDOW_MESSAGES_MAX = 200;
/** Messages in memory. */
export const KEPT_MESSAGES_MAX = 400;

export interface TimelineSource {
  me: UserId;
  history(asked: History, limit: number): Promise<MessagePage>;
  cached(): Promise<Message[]>;
  conversation(): Conversation | undefined;
  /** The newest messages were loaded from the server. */
  onNewest(messages: readonly Message[]): void;
}

/** What a page replaces: it is added at one end, or it replaces all messages. */
type Part = "before" | "after" | "all";

/** The window, as the `seq` of its first and last message. */
interface Range {
  from: Seq;
  to: Seq;
}

const END = Number.POSITIVE_INFINITY;
const ALL: Range = { from: 0, to: END };

export class Timeline {
  /** All messages in memory, and whether the server has more before and after them. */
  private readonly kept = signal<readonly Message[]>([]);
  private readonly serverBefore = signal(true);
  private readonly serverAfter = signal(false);
  private readonly range = signal(ALL);

  /** The messages in the window. */
  readonly messages = computed(() => {
    const { from, to } = this.range.value;
    return this.kept.value.filter(({ seq }) => seq >= from && seq <= to);
  });
  /** The number of messages in memory before and after the window. */
  private readonly keptBefore = computed(
    () => this.kept.value.filter(({ seq }) => seq < this.range.value.from).length,
  );
  private readonly keptAfter = computed(
    () => this.kept.value.filter(({ seq }) => seq > this.range.value.to).length,
  );
  /** Whether the window reaches the first or last message in memory, so that more must come from the server. */
  readonly startShown = computed(() => this.keptBefore.value === 0);
  readonly endShown = computed(() => this.keptAfter.value === 0);
  readonly moreAfter = computed(() => this.serverAfter.value || !this.endShown.value);
  readonly loading = signal<Part | undefined>(undefined);
  /** The part whose last load failed. */
  readonly failed = signal<Part | undefined>(undefined);
  /** Whether the messages come from the server, and not only from the cache. */
  readonly loaded = signal(false);
  /** Messages from others after this entry were unread when the conversation was opened. */
  readonly unreadAfter = signal<Seq | undefined>(undefined);

  /** Entries that arrived while a page was being loaded. */
  private meanwhile: LogEntry[] = [];
  /** Messages that the user has deleted for themselves while a page was being loaded. */
  private hiddenMeanwhile = new Set<MessageId>();
  /** Replies up to this entry are included in the counts of the messages. */
  private countedTo: Seq = 0;
  private attempt = 0;

  constructor(private readonly source: TimelineSource) {}

  /** Shows cached messages first, then those of the server: the newest, or those around the first unread message. */
  async open(unreadAfter: Seq | undefined, unread: number): Promise<void> {
    this.unreadAfter.value = unreadAfter;
    const attempt = this.attempt;
    const cached = await this.source.cached().catch(() => []);
    if (attempt === this.attempt && this.kept.value.length === 0) {
      this.kept.value = cached;
    }
    // The user may have jumped elsewhere in the meantime.
    if (attempt === this.attempt) {
      await this.loadFirst(unreadAfter, unread);
    }
  }

  /** The conversation is opened again: shows the new messages, with a line before the first. */
  reopen(unreadAfter: Seq | undefined, unread: number): void {
    this.unreadAfter.value = unreadAfter;
    const first = this.messages.value[0]?.seq ?? 0;
    const moreBefore = this.serverBefore.value || !this.startShown.value;
    const cut = unreadAfter !== undefined && first > unreadAfter && moreBefore;
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

  /** Moves the window to the end of the conversation. */
  async showNewest(): Promise<void> {
    if (this.loaded.value && !this.serverAfter.value) {
      this.stopReplacing();
      this.show(this.kept.value.length - PAGE_MESSAGES, this.kept.value.length);
    } else {
      await this.loadNewest();
    }
  }

  /** Moves the window to a message. */
  loadAround(position: Position): Promise<void> {
    return this.load("all", { around: position }, (page) => this.replace(page));
  }

  /** Brings a message into the window. Returns whether it exists. */
  async bring(id: MessageId): Promise<boolean> {
    const index = this.kept.value.findIndex((message) => message.id === id);
    if (this.loaded.value && index >= 0) {
      this.stopReplacing();
      if (!this.has(id)) {
        this.show(index - PAGE_MESSAGES / 2, index + PAGE_MESSAGES / 2);
      }
      return true;
    }
    const failedBefore = this.failed.value;
    await this.loadAround(id);
    // A missing message does not mean that loading is broken.
    this.failed.value = failedBefore;
    if (!this.loaded.value) {
      await this.loadNewest();
    }
    return this.has(id);
  }

  /** Grows the window at its start, and prefetches the messages before. */
  showBefore(): void {
    const more = Math.min(STEP_MESSAGES, this.keptBefore.value);
    if (more > 0) {
      const from = this.keptBefore.value - more;
      this.show(from, Math.min(from + WINDOW_MESSAGES_MAX, this.kept.value.length - this.keptAfter.value));
    }
    if (this.keptBefore.value < PAGE_MESSAGES && !this.failed.value) {
      void this.loadBefore();
    }
  }

  showAfter(): void {
    const more = Math.min(STEP_MESSAGES, this.keptAfter.value);
    if (more > 0) {
      const to = this.kept.value.length - this.keptAfter.value + more;
      this.show(Math.max(to - WINDOW_MESSAGES_MAX, this.keptBefore.value), to);
    }
    if (this.keptAfter.value < PAGE_MESSAGES && !this.failed.value) {
      void this.loadAfter();
    }
  }

  async loadBefore(): Promise<void> {
    const first = this.kept.value[0];
    if (first && this.serverBefore.value && !this.loading.value) {
      await this.load("before", { before: first.seq }, (page) => {
        const isAwaited = this.startShown.value;
        const all = [...page.messages, ...this.kept.value];
        this.kept.value = all.slice(0, KEPT_MESSAGES_MAX);
        this.serverBefore.value = page.more_before;
        this.serverAfter.value ||= all.length > KEPT_MESSAGES_MAX;
        if (isAwaited) {
          this.showBefore();
        }
      });
    }
  }

  async loadAfter(): Promise<void> {
    const last = this.kept.value.at(-1);
    if (last && this.serverAfter.value && !this.loading.value) {
      await this.load("after", { after: last.seq }, (page) => {
        const isAwaited = this.endShown.value;
        const all = [...this.kept.value, ...page.messages];
        this.kept.value = all.slice(-KEPT_MESSAGES_MAX);
        this.serverAfter.value = page.more_after;
        this.serverBefore.value ||= all.length > KEPT_MESSAGES_MAX;
        if (isAwaited) {
          this.showAfter();
        }
      });
    }
  }

  /** Retries the failed load. */
  async retry(): Promise<void> {
    switch (this.failed.value) {
      case "before":
        return this.loadBefore();
      case "after":
        return this.loadAfter();
      case "all":
        return this.loadNewest();
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
    if (this.loading.value) {
      this.hiddenMeanwhile.add(id);
    }
    const hidden = new Set([id]);
    this.kept.value = this.kept.value.flatMap((message) => messageWithout(message, hidden) ?? []);
  }

  /** The server's response to a change of this message. */
  update(changed: Message): void {
    this.kept.value = this.kept.value.map((message) => (message.id === changed.id ? changed : message));
  }

  private loadFirst(unreadAfter: Seq | undefined, unread: number): Promise<void> {
    return unreadAfter !== undefined && unread > PAGE_MESSAGES / 2
      ? this.loadAround(unreadAfter)
      : this.loadNewest();
  }

  private async load(what: Part, asked: History, merge: (page: MessagePage) => void): Promise<void> {
    // A jump cancels loads in progress.
    const attempt = ++this.attempt;
    const head = this.source.conversation()?.head ?? 0;
    this.loading.value = what;
    this.meanwhile = [];
    this.hiddenMeanwhile = new Set();
    try {
      const page = await this.source.history(asked, PAGE_MESSAGES);
      if (attempt === this.attempt) {
        const messages = page.messages.flatMap((one) => messageWithout(one, this.hiddenMeanwhile) ?? []);
        batch(() => {
          merge({ ...page, messages });
          this.failed.value = undefined;
          this.loaded.value = true;
          this.counted(this.serverAfter.value ? head : Math.max(head, this.kept.value.at(-1)?.seq ?? 0));
          this.meanwhile.forEach((entry) => this.change(entry));
        });
      }
    } catch {
      if (attempt === this.attempt) {
        this.failed.value = what;
      }
    } finally {
      if (attempt === this.attempt) {
        this.loading.value = undefined;
        this.meanwhile = [];
        this.hiddenMeanwhile = new Set();
      }
    }
  }

  /** Cancels a load that would replace all messages. */
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
    this.kept.value = page.messages;
    this.serverBefore.value = page.more_before;
    this.serverAfter.value = page.more_after;
    this.show(0, page.messages.length);
  }

  /** Shows the messages at these indices. A window at the end of the conversation follows new messages. */
  private show(from: number, to: number): void {
    const all = this.kept.value;
    const isEnd = to >= all.length && !this.serverAfter.value;
    this.range.value = {
      from: all[Math.max(0, from)]?.seq ?? 0,
      to: isEnd ? END : (all[to - 1]?.seq ?? END),
    };
  }

  private change(entry: LogEntry): void {
    const before = this.kept.value;
    const isCounted = entry.type === "message" && entry.seq <= this.countedTo;
    const changed = isCounted
      ? before
      : before.flatMap((message) => messageAfter(message, entry, this.source.me) ?? []);
    const next = this.withNew(changed, entry);
    this.counted(entry.seq);
    if (next.length !== before.length || next.some((message, index) => message !== before[index])) {
      batch(() => {
        this.kept.value = next;
        this.limit();
      });
    }
  }

  /** Appends a new message, if the messages in memory reach the end of the conversation. */
  private withNew(messages: readonly Message[], entry: LogEntry): readonly Message[] {
    const conversation = this.source.conversation();
    const added =
      entry.type === "message" ? entry.message : conversation ? noticeOf(conversation, entry) : undefined;
    const last = messages.at(-1)?.seq ?? 0;
    return !added || this.serverAfter.value || added.seq <= last ? messages : [...messages, added];
  }

  /** Enforces the limits of messages in memory and in the window. */
  private limit(): void {
    if (this.kept.value.length > KEPT_MESSAGES_MAX) {
      this.kept.value = this.kept.value.slice(-KEPT_MESSAGES_MAX);
      this.serverBefore.value = true;
    }
    if (this.messages.value.length > WINDOW_MESSAGES_MAX) {
      this.show(this.kept.value.length - WINDOW_MESSAGES_MAX, this.kept.value.length);
    }
  }
}
