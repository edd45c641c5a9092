/** Sends commands on one connection, for all modules that do work there. */

import type { CommandName, Commands } from "../api.js";
import { codeOf, endsSession, GodwitError, retryAfterMsOf, SocketClosedError } from "../errors.js";
import type { Outcome, Socket } from "../socket/index.js";
import { backoffMs, type Random } from "./backoff.js";
import type { Ended } from "./ended.js";

export interface ConnectionPort {
  /** New work may be possible. */
  wake(): void;
  end(ended: Ended): void;
  /** Whether the connection has ended, so that replies no longer matter. */
  isOver(): boolean;
}

export class CommandGiver {
  constructor(
    readonly socket: Socket,
    readonly port: ConnectionPort,
    private readonly random: Random,
  ) {}

  give<K extends CommandName>(
    name: K,
    body: Commands[K]["body"],
    outcome: Outcome<Commands[K]["reply"]>,
    timeoutMs?: number,
  ): void {
    this.socket.give(name, body, this.unlessOver(outcome), timeoutMs);
  }

  /** Ignores outcomes after the connection has ended: commands in flight then are sent again on the next connection. */
  unlessOver<T>(outcome: Outcome<T>): Outcome<T> {
    const inTime = (settle: () => void) => {
      if (!this.port.isOver()) {
        settle();
        this.port.wake();
      }
    };
    return {
      ok: (value) => inTime(() => outcome.ok(value)),
      failed: (error) => inTime(() => outcome.failed(error)),
    };
  }

  /** The backoff after a failure, but at least the delay that the server asks for. */
  pauseMs(failures: number, error: unknown): number {
    return Math.max(backoffMs(failures, this.random), retryAfterMsOf(error));
  }
}

/** Whether a retry of the command may succeed, on this connection or the next one. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SocketClosedError || endsSession(error) || codeOf(error) === "sign_in_first") {
    return true;
  }
  return error instanceof GodwitError && error.temporary;
}

/** Whether a deadline exists and has passed. */
export function isDue(at: number | undefined, now: number): boolean {
  return at !== undefined && at <= now;
}
