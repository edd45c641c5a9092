/**
 * Commands that wait for their replies. This module does no I/O.
 *
 * The server limits the number of commands in flight; the others wait here, in the order of the calls.
 */

import { ApiError, BusyError, ProtocolError } from "../errors.js";
import type { Incoming } from "./frames.js";

/** Commands that wait for a free slot. Further ones fail at once. */
const WAITING_MAX = 1_024;

export interface Given {
  id: number;
  frame: string;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

export class PendingCommands {
  private readonly waiting: Given[] = [];
  private readonly inFlight = new Map<number, Given>();

  constructor(private readonly inFlightMax: number) {}

  add(given: Given): void {
    if (this.waiting.length >= WAITING_MAX) {
      given.reject(new BusyError("too many commands are waiting"));
    } else {
      this.waiting.push(given);
    }
  }

  /** The next command that may be sent. */
  next(): Given | undefined {
    if (this.inFlight.size >= this.inFlightMax) {
      return undefined;
    }
    const given = this.waiting.shift();
    if (given) {
      this.inFlight.set(given.id, given);
    }
    return given;
  }

  answered(reply: Extract<Incoming, { frame: "ok" | "error" }>): void {
    const given = reply.id === undefined ? undefined : this.inFlight.get(reply.id);
    if (!given) {
      // The caller has given up.
      return;
    }
    this.inFlight.delete(given.id);
    if (reply.frame === "error") {
      given.reject(new ApiError(reply.problem));
    } else if (reply.value === undefined) {
      given.reject(new ProtocolError("the reply has neither ok nor error"));
    } else {
      given.resolve(reply.value);
    }
  }

  /** The caller has given up. A command in flight keeps its slot, because the server may still execute it. */
  giveUp(id: number): void {
    const given = this.inFlight.get(id);
    if (given) {
      given.resolve = given.reject = () => undefined;
    }
    const index = this.waiting.findIndex((given) => given.id === id);
    if (index >= 0) {
      this.waiting.splice(index, 1);
    }
  }

  failAll(error: Error): void {
    const all = [...this.inFlight.values(), ...this.waiting.splice(0)];
    this.inFlight.clear();
    for (const given of all) {
      given.reject(error);
    }
  }
}
