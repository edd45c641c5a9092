/** Giving commands on one connection: what every kind of work has in common. */

import type { CommandName, Commands } from "../api.js";
import { codeOf, endsSession, GodwitError, retryAfterMsOf, SocketClosedError } from "../errors.js";
import type { Outcome, Socket } from "../socket/index.js";
import { backoffMs, type Random } from "./backoff.js";
import type { Ended } from "./ended.js";

export interface ConnectionPort {
  /** Something can be begun. */
  wake(): void;
  end(ended: Ended): void;
  /** The connection has ended: answers mean nothing any more. */
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

  /** What was on its way when the connection ended keeps its place and goes again with the next one. */
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

  /** As long as the server wants to be left alone, and longer after each failure. */
  pauseMs(failures: number, error: unknown): number {
    return Math.max(backoffMs(failures, this.random), retryAfterMsOf(error));
  }
}

/** Whether the same command may go well later, on this connection or on the next. */
export function isPassing(error: unknown): boolean {
  if (error instanceof SocketClosedError || endsSession(error) || codeOf(error) === "sign_in_first") {
    return true;
  }
  return error instanceof GodwitError && error.temporary;
}

/** Whether it is time for something, if it is to be done at all. */
export function isDue(at: number | undefined, now: number): boolean {
  return at !== undefined && at <= now;
}
