/**
 * A session that reconnects and resumes on its own.
 *
 * - here: `Live`, the requests of the application
 * - `update`: the events for the application; `state`: the state that is stored in order to resume later
 * - `logs` (with a `track` per conversation), `outbox`, `cursors`, `catch_up`, `typing`: the state of the session, without I/O
 * - `queue`: between the session and the application
 * - `sending`: messages from the call, through storage, until they are settled
 * - `session`: connects, waits, reconnects; `ended` and `backoff` decide when
 * - `link`, `online`: the session while it has a connection; `reading`, `telling`, `renewal` send its `commands`
 * - `environment`: signals of the browser about the network
 *
 * The session signs the socket in before it requests the changes since the token: changes in between arrive as events. It
 * reads the log of each conversation whose head is ahead of the delivered entries, or whose events have a gap.
 */

import type { ConversationId, Message, SendMessage, Seq, UserId } from "../api.js";
import type { Http } from "../http/index.js";
import { PRESENCE_WATCHED_MAX } from "../limits.js";
import { defaultLocks, type Locks } from "../locks.js";
import type { WebSocketConstructor } from "../socket/index.js";
import { MemoryStorage } from "../storage/memory.js";
import type { CacheChanges, ClientStorage } from "../storage/port.js";
import { Tab } from "../storage/tabs.js";
import type { Random } from "./backoff.js";
import { defaultEnvironment, type Environment } from "./environment.js";
import type { StartAt } from "./logs.js";
import type { UnsentMessage, UnsentName } from "./sending.js";
import { Session } from "./session.js";
import { emptyState, type ResumeState } from "./state.js";
import { type Connection, StoppedError, type Update } from "./update.js";

export { type Environment, PageEnvironment, type Signal } from "./environment.js";
export type { StartAt } from "./logs.js";
export type { UnsentMessage, UnsentName } from "./sending.js";
export type { ResumeState } from "./state.js";
export { type Connection, StoppedError, type StopReason, type Update } from "./update.js";

/** The capacity of the queue of updates. When it is full, entries are dropped and read again later. */
const UPDATES_BUFFERED_MAX = 1_000;
const SEND_TIMEOUT_MS = 5_000;

export interface LiveConfig {
  /** The API with a signed-in user. The session refreshes its tokens when they expire. */
  http: Http;
  /** Storage for the data that outlives a reload. Default: in memory. */
  storage?: ClientStorage;
  /** Where existing conversations begin on a first start. Default: `head`. */
  startAt?: StartAt;
  updatesBufferedMax?: number;
  /**
   * The time without an acknowledgement after which a message is sent again, following a backoff. The client id makes the
   * retry idempotent. Default: 5 seconds.
   */
  sendTimeoutMs?: number;
  /** Default: the `WebSocket` of the browser. */
  webSocket?: WebSocketConstructor;
  locks?: Locks;
  environment?: Environment;
  random?: Random;
}

export class Live implements AsyncIterable<Update> {
  private readonly ended: Promise<void>;

  /** Starts to connect. Resumes from the state in the storage. */
  static async start(config: LiveConfig): Promise<Live> {
    const storage = config.storage ?? new MemoryStorage();
    const state = (await storage.resumeState()) ?? emptyState();
    const parts = {
      http: config.http,
      webSocket: config.webSocket,
      storage,
      tab: new Tab(storage, config.locks ?? defaultLocks()),
      environment: config.environment ?? defaultEnvironment(),
      random: config.random ?? Math.random,
      startAt: config.startAt ?? "head",
      updatesBufferedMax: config.updatesBufferedMax ?? UPDATES_BUFFERED_MAX,
      sendTimeoutMs: config.sendTimeoutMs ?? SEND_TIMEOUT_MS,
    };
    return new Live(new Session(parts, state), storage);
  }

  private constructor(
    private readonly session: Session,
    private readonly storage: ClientStorage,
  ) {
    this.ended = session.run();
  }

  /**
   * The next update, in order; `undefined` after the session has stopped. The call confirms that the application has
   * processed the previous update: only then the session acknowledges it to the server and does not deliver it again.
   */
  next(): Promise<Update | undefined> {
    return this.session.queue.next();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Update, void, void> {
    for (let update = await this.next(); update; update = await this.next()) {
      yield update;
    }
  }

  /** The position after the last update that the application has processed. */
  get state(): ResumeState {
    return structuredClone(this.session.queue.state);
  }

  /**
   * Stores the position after the last update that the application took, together with the results of that update. After
   * a reload the session continues exactly there.
   */
  async checkpoint(changes: CacheChanges = {}): Promise<void> {
    this.session.queue.settleCurrent();
    await this.storage.checkpoint(this.state, changes);
  }

  /**
   * Sends a message and waits until it is durable. The session retries with the same client id until the server has
   * acknowledged the message or refused it for good, however often the connection breaks or the page is reloaded.
   *
   * Messages to one conversation arrive in the order of the calls.
   */
  send(conversation: ConversationId, message: SendMessage): Promise<Message> {
    return this.session.sending.send(conversation, message);
  }

  /** Like `send`, but resolves as soon as the message is stored in its order. Updates report the result. */
  enqueue(conversation: ConversationId, message: SendMessage): Promise<void> {
    return this.session.sending.enqueue(conversation, message);
  }

  /** Messages that are queued, in flight or refused, in the order of the calls. */
  unsent(): UnsentMessage[] {
    return this.session.sending.unsent();
  }

  /** Sends a refused message again, after all queued messages. Returns whether it exists. */
  retry(unsent: UnsentName): Promise<boolean> {
    return this.session.sending.retry(unsent);
  }

  /** Removes a message that was refused or is queued. Returns false if it is in flight. */
  drop(unsent: UnsentName): boolean {
    return this.session.sending.drop(unsent);
  }

  /** The user has read up to `seq`. The server learns of it after a short delay, or after the next connect. */
  read(conversation: ConversationId, seq: Seq): void {
    this.session.markRead(conversation, seq);
  }

  /** The user has started or stopped typing. May be called for every keystroke. Dropped without a connection. */
  typing(conversation: ConversationId, typing: boolean): void {
    this.session.setTyping(conversation, typing);
  }

  /** Replaces the users whose presence is watched. Their presence arrives now, after each connect, and when it changes. */
  watchPresence(users: UserId[]): void {
    if (users.length > PRESENCE_WATCHED_MAX) {
      throw new RangeError(`the presence of at most ${PRESENCE_WATCHED_MAX} users can be watched`);
    }
    this.session.watchPresence([...users]);
  }

  /** The state of the connection. */
  get connection(): Connection {
    return this.session.connection;
  }

  /** Waits until the session is signed in. */
  online(): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (connection: Connection): void => {
        if (connection.state === "online") {
          resolve();
        } else if (connection.state === "stopped") {
          reject(new StoppedError(connection.reason));
        } else {
          return;
        }
        unwatch();
      };
      const unwatch = this.session.watchConnection(look);
      look(this.session.connection);
    });
  }

  /**
   * Ends the session after the messages in flight and the cursors have been acknowledged, or after two seconds. Unsent
   * messages stay in the storage.
   */
  async close(): Promise<void> {
    this.session.close();
    await this.ended;
  }
}
