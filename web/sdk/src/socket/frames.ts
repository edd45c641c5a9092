/** The frames of the socket. Every frame is one JSON object in a text frame. */

import type { CommandName, Commands, Events, Problem } from "../api.js";
import { isProblem } from "../errors.js";

/** An event, discriminated by `type`. */
export type SocketEvent = { [K in keyof Events]: { type: K; data: Events[K] } }[keyof Events];

/** A frame from the server. */
export type Incoming =
  | { frame: "ok"; id: number; value: unknown }
  /** The id is absent if the server could not read it from the command. */
  | { frame: "error"; id: number | undefined; problem: Problem }
  | { frame: "event"; event: SocketEvent }
  /** Newer servers have events that this library does not know. */
  | { frame: "unknown" };

/** All events by name. The compiler checks that none is missing. */
const EVENT_NAMES: Record<keyof Events, true> = {
  account: true,
  catch_up: true,
  cursor: true,
  entry: true,
  entry_omitted: true,
  hello: true,
  presence: true,
  reconnect: true,
  typing: true,
  user_updated: true,
};

export function commandFrame<K extends CommandName>(id: number, name: K, body: Commands[K]["body"]): string {
  return JSON.stringify({ id, [name]: body });
}

export function parseFrame(text: string): Incoming {
  const frame = parseObject(text);
  if (!frame) {
    return { frame: "unknown" };
  }
  const id = typeof frame.id === "number" ? frame.id : undefined;
  if (isProblem(frame.error)) {
    return { frame: "error", id, problem: frame.error };
  }
  if (id !== undefined) {
    return { frame: "ok", id, value: frame.ok };
  }
  const name = Object.keys(frame).find((key) => Object.hasOwn(EVENT_NAMES, key));
  if (name === undefined) {
    return { frame: "unknown" };
  }
  // Trusts that the server sends the types of its document.
  return { frame: "event", event: { type: name, data: frame[name] } as SocketEvent };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
