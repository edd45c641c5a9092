/**
 * The client of Godwit for browsers and Node.
 *
 * - `http`: `Http`, one method per route; keeps the tokens and refreshes them
 *
 * Beside it: `draft`, messages to be sent; `errors`; `api`, the types of the server's documents. The package knows no
 * rule of the server: what is allowed, the server says.
 */

export type * from "./api.js";
export { type DraftOptions, eventMessage, mediaMessage, textMessage } from "./draft.js";
export * from "./errors.js";
export * from "./http/index.js";
export { type Locks, ProcessLocks, WebLocks } from "./locks.js";
