/**
 * One WebSocket connection.
 *
 * - here: `Socket`, which connects, gives commands and tells events
 * - `frames`: what goes over the wire
 * - `pending`: commands that wait for their answers
 * - `heartbeat`: noticing a server that is gone
 * - `closed`: why it ended, and whether to come back
 * - `web_socket`: what is needed of the WebSocket below
 *
 * A socket does not connect again; a live session does. Events are told at once and not kept: whoever listens decides
 * what there is room for.
 */

import type { CommandName, Commands, Hello } from "../api.js";
import { ApiError, SocketClosedError, TimeoutError } from "../errors.js";
import { COMMANDS_IN_FLIGHT_MAX } from "../limits.js";
import { type Closed, closedBy } from "./closed.js";
import { commandFrame, parseFrame, type SocketEvent } from "./frames.js";
import { Heartbeat } from "./heartbeat.js";
import { PendingCommands } from "./pending.js";
import { defaultWebSocket, socketUrl, type WebSocketConstructor, type WebSocketLike } from "./web_socket.js";

export { CloseCode, type Closed, describeClosed, mayReconnect } from "./closed.js";
export type { SocketEvent } from "./frames.js";
export type { WebSocketConstructor, WebSocketLike } from "./web_socket.js";

const CONNECT_TIMEOUT_MS = 10_000;
const COMMAND_TIMEOUT_MS = 30_000;

export interface SocketConfig {
  /** Such as `https://chat.example.org`. */
  baseUrl: string;
  /** That of the browser when absent. */
  webSocket?: WebSocketConstructor;
  /** From the first packet to the hello frame. */
  connectTimeoutMs?: number;
  /** From giving a command to its answer, waiting for a place among those in flight included. */
  commandTimeoutMs?: number;
  onEvent?: (event: SocketEvent) => void;
  /** Called once. Then all commands without an answer fail. */
  onClose?: (closed: Closed) => void;
}

/** Exactly one of the two is called. */
export interface Outcome<T> {
  ok: (value: T) => void;
  failed: (error: Error) => void;
}

const utf8 = new TextEncoder();

export class Socket {
  closed: Closed | undefined;
  private readonly pending: PendingCommands;
  private readonly heartbeat: Heartbeat;
  private nextId = 1;

  /** Connects and waits for the server's hello. */
  static connect(config: SocketConfig, signal?: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const web = new (config.webSocket ?? defaultWebSocket())(socketUrl(config.baseUrl));
      const fail = (error: Error) => {
        settled();
        discard(web);
        reject(error);
      };
      const giveUp = () => fail(signal?.reason as Error);
      const timeoutMs = config.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
      const timer = setTimeout(() => fail(new TimeoutError("opening the socket")), timeoutMs);
      const settled = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
      };
      signal?.addEventListener("abort", giveUp);
      web.onerror = () => undefined;
      web.onclose = (event) => fail(new SocketClosedError(closedBy(event)));
      web.onmessage = (message) => {
        const incoming = parseFrame(String(message.data));
        if (incoming.frame === "event" && incoming.event.type === "hello") {
          settled();
          resolve(new Socket(web, incoming.event.data, config));
        }
      };
    });
  }

  private constructor(
    private readonly web: WebSocketLike,
    readonly hello: Hello,
    private readonly config: SocketConfig,
  ) {
    const inFlightMax = Math.min(hello.limits.commands_in_flight_max, COMMANDS_IN_FLIGHT_MAX);
    this.pending = new PendingCommands(Math.max(1, inFlightMax));
    this.heartbeat = new Heartbeat(hello.heartbeat_ms, {
      // It goes past those that wait for a place: they may wait because nobody is there.
      ask: () => web.send(commandFrame(this.nextId++, "ping", {})),
      silent: () => this.end({ by: "silence" }),
    });
    web.onmessage = (message) => this.read(String(message.data));
    web.onclose = (event) => this.end(closedBy(event));
  }

  /** Gives a command and waits for its answer. Commands go out in the order in which they are given. */
  command<K extends CommandName>(name: K, body: Commands[K]["body"]): Promise<Commands[K]["reply"]> {
    return new Promise((resolve, reject) => this.give(name, body, { ok: resolve, failed: reject }));
  }

  /**
   * Gives a command and tells its outcome in turn with the events: what came after the answer is told after it. (Who
   * waits for a promise may hear of events first that came later.) What cannot be sent fails at once.
   */
  give<K extends CommandName>(
    name: K,
    body: Commands[K]["body"],
    outcome: Outcome<Commands[K]["reply"]>,
    timeoutMs = this.config.commandTimeoutMs ?? COMMAND_TIMEOUT_MS,
  ): void {
    const id = this.nextId++;
    const frame = commandFrame(id, name, body);
    const refusal = this.closed ? new SocketClosedError(this.closed) : this.tooLarge(frame);
    if (refusal) {
      outcome.failed(refusal);
      return;
    }
    const timer = setTimeout(() => {
      this.pending.giveUp(id);
      outcome.failed(new TimeoutError(name));
    }, timeoutMs);
    this.pending.add({
      id,
      frame,
      resolve: (value) => {
        clearTimeout(timer);
        // What is in an answer is what the server's document says; this is where that is believed.
        outcome.ok(value as Commands[K]["reply"]);
      },
      reject: (error) => {
        clearTimeout(timer);
        outcome.failed(error);
      },
    });
    this.write();
  }

  /** Makes sure that the server is still there, where there is reason to doubt it. */
  probe(): void {
    if (!this.closed) {
      this.heartbeat.probe();
    }
  }

  close(): void {
    this.end({ by: "client" });
  }

  /** A larger frame would cost the connection. The server would refuse what is in it with the same words. */
  private tooLarge(frame: string): ApiError | undefined {
    const bytes = utf8.encode(frame).length;
    const bytesMax = this.hello.limits.frame_bytes_max;
    const detail = `${bytes} bytes are more than the ${bytesMax} that the server takes`;
    const problem = { code: "too_large", title: "too large", detail, status: 413, temporary: false } as const;
    return bytes > bytesMax ? new ApiError(problem) : undefined;
  }

  private write(): void {
    for (let given = this.pending.next(); given; given = this.pending.next()) {
      this.web.send(given.frame);
    }
  }

  private read(text: string): void {
    this.heartbeat.heard();
    const incoming = parseFrame(text);
    if (incoming.frame === "event") {
      this.config.onEvent?.(incoming.event);
    } else if (incoming.frame !== "unknown") {
      this.pending.answered(incoming);
      this.write();
    }
  }

  /** The connection below may take its time to close; nothing that still comes from it is heard. */
  private end(closed: Closed): void {
    if (this.closed) {
      return;
    }
    this.closed = closed;
    this.heartbeat.stop();
    discard(this.web);
    // Told first: whoever sends again what was on its way does so on the next connection, not after a failure on this one.
    this.config.onClose?.(closed);
    this.pending.failAll(new SocketClosedError(closed));
  }
}

function discard(web: WebSocketLike): void {
  web.onmessage = null;
  web.onclose = null;
  web.onerror = () => undefined;
  web.close();
}
