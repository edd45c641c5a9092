/** Why a connection, or the attempt to open one, ended, and what the session does next. */

import { codeOf, endsSession, retryAfterMsOf, SocketClosedError } from "../errors.js";
import { CloseCode, type Closed, describeClosed, mayReconnect } from "../socket/closed.js";
import type { StopReason } from "./update.js";

export type Ended =
  | { next: "stop"; reason: StopReason }
  /** The server said when to reconnect. */
  | { next: "return"; afterMs: number; cause: string }
  /** Wait for the backoff, and at least as long as the server asks. */
  | {
      next: "retry";
      atLeastMs: number;
      cause: string;
      /** The client's queue on the server was full. */
      tooMuch: boolean;
    };

export function endedByError(error: unknown): Ended {
  if (error instanceof SocketClosedError) {
    return endedByClose(error.closed);
  }
  if (endsSession(error)) {
    return { next: "stop", reason: { by: "sign_out", code: codeOf(error) } };
  }
  return { next: "retry", atLeastMs: retryAfterMsOf(error), cause: String(error), tooMuch: false };
}

export function endedByClose(closed: Closed): Ended {
  const cause = describeClosed(closed);
  if (closed.by === "server" && closed.code === CloseCode.SIGNED_OUT) {
    return { next: "stop", reason: { by: "sign_out", code: undefined } };
  }
  if (closed.by === "server" && !mayReconnect(closed)) {
    return { next: "stop", reason: { by: "server", closeCode: closed.code, cause } };
  }
  const tooMuch = closed.by === "server" && closed.code === CloseCode.TOO_SLOW;
  return { next: "retry", atLeastMs: 0, cause, tooMuch };
}
