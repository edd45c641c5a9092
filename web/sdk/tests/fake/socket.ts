/**
 * A server whose frames the test chooses. The test also controls the time: nothing waits unless the test advances the time,
 * so an event that has not happened after `settle` will not happen.
 */

import { vi } from "vitest";

import type { CommandName, Commands, Events, Hello, Problem, WebSocketLike } from "../../src/index.js";
import { C, entry, ME } from "./samples.js";

export const SERVER_TIME = "2026-11-15T08:30:00.000Z";
export const HEARTBEAT_MS = 30_000;

const SETTLE_ROUNDS = 20;

/** Runs all work that does not wait for a timer. */
export async function settle(): Promise<void> {
  for (let round = 0; round < SETTLE_ROUNDS; round += 1) {
    await vi.advanceTimersByTimeAsync(0);
  }
}

export interface Command<K extends CommandName> {
  id: number;
  body: Commands[K]["body"];
}

export class FakeServer {
  private readonly waiting: Peer[] = [];
  /** While the server is down, connections fail at once. */
  down = false;
  attempts = 0;

  /** The WebSocket constructor for the client. */
  readonly webSocket: new (url: string) => WebSocketLike;

  constructor() {
    const connected = (peer: Peer): void => {
      this.attempts += 1;
      if (this.down) {
        queueMicrotask(() => peer.drop());
      } else {
        this.waiting.push(peer);
      }
    };
    this.webSocket = class extends Peer {
      constructor(url: string) {
        super(url);
        connected(this);
      }
    };
  }

  /** Accepts the next connection and sends hello. */
  async connection(hello: Partial<Hello> = {}): Promise<Peer> {
    await settle();
    const peer = this.waiting.shift();
    if (!peer) {
      throw new Error("nobody connected");
    }
    peer.hello(hello);
    return peer;
  }

  /** Accepts the next connection and the sign-in. */
  async signedIn(): Promise<Peer> {
    const peer = await this.connection();
    const { id } = await peer.command("sign_in");
    peer.ok(id, "sign_in", signedIn());
    return peer;
  }

  /** Accepts the next connection, the sign-in and the first sync. Returns the token of the sync. */
  async synced(page: Commands["sync"]["reply"]): Promise<{ peer: Peer; since: string | null | undefined }> {
    const peer = await this.signedIn();
    const { id, body } = await peer.command("sync");
    peer.ok(id, "sync", page);
    return { peer, since: body.since };
  }

  async nobodyConnects(): Promise<void> {
    await settle();
    if (this.waiting.length > 0) {
      throw new Error("somebody connected");
    }
  }
}

/** The server's end of one connection, which is also the client's WebSocket. */
export class Peer implements WebSocketLike {
  onmessage: WebSocketLike["onmessage"] = null;
  onclose: WebSocketLike["onclose"] = null;
  onerror: WebSocketLike["onerror"] = null;
  /** Whether the client has closed the connection. */
  left = false;
  private readonly frames: Record<string, unknown>[] = [];

  constructor(readonly url: string) {}

  // Called by the client

  send(text: string): void {
    this.frames.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.left = true;
  }

  // Called by the test

  hello(fields: Partial<Hello> = {}): void {
    const limits = {
      frame_bytes_max: 65_536,
      text_bytes_max: 16_384,
      text_chars_max: 8_000,
      commands_in_flight_max: 64,
      page_max: 200,
    };
    const hello = { server_time: SERVER_TIME, heartbeat_ms: HEARTBEAT_MS, sign_in_within_ms: 10_000, limits };
    this.event("hello", { ...hello, ...fields });
  }

  /** Receives the next frame, which must be this command. */
  async command<K extends CommandName>(name: K): Promise<Command<K>> {
    await settle();
    const frame = this.frames.shift();
    if (!frame || !(name in frame)) {
      throw new Error(`expected ${name}, got ${JSON.stringify(frame)}`);
    }
    return { id: frame.id as number, body: frame[name] as Commands[K]["body"] };
  }

  /** The names of the commands that the test has not received yet. */
  async pending(): Promise<string[]> {
    await settle();
    return this.frames.flatMap((frame) => Object.keys(frame).filter((key) => key !== "id"));
  }

  ok<K extends CommandName>(id: number, _name: K, value: Commands[K]["reply"]): void {
    this.frame({ id, ok: value });
  }

  error(id: number, error: Problem): void {
    this.frame({ id, error });
  }

  event<K extends keyof Events>(name: K, data: Events[K]): void {
    this.frame({ [name]: data });
  }

  entries(id: string, seqs: number[]): void {
    for (const seq of seqs) {
      this.event("entry", { conversation_id: id, ...entry(id, seq) });
    }
  }

  /** Acknowledges the next message. Returns its client id. */
  async acknowledge(seq: number): Promise<string> {
    const { id, body } = await this.command("send");
    const conversation = body.conversation_id ?? C;
    const sent = { sender_id: ME, client_id: body.client_id };
    this.ok(id, "send", { ...message(conversation, seq), ...sent });
    return body.client_id;
  }

  frame(frame: unknown): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  /** The connection breaks. */
  drop(): void {
    this.onclose?.({ code: 1006, reason: "" });
  }

  closeWith(code: number, reason = ""): void {
    this.onclose?.({ code, reason });
  }
}

function message(id: string, seq: number): Commands["send"]["reply"] {
  const sent = entry(id, seq);
  if (sent.type !== "message") {
    throw new Error("the sample entry must be a message");
  }
  return sent.message;
}

export function signedIn(expiresAt = "2026-11-16T08:30:00.000Z"): Commands["sign_in"]["reply"] {
  const device = {
    id: "11",
    name: "test",
    created_at: SERVER_TIME,
    last_active_at: SERVER_TIME,
    current: true,
  };
  return { user_id: ME, device, expires_at: expiresAt };
}
