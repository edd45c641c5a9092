/**
 * The client of Godwit for browsers and Node.
 *
 * Three layers, each usable without the ones below it in this list:
 *
 * - `http`: `Http`, one method per route; keeps the tokens and refreshes them
 * - `socket`: `Socket`, one connection; typed commands, many in flight. It does not connect again
 * - `live`: `Live`, a session that heals itself; one ordered stream of updates in which every log entry of every
 *   conversation comes exactly once and without gaps, and sends that survive disconnects and reloads
 *
 * Beside them: `storage`, what outlives a reload; `draft`, messages to be sent; `errors`; `api`, the types of the
 * server's documents. The package knows no rule of the server: what is allowed, the server says.
 */

export type * from "./api.js";
export { type DraftOptions, eventMessage, forwardMessage, mediaMessage, textMessage } from "./draft.js";
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
export * from "./live/index.js";
export { type Locks, ProcessLocks, WebLocks } from "./locks.js";
export { randomId } from "./random.js";
export * from "./socket/index.js";
export * from "./storage/index.js";
