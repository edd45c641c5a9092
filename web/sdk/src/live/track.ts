/** The position in the log of one conversation. */

import type { LogEntry, Seq } from "../api.js";

export type Deliver = (entry: LogEntry) => void;

export class Track {
  /** Entries that arrived too early, by `seq`. */
  readonly held = new Map<Seq, LogEntry>();
  reading: "no" | "due" | "under_way" = "no";
  /**
   * The head according to the server, if it is before `seen`. The answer may merely be older than a live entry; reading the
   * log settles it.
   */
  doubt: Seq | undefined;

  constructor(
    /** The last entry that was delivered to the application. */
    public seen: Seq,
    /** The newest entry that is known to exist. */
    public head: Seq = seen,
  ) {}

  isBehind(): boolean {
    return this.seen < this.head || this.doubt !== undefined;
  }

  /**
   * Holds the entry unless it is old or there is no room. The next entry is always held, because it is released at once.
   * Returns the change in the number of held entries.
   */
  accept(entry: LogEntry, room: boolean): number {
    const isNext = entry.seq === this.seen + 1;
    if (entry.seq <= this.seen || this.held.has(entry.seq) || !(room || isNext)) {
      return 0;
    }
    this.held.set(entry.seq, entry);
    return 1;
  }

  /** Delivers the held entries that follow without a gap. Returns their number. */
  release(deliver: Deliver): number {
    let released = 0;
    for (let entry = this.held.get(this.seen + 1); entry; entry = this.held.get(this.seen + 1)) {
      this.held.delete(entry.seq);
      this.seen = entry.seq;
      released += 1;
      deliver(entry);
    }
    this.head = Math.max(this.head, this.seen);
    return released;
  }
}
