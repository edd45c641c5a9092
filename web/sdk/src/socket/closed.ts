/** Why a socket closed, and whether to reconnect. */

/** The codes with which the server closes a socket. */
export const CloseCode = {
  PROTOCOL: 1002,
  NOT_UTF8: 1007,
  TOO_LARGE: 1009,
  INTERNAL: 1011,
  SERVICE_RESTART: 1012,
  SIGNED_OUT: 4001,
  TOKEN_EXPIRED: 4002,
  SIGN_IN_TIMEOUT: 4003,
  TOO_SLOW: 4004,
  HEARTBEAT_TIMEOUT: 4005,
  FLOOD: 4006,
  REPLACED: 4007,
} as const;

/** After one of these codes, a reconnect would fail in the same way. */
const FINAL: ReadonlySet<number> = new Set([
  CloseCode.PROTOCOL,
  CloseCode.NOT_UTF8,
  CloseCode.TOO_LARGE,
  CloseCode.SIGNED_OUT,
  CloseCode.FLOOD,
  // A reconnect would replace another socket of the user, whose client would then reconnect as well.
  CloseCode.REPLACED,
]);

export type Closed =
  /** The server closed the socket and gave a reason. */
  | { by: "server"; code: number; reason: string }
  /** The client closed the socket. */
  | { by: "client" }
  /** The connection broke, or could not be established. */
  | { by: "network" }
  /** The server was silent and did not answer a ping. */
  | { by: "silence" };

/** The codes that browsers report for a connection that ended without a close code. */
const CODES_WITHOUT_A_WORD: ReadonlySet<number> = new Set([1005, 1006]);

export function closedBy(event: { code: number; reason: string }): Closed {
  return CODES_WITHOUT_A_WORD.has(event.code)
    ? { by: "network" }
    : { by: "server", code: event.code, reason: event.reason };
}

/**
 * Whether the client should reconnect with the same credentials. After a sign-in timeout it should: this client signs in
 * at once, so the network was slow and the credentials may be fine.
 */
export function mayReconnect(closed: Closed): boolean {
  return closed.by !== "server" || !FINAL.has(closed.code);
}

export function describeClosed(closed: Closed): string {
  switch (closed.by) {
    case "server":
      return `the server closed the socket with code ${closed.code}: ${closed.reason}`;
    case "client":
      return "the client closed the socket";
    case "network":
      return "the connection was lost";
    case "silence":
      return "the server has been silent for too long";
  }
}
