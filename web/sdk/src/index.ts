/**
 * The client of Godwit for browsers and Node.
 *
 * Two layers, each usable without the ones below it in this list:
 *
 * - `http`: `Http`, one method per route; keeps the tokens and refreshes them
 * - `socket`: `Socket`, one connection; typed commands, many in flight. It does not connect again
 *
 * Beside them: `draft`, messages to be sent; `errors`; `api`, the types of the
 * server's documents. The package knows no rule of the server: what is allowed, the server says.
 */

export type * from "./api.js";
export { type DraftOptions, eventMessage, mediaMessage, textMessage } from "./draft.js";
export {
  ApiError,
  BusyError,
  GodwitError,
  NotSignedInError,
  type ProblemDetails,
  ProtocolError,
  SocketClosedError,
  TimeoutError,
  TransportError,
} from "./errors.js";
export * from "./http/index.js";
export * from "./limits.js";
export { type Locks, ProcessLocks, WebLocks } from "./locks.js";
export * from "./socket/index.js";
