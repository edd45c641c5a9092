/**
 * A window into the history of one conversation: messages without gaps between them.
 *
 * It grows at either end and is cut at the other, so it stays small however far somebody scrolls; and it grows by few
 * messages at once, which are here before they are asked for, so that no frame of the page has much to do. Changes come
 * from the live session; those that come while a page is under way are applied to the page again, since it may be older.
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

import { messageAfter, noticeOf } from "./entries.js";

/** Messages of one page that is asked for. The next one is, when fewer than these are here and not shown. */
export const PAGE_MESSAGES = 40;
/** By how many messages the window grows at once. */
export const STEP_MESSAGES = 10;
/** Messages that are shown at once: more than any screen has room for. */
export const WINDOW_MESSAGES_MAX = 200;
/** Messages that are kept. */
export const KEPT_MESSAGES_MAX = 400;

export interface TimelineSource {
  me: UserId;
  history(asked: History, limit: number): Promise<MessagePage>;
  cached(): Promise<Message[]>;
  conversation(): Conversation | undefined;
  /** The newest messages have been read from the server. */
  onNewest(messages: readonly Message[]): void;
}

/** What is loaded: a page at one end, or one in place of all that is here. */
type Part = "before" | "after" | "all";

/** What is shown, by the entries of its first and its last message. */
interface Range {
  from: Seq;
  to: Seq;
}

const END = Number.POSITIVE_INFINITY;
const ALL: Range = { from: 0, to: END };

export class Timeline {
  /** All messages that are here, and whether the server has others before and after them. */
  private readonly kept = signal<readonly Message[]>([]);
  private readonly serverBefore = signal(true);
  private readonly serverAfter = signal(false);
  private readonly range = signal(ALL);

  /** Those that are shown. */
  readonly messages = computed(() => {
    const { from, to } = this.range.value;
    return this.kept.value.filter(({ seq }) => seq >= from && seq <= to);
  });
  /** How many are here before and after those. */
  private readonly keptBefore = computed(
    () => this.kept.value.filter(({ seq }) => seq < this.range.value.from).length,
  );
  private readonly keptAfter = computed(
    () => this.kept.value.filter(({ seq }) => seq > this.range.value.to).length,
  );
  /** Whether all that is here before, or after, is shown, so that more has to come from the server. */
  readonly startShown = computed(() => this.keptBefore.value === 0);
  readonly endShown = computed(() => this.keptAfter.value === 0);
  readonly moreAfter = computed(() => this.serverAfter.value || !this.endShown.value);
  readonly loading = signal<Part | undefined>(undefined);
  /** What could not be loaded the last time. */
  readonly failed = signal<Part | undefined>(undefined);
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
    if (attempt === this.attempt && this.kept.value.length === 0) {
      this.kept.value = cached;
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

  /** The end of the conversation, in place of what is shown. */
  async showNewest(): Promise<void> {
    if (this.loaded.value && !this.serverAfter.value) {
      this.stopReplacing();
      this.show(this.kept.value.length - PAGE_MESSAGES, this.kept.value.length);
    } else {
      await this.loadNewest();
    }
  }

  /** What is around a message, in place of what is shown. */
  loadAround(position: Position): Promise<void> {
    return this.load("all", { around: position }, (page) => this.replace(page));
  }

  /** Has a message among those that are shown, and says whether it is there. */
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
    // That one message is not there says nothing about the others.
    this.failed.value = failedBefore;
    if (!this.loaded.value) {
      await this.loadNewest();
    }
    return this.has(id);
  }

  /** Shows more of what is here before, and has the server send what comes before that. */
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

  /** Loads what could not be loaded. */
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
    this.kept.value = this.kept.value.filter((message) => message.id !== id);
  }

  /** What the server answered with to a change of this message. */
  update(changed: Message): void {
    this.kept.value = this.kept.value.map((message) => (message.id === changed.id ? changed : message));
  }

  private loadFirst(unreadAfter: Seq | undefined, unread: number): Promise<void> {
    return unreadAfter !== undefined && unread > PAGE_MESSAGES / 2
      ? this.loadAround(unreadAfter)
      : this.loadNewest();
  }

  private async load(what: Part, asked: History, merge: (page: MessagePage) => void): Promise<void> {
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
    this.kept.value = page.messages;
    this.serverBefore.value = page.more_before;
    this.serverAfter.value = page.more_after;
    this.show(0, page.messages.length);
  }

  /** Shows the messages of these indices. What reaches the end of the conversation goes on with what is said. */
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

  /** What is new stands at the end, if what is here reaches it. */
  private withNew(messages: readonly Message[], entry: LogEntry): readonly Message[] {
    const conversation = this.source.conversation();
    const added =
      entry.type === "message" ? entry.message : conversation ? noticeOf(conversation, entry) : undefined;
    const last = messages.at(-1)?.seq ?? 0;
    return !added || this.serverAfter.value || added.seq <= last ? messages : [...messages, added];
  }

  /** However much is said, not more than this is kept and shown. */
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
