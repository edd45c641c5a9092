/**
 * Cursor moves that the server has to be told of. Book-keeping without input or output.
 *
 * They wait a little, because the next one makes the one before needless, and are kept until the server has them. They
 * only move forward: what the server knows already is not told again.
 */

import type { ConversationId, Seq } from "../api.js";

/** Moves on their way at once. */
const IN_FLIGHT_MAX = 8;

export interface Marks {
  delivered?: Seq;
  read?: Seq;
}

export class CursorMoves {
  private readonly waiting = new Map<ConversationId, Marks>();
  private readonly inFlight = new Map<ConversationId, Marks>();
  /** What the server has confirmed. */
  private readonly known = new Map<ConversationId, Marks>();
  private dueAt: number | undefined;

  delivered(id: ConversationId, seq: Seq, dueAt: number): void {
    this.wait(id, { delivered: seq }, dueAt);
  }

  read(id: ConversationId, seq: Seq, dueAt: number): void {
    this.wait(id, { read: seq }, dueAt);
  }

  /** The next move that is due. Its outcome must be reported. */
  next(now: number): { id: ConversationId; marks: Marks } | undefined {
    if (this.dueAt === undefined || this.dueAt > now || this.inFlight.size >= IN_FLIGHT_MAX) {
      return undefined;
    }
    for (const [id, marks] of this.waiting) {
      if (!this.inFlight.has(id)) {
        this.waiting.delete(id);
        this.inFlight.set(id, marks);
        this.dueAt = this.waiting.size === 0 ? undefined : this.dueAt;
        return { id, marks };
      }
    }
    return undefined;
  }

  /** The server has it: its cursor is at least here now. */
  confirmed(id: ConversationId, marks: Required<Marks>): void {
    this.inFlight.delete(id);
    this.known.set(id, marks);
  }

  /** The server will never take it. */
  refused(id: ConversationId): void {
    this.inFlight.delete(id);
  }

  retry(id: ConversationId, dueAt: number): void {
    const marks = this.inFlight.get(id);
    this.inFlight.delete(id);
    if (marks) {
      this.wait(id, marks, dueAt);
    }
  }

  /** The conversation is gone, or begins anew: what the server knew of it means nothing. */
  forget(id: ConversationId): void {
    this.known.delete(id);
    this.waiting.delete(id);
  }

  /** What was on its way may not have come through. */
  disconnected(now: number): void {
    const lost = [...this.inFlight];
    this.inFlight.clear();
    for (const [id, marks] of lost) {
      this.wait(id, marks, now);
    }
  }

  hurry(now: number): void {
    this.dueAt = this.dueAt === undefined ? undefined : Math.min(this.dueAt, now);
  }

  isIdle(): boolean {
    return this.waiting.size === 0 && this.inFlight.size === 0;
  }

  /** When something is to be done; not while so much is under way that nothing could be. */
  nextAt(): number | undefined {
    const canGo =
      this.inFlight.size < IN_FLIGHT_MAX && [...this.waiting.keys()].some((id) => !this.inFlight.has(id));
    return canGo ? this.dueAt : undefined;
  }

  private wait(id: ConversationId, marks: Marks, dueAt: number): void {
    const [known, flying] = [this.known.get(id), this.inFlight.get(id)];
    const isNews = (mark: keyof Marks) =>
      (marks[mark] ?? 0) > Math.max(known?.[mark] ?? 0, flying?.[mark] ?? 0);
    if (!isNews("delivered") && !isNews("read")) {
      return;
    }
    const merged = this.waiting.get(id) ?? {};
    for (const mark of ["delivered", "read"] as const) {
      const seq = marks[mark];
      if (seq !== undefined) {
        merged[mark] = Math.max(seq, merged[mark] ?? 0);
      }
    }
    this.waiting.set(id, merged);
    this.dueAt = Math.min(dueAt, this.dueAt ?? dueAt);
  }
}
