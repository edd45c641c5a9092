/** The live session: connects, waits, reconnects. Holds the state that outlives a connection. */

import type { ConversationId, Seq, UserId } from "../api.js";
import type { Http } from "../http/index.js";
import type { WebSocketConstructor } from "../socket/index.js";
import type { ClientStorage } from "../storage/port.js";
import type { Tab } from "../storage/tabs.js";
import { PAGE_MAX } from "../limits.js";
import { monotonicMs, sleep } from "../time.js";
import { backoffMs, type Random, STABLE_AFTER_MS } from "./backoff.js";
import { CatchUp } from "./catch_up.js";
import { CursorMoves } from "./cursors.js";
import { type Ended, endedByError } from "./ended.js";
import type { Environment, Signal } from "./environment.js";
import { Link } from "./link.js";
import { Logs, type StartAt } from "./logs.js";
import { Online } from "./online.js";
import { Outbox } from "./outbox.js";
import { Queue } from "./queue.js";
import { Sending } from "./sending.js";
import type { ResumeState } from "./state.js";
import { TypingNotices } from "./typing.js";
import { type Connection, StoppedError, type StopReason } from "./update.js";

/** The delay between taking an entry and acknowledging delivery. Later entries share the acknowledgement. */
const ACKNOWLEDGE_AFTER_MS = 200;

export interface SessionParts {
  http: Http;
  webSocket: WebSocketConstructor | undefined;
  storage: ClientStorage;
  tab: Tab;
  environment: Environment;
  random: Random;
  startAt: StartAt;
  updatesBufferedMax: number;
  sendTimeoutMs: number;
}

export class Session {
  readonly logs: Logs;
  readonly outbox = new Outbox();
  readonly cursors = new CursorMoves();
  readonly typing = new TypingNotices();
  readonly catchUp: CatchUp;
  readonly queue: Queue;
  readonly sending: Sending;
  watched: UserId[] = [];
  connection: Connection = { state: "connecting" };

  private readonly connectionListeners = new Set<(connection: Connection) => void>();
  private online: Online | undefined;
  /** Consecutive connections that failed or were short. */
  private failures = 0;
  /** The largest page that this client requests. It shrinks after a page was too large for a connection. */
  pageMax = PAGE_MAX;
  private readonly stopping = new AbortController();
  /** Ends the wait before the next attempt, for example when the network is back. */
  private pause = new AbortController();

  constructor(
    private readonly parts: SessionParts,
    state: ResumeState,
  ) {
    this.queue = new Queue(parts.updatesBufferedMax, state);
    this.queue.onProgress = () => this.online?.wake();
    this.logs = new Logs(parts.startAt, state.seen, state.token !== undefined);
    this.catchUp = new CatchUp(state.token, state.accountSeq, this.logs, this.queue, (id) =>
      this.cursors.forget(id),
    );
    this.sending = new Sending(parts.storage, parts.tab, this.outbox, this.queue, () => this.online?.wake());
  }

  get http(): Http {
    return this.parts.http;
  }

  get random(): Random {
    return this.parts.random;
  }

  get sendTimeoutMs(): number {
    return this.parts.sendTimeoutMs;
  }

  /** Resolves when no other attempt follows. */
  async run(): Promise<void> {
    const unsubscribe = this.parts.environment.subscribe((signal) => this.signalled(signal));
    // Unsent messages must be loaded before new ones are sent. If the storage cannot be read now, a later attempt follows.
    await this.sending.start().catch(() => undefined);
    const reason = await this.keepConnected();
    unsubscribe();
    this.tell({ state: "stopped", reason });
    this.sending.stop(new StoppedError(reason));
    this.queue.finish();
  }

  /** Ends the session when the commands in flight are done, or after a timeout. */
  close(): void {
    this.stopping.abort();
    this.pause.abort();
    this.online?.close();
  }

  /** Calls the listener for every change of the connection. Returns a function that ends the subscription. */
  watchConnection(listener: (connection: Connection) => void): () => void {
    this.connectionListeners.add(listener);
    return () => this.connectionListeners.delete(listener);
  }

  delivered(id: ConversationId, seq: Seq): void {
    this.cursors.delivered(id, seq, monotonicMs() + ACKNOWLEDGE_AFTER_MS);
  }

  markRead(id: ConversationId, seq: Seq): void {
    this.cursors.read(id, seq, monotonicMs() + ACKNOWLEDGE_AFTER_MS);
    this.online?.wake();
  }

  /** The user has started or stopped typing. Dropped without a connection. */
  setTyping(id: ConversationId, typing: boolean): void {
    this.online?.tellTyping(id, typing);
  }

  watchPresence(users: UserId[]): void {
    this.watched = users;
    this.online?.watchPresence();
  }

  private async keepConnected(): Promise<StopReason> {
    for (;;) {
      const ended = await this.connectOnce();
      if (ended.next === "stop") {
        return ended.reason;
      }
      if (!this.stopping.signal.aborted) {
        await this.wait(ended);
      }
      if (this.stopping.signal.aborted) {
        return { by: "application" };
      }
    }
  }

  private async connectOnce(): Promise<Ended> {
    this.tell({ state: "connecting" });
    let link: Link;
    try {
      link = await Link.open(this.parts.http, this.parts.webSocket, this.stopping.signal);
    } catch (error) {
      return endedByError(error);
    }
    if (this.stopping.signal.aborted) {
      link.socket.close();
      return { next: "stop", reason: { by: "application" } };
    }
    this.queue.me = link.signedIn.user_id;
    this.tell({ state: "online" });
    const openedAt = monotonicMs();
    this.online = new Online(this, link);
    const ended = await this.online.run();
    this.online = undefined;
    this.disconnected();
    const isStable = monotonicMs() - openedAt >= STABLE_AFTER_MS;
    if (isStable) {
      this.failures = 0;
    }
    if (ended.next === "retry" && ended.tooMuch) {
      // The same page would fail again.
      this.pageMax = Math.max(1, Math.floor(this.pageMax / 4));
    } else if (isStable) {
      this.pageMax = PAGE_MAX;
    }
    return ended;
  }

  /** Waits for the full delay that the server asks for. A signal, such as the network coming back, ends the rest early. */
  private async wait(ended: Exclude<Ended, { next: "stop" }>): Promise<void> {
    this.pause = new AbortController();
    let [atLeastMs, totalMs] = [0, 0];
    if (ended.next === "return") {
      atLeastMs = totalMs = ended.afterMs;
    } else {
      this.failures += 1;
      atLeastMs = ended.atLeastMs;
      totalMs = Math.max(backoffMs(this.failures, this.parts.random), atLeastMs);
    }
    this.tell({ state: "offline", retryInMs: totalMs, cause: ended.cause });
    await sleep(atLeastMs, this.stopping.signal);
    await sleep(totalMs - atLeastMs, this.pause.signal);
  }

  private signalled(signal: Signal): void {
    if (signal === "online" || signal === "visible") {
      this.pause.abort();
    }
    if (signal === "hidden") {
      // The browser may freeze the page before the cursor moves are due.
      this.cursors.hurry(monotonicMs());
      this.online?.wake();
    } else {
      this.online?.probe();
    }
  }

  private disconnected(): void {
    this.logs.disconnected();
    this.outbox.disconnected();
    this.cursors.disconnected(monotonicMs());
    this.typing.disconnected();
  }

  private tell(connection: Connection): void {
    this.connection = connection;
    this.queue.push({ type: "connection", connection });
    for (const listener of this.connectionListeners) {
      listener(connection);
    }
  }
}
