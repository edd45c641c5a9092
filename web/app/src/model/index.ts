/**
 * The state of the client, as signals. This folder does not depend on the components.
 *
 * - `accounts`: the accounts that are signed in on this browser, and which one is active
 * - `session`: one active account: the live session and the stores; `updates`: applies updates to the stores
 * - `own`: data that only the user themselves sees: profile, stars
 * - `inbox`: the conversations; `histories`: their messages, with a `timeline` per conversation and the open `thread`
 * - `pages`: paginated lists
 * - `entries`: applies log entries to conversations and messages; pure
 * - `status`: the delivery status of messages; pure
 * - `outbox`: unsent messages; `handoff`: messages that the session has not stored yet; `drafts`: drafts
 * - `people`: names of users; `blocks`: blocked users; `presence` and `typing`: what users are doing
 * - `cache`: the cache for the first paint after a reload
 * - `version`: the service worker that caches the page, and whether a new version is available
 * - `notifications`: notifications of the browser
 * - `tasks`: requests to the server that report errors to the user
 * - `place`: the current screen, kept in the URL; `settings`: language and theme
 */

export { accounts, activeAccount, type KnownAccount } from "./accounts.js";
export { Session } from "./session.js";
