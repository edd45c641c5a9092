/** Bounds of the API that a client has to keep to. The server's own list is `crates/protocol/src/limits.rs`. */

/** Items of a page at most. */
export const PAGE_MAX = 200;
/** Commands of one socket that are under way at once, unless the server says less. */
export const COMMANDS_IN_FLIGHT_MAX = 64;
/** Users whose presence one socket watches. */
export const PRESENCE_WATCHED_MAX = 200;
/** How long a typing notice is valid unless it is renewed. */
export const TYPING_TTL_MS = 6_000;
