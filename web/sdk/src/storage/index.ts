/**
 * What outlives a reload.
 *
 * - `port`: what is kept, and what is promised about it
 * - `memory`: a storage that forgets
 * - `indexed_db`, `schema`: a storage in the browser, and its tables
 * - `tabs`: which tab sends what, when several share a storage
 */

export { IndexedDbStorage } from "./indexed_db.js";
export { MemoryStorage } from "./memory.js";
export { type CacheChanges, type ClientStorage, MESSAGES_CACHED_MAX, type OutboxRow } from "./port.js";
export { Tab } from "./tabs.js";
