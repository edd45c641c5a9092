/**
 * Cursor moves that the server has not acknowledged. This module does no I/O.
 *
 * A move waits briefly, because the next move often replaces it, and is kept until the server has acknowledged it. Cursors
 * only move forward: a move that the server already knows is not sent.
 */

import type { ConversationId, Seq } from "../api.js";

/** Moves in flight. */
const IN_FLIGHT_MAX = 8;

export interface Marks {
  delivered?: Seq;
  read?: Seq;
}

export class CursorMoves {
  private readonly waiting = new Map<ConversationId, Marks>();
  private readonly inFlight = new Map<ConversationId, Marks>();
  /** The cursors that the server has confirmed. */
  private readonly known = new Map<ConversationId, Marks>();
  private dueAt: number | undefined;

  delivered(id: ConversationId, seq: Seq, dueAt: number): void {
    this.wait(id, { delivered: seq }, dueAt);
  }

  read(id: ConversationId, seq: Seq, dueAt: number): void {
    this.wait(id, { read: seq }, dueAt);
  }

  /** The next due move. The caller must report its outcome. */
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

  /** The server has stored the move, so its cursor is at least here. */
  confirmed(id: ConversationId, marks: Required<Marks>): void {
    this.inFlight.delete(id);
    this.known.set(id, marks);
  }

  /** The server refused the move for good. */
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

  /** The conversation is gone or was reset, so the confirmed cursor is no longer valid. */
  forget(id: ConversationId): void {
    this.known.delete(id);
    this.waiting.delete(id);
  }

  /** The connection is gone: moves in flight are sent again. */
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

  /** When the next move is due. `undefined` while too many moves are in flight. */
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
