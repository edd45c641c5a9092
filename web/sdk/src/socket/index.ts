/**
 * One WebSocket connection.
 *
 * - here: `Socket`, which connects, sends commands and emits events
 * - `frames`: the frames on the wire
 * - `pending`: commands that wait for their replies
 * - `heartbeat`: detects a server that is gone
 * - `closed`: why the socket closed, and whether to reconnect
 * - `web_socket`: the part of the WebSocket interface that is used
 *
 * A socket does not reconnect; a live session does. A socket passes events on at once and does not buffer them: the
 * listener decides what it has room for.
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
  /** The address of the server, such as `https://chat.example.org`. */
  baseUrl: string;
  /** Default: the `WebSocket` of the browser. */
  webSocket?: WebSocketConstructor;
  /** From the first packet to the hello frame. */
  connectTimeoutMs?: number;
  /** From the call to the reply, including the wait for a free slot. */
  commandTimeoutMs?: number;
  onEvent?: (event: SocketEvent) => void;
  /** Called once. All commands without a reply fail after it. */
  onClose?: (closed: Closed) => void;
}

/** The callbacks of a command. Exactly one of them is called. */
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
      // Bypasses the queue of commands, which may be stuck because the server is gone.
      ask: () => web.send(commandFrame(this.nextId++, "ping", {})),
      silent: () => this.end({ by: "silence" }),
    });
    web.onmessage = (message) => this.read(String(message.data));
    web.onclose = (event) => this.end(closedBy(event));
  }

  /** Sends a command and waits for its reply. Commands are sent in the order of the calls. */
  command<K extends CommandName>(name: K, body: Commands[K]["body"]): Promise<Commands[K]["reply"]> {
    return new Promise((resolve, reject) => this.give(name, body, { ok: resolve, failed: reject }));
  }

  /**
   * Sends a command and reports its outcome in order with the events: an event that arrives after the reply is reported
   * after it. (A promise gives no such guarantee.) A command that cannot be sent fails at once.
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
        // Trusts that the server sends the types of its document.
        outcome.ok(value as Commands[K]["reply"]);
      },
      reject: (error) => {
        clearTimeout(timer);
        outcome.failed(error);
      },
    });
    this.write();
  }

  /** Checks that the server is still there, for example after a change of network. */
  probe(): void {
    if (!this.closed) {
      this.heartbeat.probe();
    }
  }

  close(): void {
    this.end({ by: "client" });
  }

  /** The server would close the connection on a larger frame. Fails with the error that the server has for a large body. */
  private tooLarge(frame: string): ApiError | undefined {
    const bytes = utf8.encode(frame).length;
    const bytesMax = this.hello.limits.frame_bytes_max;
    const detail = `${bytes} bytes exceed the server's limit of ${bytesMax}`;
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

  /** The underlying connection may take a while to close; everything that still arrives is ignored. */
  private end(closed: Closed): void {
    if (this.closed) {
      return;
    }
    this.closed = closed;
    this.heartbeat.stop();
    discard(this.web);
    // Called first, so that callers retry commands in flight on the next connection, and do not treat them as failed.
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
