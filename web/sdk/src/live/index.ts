/**
 * A session that heals itself.
 *
 * - here: `Live`, what the application asks for
 * - `update`: what it is told; `state`: what it keeps
 * - `logs` (of `track`s), `outbox`, `cursors`, `catch_up`, `typing`: the book-keeping, each without input or output
 * - `queue`: between the session and the application
 * - `sending`: messages from the moment they are given, through storage, until they are settled
 * - `session`: connects, waits, connects again; `ended` and `backoff` say what follows when
 * - `link`, `online`: the session while it has a connection; `reading`, `telling`, `renewal` give its `commands`
 * - `environment`: what the browser knows of the network
 *
 * The socket is signed in first and then asked what changed since the token: what happens in between comes as an event.
 * A conversation whose head is further than what was seen is read from its log, and so is one whose events have a gap.
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

/** Updates that wait to be taken. When there are more, entries are not kept but read again later. */
const UPDATES_BUFFERED_MAX = 1_000;
const SEND_TIMEOUT_MS = 5_000;

export interface LiveConfig {
  /** Whoever is signed in here; its tokens are refreshed when they expire. */
  http: Http;
  /** What outlives a reload. In memory when absent. */
  storage?: ClientStorage;
  /** Where the conversations begin that are there on a first start; `head` when absent. */
  startAt?: StartAt;
  updatesBufferedMax?: number;
  /**
   * How long a message may go without an acknowledgement before it is sent again, after a wait that doubles each time.
   * The client id makes it the same message. 5 seconds when absent.
   */
  sendTimeoutMs?: number;
  /** That of the browser when absent. */
  webSocket?: WebSocketConstructor;
  locks?: Locks;
  environment?: Environment;
  random?: Random;
}

export class Live implements AsyncIterable<Update> {
  private readonly ended: Promise<void>;

  /** Begins to connect. Goes on from where the storage says that the application was. */
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
   * The next update, in order; `undefined` after the session has stopped. Asking for it says that the one before has
   * been dealt with: only then it is acknowledged to the server, and does not come again.
   */
  next(): Promise<Update | undefined> {
    return this.session.queue.next();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Update, void, void> {
    for (let update = await this.next(); update; update = await this.next()) {
      yield update;
    }
  }

  /** Where the application is after the update that it has dealt with last. */
  get state(): ResumeState {
    return structuredClone(this.session.queue.state);
  }

  /**
   * Keeps where the application is after the update that it took last, together with what came of it: after a reload
   * the session goes on exactly there.
   */
  async checkpoint(changes: CacheChanges = {}): Promise<void> {
    this.session.queue.settleCurrent();
    await this.storage.checkpoint(this.state, changes);
  }

  /**
   * Sends a message and waits until it is durable. It is sent again, with the same client id, until the server has
   * acknowledged it or refused it for good, however often the connection breaks and the page is loaded anew.
   *
   * Messages to one conversation arrive in the order in which they were given.
   */
  send(conversation: ConversationId, message: SendMessage): Promise<Message> {
    return this.session.sending.send(conversation, message);
  }

  /** Like `send`, but done as soon as the message has its place in the order and is stored. Updates tell the rest. */
  enqueue(conversation: ConversationId, message: SendMessage): Promise<void> {
    return this.session.sending.enqueue(conversation, message);
  }

  /** Messages that are on their way or were refused, in the order in which they were given. */
  unsent(): UnsentMessage[] {
    return this.session.sending.unsent();
  }

  /** Sends a refused message again, after those that were given since. Says whether there was one. */
  retry(unsent: UnsentName): Promise<boolean> {
    return this.session.sending.retry(unsent);
  }

  /** Forgets a message that was refused or has not gone yet. Says whether it did: what is on its way stays. */
  drop(unsent: UnsentName): boolean {
    return this.session.sending.drop(unsent);
  }

  /** The user has read up to `seq`. The server is told a little later, and also after a disconnect. */
  read(conversation: ConversationId, seq: Seq): void {
    this.session.markRead(conversation, seq);
  }

  /** The user types, or has stopped. May be called for every keystroke; forgotten while there is no connection. */
  typing(conversation: ConversationId, typing: boolean): void {
    this.session.setTyping(conversation, typing);
  }

  /** Replaces the users whose presence is told: how it is with them now, after each connect, and when it changes. */
  watchPresence(users: UserId[]): void {
    if (users.length > PRESENCE_WATCHED_MAX) {
      throw new RangeError(`the presence of at most ${PRESENCE_WATCHED_MAX} users can be watched`);
    }
    this.session.watchPresence([...users]);
  }

  /** How it stands with the connection. */
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
   * Ends the session after the messages on their way and the cursors have been acknowledged, or after two seconds. What
   * was not sent stays in the storage.
   */
  async close(): Promise<void> {
    this.session.close();
    await this.ended;
  }
}
