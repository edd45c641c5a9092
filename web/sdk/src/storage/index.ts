/**
 * Storage for the data that outlives a reload.
 *
 * - `port`: the interface and its contract
 * - `memory`: a storage in memory
 * - `indexed_db`, `schema`: a storage in IndexedDB, and its tables
 * - `tabs`: which tab sends which messages, if several tabs share a storage
 */

export { IndexedDbStorage } from "./indexed_db.js";
export { MemoryStorage } from "./memory.js";
export { type CacheChanges, type ClientStorage, MESSAGES_CACHED_MAX, type OutboxRow } from "./port.js";
export { Tab } from "./tabs.js";
