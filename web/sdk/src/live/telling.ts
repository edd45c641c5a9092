/** Sends messages, cursor moves, typing notices and watched users to the server. */

import type { ConversationId, Message } from "../api.js";
import { ApiError } from "../errors.js";
import { monotonicMs } from "../time.js";
import { type CommandGiver, isDue, isPassing } from "./commands.js";
import type { Session } from "./session.js";

export class Telling {
  /** When to send the watched users. */
  private watchAt: number | undefined;

  constructor(
    private readonly session: Session,
    private readonly giver: CommandGiver,
  ) {
    this.watchAt = session.watched.length > 0 ? monotonicMs() : undefined;
  }

  /** The next deadlines. */
  times(): (number | undefined)[] {
    return [this.watchAt];
  }

  watchPresence(): void {
    this.watchAt = monotonicMs();
  }

  begin(now: number): void {
    this.beginSends(now);
    this.beginCursorMoves(now);
    if (isDue(this.watchAt, now)) {
      this.watchAt = undefined;
      this.beginWatching();
    }
  }

  beginCursorMoves(now: number): void {
    const { cursors } = this.session;
    for (let move = cursors.next(now); move; move = cursors.next(now)) {
      const { id, marks } = move;
      this.giver.give(
        "cursor",
        { conversation_id: id, ...marks },
        {
          ok: (cursor) => cursors.confirmed(id, cursor),
          failed: (error) => {
            if (isPassing(error)) {
              cursors.retry(id, monotonicMs() + this.giver.pauseMs(1, error));
            } else {
              cursors.refused(id);
            }
          },
        },
      );
    }
  }

  beginTyping(id: ConversationId, typing: boolean): void {
    if (this.session.typing.isNews(id, typing, monotonicMs())) {
      // May be refused or lost: the next keystroke causes another one.
      const nothing = () => undefined;
      this.giver.give("typing", { conversation_id: id, typing }, { ok: nothing, failed: nothing });
    }
  }

  private beginSends(now: number): void {
    const { outbox, sending, typing } = this.session;
    for (let next = outbox.next(now); next; next = outbox.next(now)) {
      const { id, message } = next;
      typing.sent(id);
      const outcome = {
        ok: (sent: Message) => sending.acknowledged(id, message.client_id, sent),
        failed: (error: Error) => {
          if (error instanceof ApiError && !isPassing(error)) {
            sending.refused(id, message.client_id, error);
          } else {
            outbox.retry(id, (failures) => monotonicMs() + this.giver.pauseMs(failures, error));
          }
        },
      };
      this.giver.give("send", message, outcome, this.session.sendTimeoutMs);
    }
  }

  private beginWatching(): void {
    const { watched, queue } = this.session;
    this.giver.give(
      "watch_presence",
      { user_ids: watched },
      {
        ok: (list) => {
          for (const presence of list.presence) {
            queue.pushIfRoom({ type: "presence", presence });
          }
        },
        failed: (error) => {
          if (isPassing(error)) {
            this.watchAt = monotonicMs() + this.giver.pauseMs(1, error);
          }
        },
      },
    );
  }
}
