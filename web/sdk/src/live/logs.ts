/**
 * Where each conversation stands: what the application was given, what is known to exist, what came too early.
 *
 * Everything that comes, live or from a page of the log, is offered here; what is next goes on to the application, what
 * is old is dropped, what is too early is held while the gap before it is read. This is the one place that decides it,
 * and it does no input or output.
 */

import type { ConversationId, LogEntry, LogPage, Seq } from "../api.js";
import { type Deliver, Track } from "./track.js";

/** Entries that came before the ones that precede them, over all conversations. Further ones are read again. */
const HELD_ENTRIES_MAX = 1_024;

/**
 * Where the conversations begin that are there on a first start: with what comes next, or with the first entry of the
 * log. Those that come later begin at their beginning.
 */
export type StartAt = "head" | "beginning";

/** A conversation that does not go on where it was left: it is new here, or what was seen is out of sight now. */
export interface Begin {
  isNew: boolean;
  /** It goes on after this entry. */
  seq: Seq;
}

/** What came of a page of the log. */
export type Read =
  | { outcome: "done" }
  /** The application must load the conversation anew; it goes on after this entry. */
  | { outcome: "reset"; seq: Seq }
  /** There should be more, and the page had nothing. */
  | { outcome: "stuck" };

export class Logs {
  private readonly tracks = new Map<ConversationId, Track>();
  /** Conversations that are behind and not being read, the one that waits longest first. */
  private due: ConversationId[] = [];
  private held = 0;
  /** The newest entry of conversations of which it is not known yet where they begin. */
  private readonly early = new Map<ConversationId, Seq>();

  constructor(
    private readonly start: StartAt,
    seen: Record<ConversationId, Seq>,
    /** Before the first sync is complete, a conversation that is not known may be an old one. */
    private firstSyncDone: boolean,
  ) {
    for (const [id, seq] of Object.entries(seen)) {
      this.tracks.set(id, new Track(seq));
    }
  }

  seen(id: ConversationId): Seq | undefined {
    return this.tracks.get(id)?.seen;
  }

  /** An entry came live. What is next, and what had waited for it, is delivered. */
  offer(id: ConversationId, entry: LogEntry, deliver: Deliver): void {
    if (this.beginsUnknown(id, entry.seq)) {
      return;
    }
    const track = this.track(id);
    track.head = Math.max(track.head, entry.seq);
    this.take(track, entry, deliver);
    this.queue(id, track);
  }

  /** An entry came live for which there is no room: it will be read again. */
  skip(id: ConversationId, seq: Seq): void {
    if (this.beginsUnknown(id, seq)) {
      return;
    }
    const track = this.track(id);
    track.head = Math.max(track.head, seq);
    this.queue(id, track);
  }

  /**
   * A sync lists the conversation, of which the user sees what comes from `from` on. Gives after which entry it begins,
   * if it is new here.
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

  /** All conversations have been listed: one that is not known from now on is a new one. */
  listedAll(): void {
    this.firstSyncDone = true;
    const early = [...this.early];
    this.early.clear();
    for (const [id, seq] of early) {
      this.skip(id, seq);
    }
  }

  /** A conversation that must be read, and after which entry. Its outcome must be reported. */
  nextDue(): { id: ConversationId; after: Seq } | undefined {
    for (let id = this.due.shift(); id !== undefined; id = this.due.shift()) {
      const track = this.tracks.get(id);
      if (track?.reading !== "due") {
        continue;
      }
      // What was missing may have come by itself.
      if (track.isBehind()) {
        track.reading = "under_way";
        return { id, after: track.seen };
      }
      track.reading = "no";
    }
    return undefined;
  }

  /** A page says that the user sees nothing before this entry. To be told before the page itself. */
  begins(id: ConversationId, begins: Seq): Begin | undefined {
    const track = this.tracks.get(id);
    if (!track || begins <= track.seen + 1) {
      return undefined;
    }
    const seq = begins - 1;
    this.reset(id, seq, Math.max(track.head, seq)).reading = "under_way";
    return { isNew: track.seen === 0, seq };
  }

  /** A page of the log has come, of the conversation that was asked for. */
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

  /** The page could not be read; it is due again. */
  readFailed(id: ConversationId): void {
    const track = this.tracks.get(id);
    if (track) {
      track.reading = "no";
      this.queue(id, track);
    }
  }

  /** The server says that it has less than was seen. Gives where the conversation goes on. */
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

  /** As on a first start. */
  forgetAll(): void {
    this.tracks.clear();
    this.early.clear();
    this.due = [];
    this.held = 0;
    this.firstSyncDone = false;
  }

  /** What was being read will not come: the connection is gone. */
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

  /** Goes on after `seen` whatever was before. Nothing that is held can be trusted to follow. */
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
