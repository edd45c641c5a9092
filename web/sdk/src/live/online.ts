/** A live session while it has a connection: its events, its timers, and its end. */

import type { ConversationId, EntryEvent } from "../api.js";
import type { Closed } from "../socket/closed.js";
import type { SocketEvent } from "../socket/frames.js";
import { monotonicMs } from "../time.js";
import { CommandGiver } from "./commands.js";
import { type Ended, endedByClose } from "./ended.js";
import type { Link } from "./link.js";
import { Reading } from "./reading.js";
import { Renewal } from "./renewal.js";
import type { Session } from "./session.js";
import { Telling } from "./telling.js";

/** The time that closing may take for commands in flight. */
const CLOSE_WITHIN_MS = 2_000;
/** The interval of the search for messages of closed tabs. */
const ADOPT_EVERY_MS = 30_000;
const SERVICE_RESTARTS = "the server is restarting";
/** The longest timer of browsers. A longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** No new commands start, and the connection ends when those in flight are done. */
interface Leaving {
  at: number;
  ended: () => Ended;
}

export class Online {
  private readonly reading: Reading;
  private readonly telling: Telling;
  private readonly renewal: Renewal;
  private leaving: Leaving | undefined;
  private adoptAt = 0;
  private finish: ((ended: Ended) => void) | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private awake = false;

  constructor(
    private readonly session: Session,
    private readonly link: Link,
  ) {
    const port = {
      wake: () => this.wake(),
      end: (ended: Ended) => this.end(ended),
      isOver: () => this.finish === undefined,
    };
    const giver = new CommandGiver(link.socket, port, session.random);
    this.reading = new Reading(session, giver);
    this.telling = new Telling(session, giver);
    this.renewal = new Renewal(session.http, giver, link.accessToken, link.signedIn);
  }

  /** Resolves when the connection ends, with the reason. */
  run(): Promise<Ended> {
    return new Promise((resolve) => {
      this.finish = resolve;
      this.session.catchUp.beginAnew();
      this.link.listen({ event: (event) => this.event(event), closed: (closed) => this.closed(closed) });
      this.wake();
    });
  }

  /** Schedules a check for work. Several calls before the check cause only one. */
  wake(): void {
    if (!this.awake) {
      this.awake = true;
      queueMicrotask(() => {
        this.awake = false;
        this.pump();
      });
    }
  }

  close(): void {
    this.leave(CLOSE_WITHIN_MS, () => ({ next: "stop", reason: { by: "application" } }));
  }

  probe(): void {
    this.link.socket.probe();
  }

  watchPresence(): void {
    this.telling.watchPresence();
    this.wake();
  }

  tellTyping(id: ConversationId, typing: boolean): void {
    if (!this.leaving) {
      this.telling.beginTyping(id, typing);
    }
  }

  private pump(): void {
    if (!this.finish) {
      return;
    }
    const now = monotonicMs();
    for (const [id, seq] of this.session.queue.takeTaken()) {
      this.session.delivered(id, seq);
    }
    if (this.leaving) {
      this.telling.beginCursorMoves(now);
      if (this.hasLeft(this.leaving, now)) {
        this.end(this.leaving.ended());
        return;
      }
    } else {
      this.adopt(now);
      // Missed changes come before outgoing commands.
      this.reading.begin(now);
      this.telling.begin(now);
      this.renewal.begin(now);
    }
    this.arm();
  }

  private adopt(now: number): void {
    if (this.adoptAt <= now) {
      this.adoptAt = now + ADOPT_EVERY_MS;
      // If the storage cannot be read, the next attempt may succeed.
      this.session.sending.adopt().catch(() => undefined);
    }
  }

  private event(event: SocketEvent): void {
    const { queue, catchUp } = this.session;
    switch (event.type) {
      case "entry":
        this.entry(event.data);
        break;
      case "entry_omitted":
        this.session.logs.skip(event.data.conversation_id, event.data.seq);
        break;
      case "account":
        catchUp.account(event.data);
        break;
      case "cursor":
        if (!queue.pushCursor(event.data)) {
          // A round of `sync` waits until there is room, and then brings the cursors that moved.
          catchUp.begin();
        }
        break;
      case "typing":
        queue.pushIfRoom({ type: "typing", typing: event.data });
        break;
      case "presence":
        queue.pushIfRoom({ type: "presence", presence: event.data });
        break;
      case "user_updated":
        if (!queue.pushIfRoom({ type: "user_updated", user: event.data })) {
          // `sync` does not include profiles. The round ends with `caught_up`, and the application then loads names again.
          catchUp.begin();
        }
        break;
      case "reconnect": {
        const returnAt = monotonicMs() + event.data.after_ms;
        const returning = (): Ended => ({
          next: "return",
          afterMs: Math.max(0, returnAt - monotonicMs()),
          cause: SERVICE_RESTARTS,
        });
        this.leave(event.data.after_ms, returning);
        break;
      }
      case "catch_up":
        this.reading.syncWithin(event.data.after_ms);
        break;
      case "hello":
        break;
    }
    this.wake();
  }

  private entry({ conversation_id: conversationId, ...entry }: EntryEvent): void {
    const { queue, logs, catchUp } = this.session;
    if (queue.hasRoom()) {
      logs.offer(conversationId, entry, (next) => queue.push({ type: "entry", conversationId, entry: next }));
      catchUp.progress(conversationId);
    } else {
      logs.skip(conversationId, entry.seq);
    }
  }

  private leave(withinMs: number, ended: () => Ended): void {
    this.session.cursors.hurry(monotonicMs());
    // A request of the application to stop takes precedence over one of the server.
    if (this.leaving?.ended().next !== "stop") {
      this.leaving = { at: monotonicMs() + withinMs, ended };
    }
    this.wake();
  }

  private hasLeft(leaving: Leaving, now: number): boolean {
    const idle = this.session.outbox.inFlight === 0 && this.session.cursors.isIdle();
    return idle || leaving.at <= now;
  }

  private closed(closed: Closed): void {
    this.end(this.leaving ? this.leaving.ended() : endedByClose(closed));
  }

  private end(ended: Ended): void {
    const finish = this.finish;
    this.finish = undefined;
    clearTimeout(this.timer);
    this.link.socket.close();
    finish?.(ended);
  }

  /** Sets the timer for the next deadline. */
  private arm(): void {
    clearTimeout(this.timer);
    const { cursors, outbox } = this.session;
    const parts = [this.reading, this.telling, this.renewal].flatMap((part) => part.times());
    const times = this.leaving
      ? [this.leaving.at, cursors.nextAt()]
      : [this.adoptAt, cursors.nextAt(), outbox.nextAt(), ...parts];
    const next = Math.min(...times.filter((at) => at !== undefined));
    if (Number.isFinite(next)) {
      const waitMs = Math.min(Math.max(0, next - monotonicMs()), TIMER_MS_MAX);
      this.timer = setTimeout(() => this.wake(), waitMs);
    }
  }
}
