/**
 * The position in each conversation's log: the entries that the application has, those that exist, and those that arrived
 * too early.
 *
 * Every entry, live or from a page of the log, is offered to this module. The module delivers the next entry to the
 * application, drops an old one, and holds one that arrived too early until the gap before it is read. No other module
 * makes this decision, and this one does no I/O.
 */

import type { ConversationId, LogEntry, LogPage, Seq } from "../api.js";
import { type Deliver, Track } from "./track.js";

/** Entries that arrived too early, across all conversations. Further ones are dropped and read again. */
const HELD_ENTRIES_MAX = 1_024;

/**
 * Where existing conversations begin on a first start: at the head, or at the first entry of the log. Later conversations
 * begin at their first entry.
 */
export type StartAt = "head" | "beginning";

/** A conversation that does not continue after the last delivered entry: it is new, or the user can no longer see those. */
export interface Begin {
  isNew: boolean;
  /** The conversation continues after this entry. */
  seq: Seq;
}

/** The result of a page of the log. */
export type Read =
  | { outcome: "done" }
  /** The application must load the conversation again; it continues after this entry. */
  | { outcome: "reset"; seq: Seq }
  /** There should be more entries, but the page was empty. */
  | { outcome: "stuck" };

export class Logs {
  private readonly tracks = new Map<ConversationId, Track>();
  /** Conversations that are behind and not being read, the longest waiting one first. */
  private due: ConversationId[] = [];
  private held = 0;
  /** The newest entry of conversations whose start is not known yet. */
  private readonly early = new Map<ConversationId, Seq>();

  constructor(
    private readonly start: StartAt,
    seen: Record<ConversationId, Seq>,
    /** Before the first sync is complete, an unknown conversation may be an old one. */
    private firstSyncDone: boolean,
  ) {
    for (const [id, seq] of Object.entries(seen)) {
      this.tracks.set(id, new Track(seq));
    }
  }

  seen(id: ConversationId): Seq | undefined {
    return this.tracks.get(id)?.seen;
  }

  /** Takes a live entry. Delivers it if it is the next one, together with the held entries that follow it. */
  offer(id: ConversationId, entry: LogEntry, deliver: Deliver): void {
    if (this.beginsUnknown(id, entry.seq)) {
      return;
    }
    const track = this.track(id);
    track.head = Math.max(track.head, entry.seq);
    this.take(track, entry, deliver);
    this.queue(id, track);
  }

  /** A live entry was dropped because the queue is full. It will be read again. */
  skip(id: ConversationId, seq: Seq): void {
    if (this.beginsUnknown(id, seq)) {
      return;
    }
    const track = this.track(id);
    track.head = Math.max(track.head, seq);
    this.queue(id, track);
  }

  /**
   * A sync lists the conversation, which the user sees from `from` on. Returns the entry after which it begins, if it is
   * new for this client.
   */
  list(id: ConversationId, head: Seq, from: Seq): Seq | undefined {
    const known = this.tracks.get(id);
    if (known) {
      known.doubt = head < known.seen ? head : undefined;
    }
    const atHead = !this.firstSyncDone && this.start === "head";
    const begins = known ? undefined : atHead ? head : Math.max(from - 1, 0);
    const track = this.track(id);
    track.seen = begins ?? track.seen;
    track.head = Math.max(track.head, head, this.early.get(id) ?? 0);
    this.early.delete(id);
    this.queue(id, track);
    return begins;
  }

  /** All conversations have been listed: an unknown one is a new one from now on. */
  listedAll(): void {
    this.firstSyncDone = true;
    const early = [...this.early];
    this.early.clear();
    for (const [id, seq] of early) {
      this.skip(id, seq);
    }
  }

  /** A conversation to read, and the entry after which to read. The caller must report the outcome. */
  nextDue(): { id: ConversationId; after: Seq } | undefined {
    for (let id = this.due.shift(); id !== undefined; id = this.due.shift()) {
      const track = this.tracks.get(id);
      if (track?.reading !== "due") {
        continue;
      }
      // The missing entries may have arrived in the meantime.
      if (track.isBehind()) {
        track.reading = "under_way";
        return { id, after: track.seen };
      }
      track.reading = "no";
    }
    return undefined;
  }

  /** A page says that the user sees nothing before this entry. Called before `page`. */
  begins(id: ConversationId, begins: Seq): Begin | undefined {
    const track = this.tracks.get(id);
    if (!track || begins <= track.seen + 1) {
      return undefined;
    }
    const seq = begins - 1;
    this.reset(id, seq, Math.max(track.head, seq)).reading = "under_way";
    return { isNew: track.seen === 0, seq };
  }

  /** A page of the log has arrived. */
  page(id: ConversationId, page: LogPage, deliver: Deliver): Read {
    const track = this.tracks.get(id);
    if (!track) {
      return { outcome: "done" };
    }
    track.reading = "no";
    track.doubt = undefined;
    if (page.truncated) {
      this.reset(id, page.head, page.head);
      return { outcome: "reset", seq: page.head };
    }
    track.head = Math.max(track.head, page.head);
    const before = track.seen;
    for (const entry of page.entries) {
      this.take(track, entry, deliver);
    }
    this.queue(id, track);
    return { outcome: track.isBehind() && track.seen === before ? "stuck" : "done" };
  }

  /** The page could not be read. It is due again. */
  readFailed(id: ConversationId): void {
    const track = this.tracks.get(id);
    if (track) {
      track.reading = "no";
      this.queue(id, track);
    }
  }

  /** The server has fewer entries than were delivered. Returns where the conversation continues. */
  aheadOfServer(id: ConversationId): Seq | undefined {
    const track = this.tracks.get(id);
    if (!track) {
      return undefined;
    }
    const head = track.doubt ?? 0;
    this.reset(id, head, head);
    return head;
  }

  forget(id: ConversationId): void {
    this.early.delete(id);
    this.held -= this.tracks.get(id)?.held.size ?? 0;
    this.tracks.delete(id);
  }

  /** Returns to the state of a first start. */
  forgetAll(): void {
    this.tracks.clear();
    this.early.clear();
    this.due = [];
    this.held = 0;
    this.firstSyncDone = false;
  }

  /** The connection is gone: pages in flight will not arrive. */
  disconnected(): void {
    for (const [id, track] of this.tracks) {
      if (track.reading === "under_way") {
        this.readFailed(id);
      }
    }
  }

  private take(track: Track, entry: LogEntry, deliver: Deliver): void {
    this.held += track.accept(entry, this.held < HELD_ENTRIES_MAX);
    this.held -= track.release(deliver);
  }

  /** Continues after `seen`, whatever was before. Held entries may not follow it, so they are dropped. */
  private reset(id: ConversationId, seen: Seq, head: Seq): Track {
    this.forget(id);
    const track = new Track(seen, head);
    this.tracks.set(id, track);
    return track;
  }

  private track(id: ConversationId): Track {
    const known = this.tracks.get(id);
    if (known) {
      return known;
    }
    const track = new Track(0);
    this.tracks.set(id, track);
    return track;
  }

  private beginsUnknown(id: ConversationId, seq: Seq): boolean {
    const unknown = !this.firstSyncDone && this.start === "head" && !this.tracks.has(id);
    if (unknown) {
      this.early.set(id, Math.max(this.early.get(id) ?? 0, seq));
    }
    return unknown;
  }

  private queue(id: ConversationId, track: Track): void {
    if (track.isBehind() && track.reading === "no") {
      track.reading = "due";
      this.due.push(id);
    }
  }
}
