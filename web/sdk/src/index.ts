/**
 * The client of Godwit for browsers and Node.
 *
 * Three layers, each usable without the ones below it in this list:
 *
 * - `http`: `Http`, one method per route; stores the tokens and refreshes them
 * - `socket`: `Socket`, one WebSocket connection; typed commands, many in flight. It does not reconnect
 * - `live`: `Live`, a session that reconnects and resumes on its own; one ordered stream of updates with every log entry
 *   of every conversation exactly once and without gaps, and sends that survive disconnects and reloads
 *
 * In addition: `storage`, the data that outlives a reload; `draft`, messages to send; `errors`; `api`, the types of the
 * API. The package contains no rules of the server: the server decides what is allowed.
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
