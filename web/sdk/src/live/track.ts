/** Where one conversation stands. */

import type { LogEntry, Seq } from "../api.js";

export type Deliver = (entry: LogEntry) => void;

export class Track {
  /** Too early, by seq. */
  readonly held = new Map<Seq, LogEntry>();
  reading: "no" | "due" | "under_way" = "no";
  /**
   * The server says that its log ends here, before what was seen. It may only be that the answer is older than an entry
   * that came live; reading the log tells.
   */
  doubt: Seq | undefined;

  constructor(
    /** The last entry that the application was given. */
    public seen: Seq,
    /** The newest entry that is known to exist. */
    public head: Seq = seen,
  ) {}

  isBehind(): boolean {
    return this.seen < this.head || this.doubt !== undefined;
  }

  /** Holds the entry unless it is old or there is no room. What is next is always held, to be released at once. */
  accept(entry: LogEntry, room: boolean): number {
    const isNext = entry.seq === this.seen + 1;
    if (entry.seq <= this.seen || this.held.has(entry.seq) || !(room || isNext)) {
      return 0;
    }
    this.held.set(entry.seq, entry);
    return 1;
  }

  /** Delivers what follows without a gap. Gives how many. */
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
