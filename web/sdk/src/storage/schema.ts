/**
 * The tables of the database of an account, and their migrations.
 *
 * ```
 * state          "resume" → ResumeState
 * conversations  id → Conversation
 * messages       [conversation_id, seq] → Message
 * outbox         key (rising) → OutboxRow; by owner
 * ```
 */

import type { DBSchema, IDBPDatabase } from "idb";

import type { Conversation, Message } from "../api.js";
import type { ResumeState } from "../live/state.js";
import type { OutboxRow } from "./port.js";

export const RESUME_KEY = "resume";

export interface Schema extends DBSchema {
  state: { key: typeof RESUME_KEY; value: ResumeState };
  conversations: { key: string; value: Conversation };
  messages: { key: [string, number]; value: Message };
  outbox: { key: number; value: Omit<OutboxRow, "key"> & { key?: number }; indexes: { owner: string } };
}

type Migration = (db: IDBPDatabase<Schema>) => void;

/** One migration per version; the first one creates the database. A released migration must not be changed. */
const MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.createObjectStore("state");
    db.createObjectStore("conversations", { keyPath: "id" });
    db.createObjectStore("messages", { keyPath: ["conversation_id", "seq"] });
    db.createObjectStore("outbox", { keyPath: "key", autoIncrement: true }).createIndex("owner", "owner");
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Migrates the database from its version to the newest. */
export function migrate(db: IDBPDatabase<Schema>, oldVersion: number): void {
  for (const migration of MIGRATIONS.slice(oldVersion)) {
    migration(db);
  }
}
