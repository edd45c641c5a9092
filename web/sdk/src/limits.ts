/** Limits of the API that a client must respect. The full list is in `crates/protocol/src/limits.rs`. */

/** Maximum number of items per page. */
export const PAGE_MAX = 200;
/** Commands in flight on one socket, unless the server announces a lower limit. */
export const COMMANDS_IN_FLIGHT_MAX = 64;
/** Users whose presence one socket watches. */
export const PRESENCE_WATCHED_MAX = 200;
/** How long a typing notice is valid unless the client renews it. */
export const TYPING_TTL_MS = 6_000;
