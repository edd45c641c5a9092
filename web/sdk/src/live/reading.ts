/** Reads missed changes: sends `sync` and `log`, and handles the replies. */

import type { ConversationId, LogPage } from "../api.js";
import { codeOf } from "../errors.js";
import { monotonicMs } from "../time.js";
import { type CommandGiver, isDue } from "./commands.js";
import type { Session } from "./session.js";

/** Pages of logs in flight. */
const LOG_READS_MAX = 4;
/** The interval of additional syncs: a lost event leaves no gap until the next event. */
const SYNC_EVERY_MS = 15 * 60_000;

export class Reading {
  private logReads = 0;
  /** The server could not answer. No `sync` and no `log` before this time. */
  private pausedUntil: number | undefined;
  private failures = 0;
  private syncAt: number | undefined;

  constructor(
    private readonly session: Session,
    private readonly giver: CommandGiver,
  ) {}

  /** The next deadlines. */
  times(): (number | undefined)[] {
    return [this.pausedUntil, this.syncAt];
  }

  /** Schedules a sync within this time, because events may have been lost. */
  syncWithin(ms: number): void {
    this.syncAt = Math.min(monotonicMs() + ms, this.syncAt ?? Infinity);
  }

  begin(now: number): void {
    if (isDue(this.syncAt, now)) {
      this.syncAt = undefined;
      this.session.catchUp.begin();
    }
    if (isDue(this.pausedUntil, now)) {
      this.pausedUntil = undefined;
    }
    if (this.pausedUntil === undefined) {
      this.beginSync();
      this.beginLogReads();
    }
  }

  private beginSync(): void {
    const { catchUp, queue } = this.session;
    if (!catchUp.wantsPage() || !queue.hasRoom()) {
      return;
    }
    const page = catchUp.nextPage();
    this.giver.give(
      "sync",
      { ...page, limit: this.pageLimit() },
      {
        ok: (answer) => {
          this.failures = 0;
          catchUp.page(answer);
          this.syncWithin(SYNC_EVERY_MS);
        },
        failed: (error) => {
          if (codeOf(error) === "invalid_cursor") {
            catchUp.pageRefused();
          } else {
            catchUp.pageFailed();
          }
          this.pauseReads(error);
        },
      },
    );
  }

  private beginLogReads(): void {
    const { logs, queue } = this.session;
    while (this.logReads < LOG_READS_MAX && queue.hasRoom()) {
      const due = logs.nextDue();
      if (!due) {
        return;
      }
      this.logReads += 1;
      const { id, after } = due;
      this.giver.give(
        "log",
        { conversation_id: id, after, limit: this.pageLimit() },
        {
          ok: (page) => {
            this.logReads -= 1;
            this.logRead(id, page);
          },
          failed: (error) => {
            this.logReads -= 1;
            this.logReadFailed(id, error);
          },
        },
      );
    }
  }

  private logRead(id: ConversationId, page: LogPage): void {
    const { logs, queue, catchUp } = this.session;
    const begin = logs.begins(id, page.begins);
    if (begin) {
      queue.push({ type: begin.isNew ? "begin" : "reset", conversationId: id, seq: begin.seq });
    }
    const read = logs.page(id, page, (entry) => queue.push({ type: "entry", conversationId: id, entry }));
    switch (read.outcome) {
      case "done":
        this.failures = 0;
        break;
      case "stuck":
        this.pauseReads(undefined);
        break;
      case "reset":
        this.resetTo(id, read.seq);
        break;
    }
    catchUp.progress(id);
  }

  private logReadFailed(id: ConversationId, error: unknown): void {
    const { logs, catchUp } = this.session;
    switch (codeOf(error)) {
      case "not_found":
        // The conversation is gone, or the user may no longer see it; the account log tells the application.
        logs.forget(id);
        catchUp.giveUp(id);
        break;
      case "seq_ahead_of_log":
        this.resetTo(id, logs.aheadOfServer(id));
        break;
      default:
        logs.readFailed(id);
        this.pauseReads(error);
    }
  }

  private resetTo(id: ConversationId, seq: number | undefined): void {
    this.session.cursors.forget(id);
    if (seq !== undefined) {
      this.session.queue.push({ type: "reset", conversationId: id, seq });
    }
    this.session.catchUp.giveUp(id);
  }

  private pauseReads(error: unknown): void {
    this.failures += 1;
    this.pausedUntil = monotonicMs() + this.giver.pauseMs(this.failures, error);
  }

  private pageLimit(): number {
    return Math.max(1, Math.min(this.session.pageMax, this.giver.socket.hello.limits.page_max));
  }
}
