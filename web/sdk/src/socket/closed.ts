/** Why a socket ended, and what to do then. */

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

/** After one of these, coming back in the same way ends in the same way. */
const FINAL: ReadonlySet<number> = new Set([
  CloseCode.PROTOCOL,
  CloseCode.NOT_UTF8,
  CloseCode.TOO_LARGE,
  CloseCode.SIGNED_OUT,
  CloseCode.FLOOD,
  // Coming back would take the place of another socket of the user, whose client would come back as well.
  CloseCode.REPLACED,
]);

export type Closed =
  /** The server closed it and said why. */
  | { by: "server"; code: number; reason: string }
  /** It was closed from here. */
  | { by: "client" }
  /** The connection broke, or could not be made. */
  | { by: "network" }
  /** Nothing came from the server, not even when asked. */
  | { by: "silence" };

/** What the browser says when a connection ended without a word. */
const CODES_WITHOUT_A_WORD: ReadonlySet<number> = new Set([1005, 1006]);

export function closedBy(event: { code: number; reason: string }): Closed {
  return CODES_WITHOUT_A_WORD.has(event.code)
    ? { by: "network" }
    : { by: "server", code: event.code, reason: event.reason };
}

/**
 * Whether connecting again with the same credentials makes sense. A sign-in that came too late says nothing about them:
 * this client signs in at once, so the network was slow.
 */
export function mayReconnect(closed: Closed): boolean {
  return closed.by !== "server" || !FINAL.has(closed.code);
}

export function describeClosed(closed: Closed): string {
  switch (closed.by) {
    case "server":
      return `the server closed the socket with code ${closed.code}: ${closed.reason}`;
    case "client":
      return "the socket was closed from here";
    case "network":
      return "the connection was lost";
    case "silence":
      return "the server has been silent for too long";
  }
}
