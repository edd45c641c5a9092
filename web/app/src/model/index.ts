/**
 * What the client knows, as signals. Nothing here knows the page.
 *
 * - `accounts`: who is signed in on this browser, and which of them is shown
 * - `session`: one account at work: the live session and the stores; `updates`: what an update means for each of them
 * - `own`: what concerns the account alone: profile, stars
 * - `inbox`: the conversations; `histories`: their messages, of which `timeline` is a window into those of one of them
 *   and `thread` the replies to one message
 * - `pages`: lists that come page by page
 * - `entries`: what a change in the log does to a conversation and to a message; pure
 * - `status`: how far a message has come; pure
 * - `outbox`: messages on their way; `handoff`: those that the session does not have yet; `drafts`: texts that were not sent
 * - `people`: names; `blocks`: whom the user has blocked; `presence` and `typing`: what they are doing
 * - `cache`: what is kept for the first paint after a reload
 * - `version`: the service worker that keeps the page, and whether there is a newer one
 * - `notifications`: telling somebody who looks elsewhere
 * - `tasks`: asking the server for something, with a word to the user when it does not work
 * - `place`: which screen is shown, kept in the address; `settings`: language and colours
 */

export { accounts, activeAccount, type KnownAccount } from "./accounts.js";
export { Session } from "./session.js";
