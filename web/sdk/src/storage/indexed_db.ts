/** A storage in IndexedDB: one database per account, shared by its tabs. */

import { type IDBPDatabase, type IDBPTransaction, openDB } from "idb";

import type { Conversation, ConversationId, Message, UserId } from "../api.js";
import type { ResumeState } from "../live/state.js";
import { type CacheChanges, type ClientStorage, MESSAGES_CACHED_MAX, type OutboxRow } from "./port.js";
import { migrate, RESUME_KEY, type Schema, SCHEMA_VERSION } from "./schema.js";

type CacheTransaction = IDBPTransaction<Schema, ("state" | "conversations" | "messages")[], "readwrite">;

export class IndexedDbStorage implements ClientStorage {
  private constructor(
    readonly name: string,
    private readonly db: IDBPDatabase<Schema>,
  ) {}

  static async open(account: UserId): Promise<IndexedDbStorage> {
    const name = databaseName(account);
    const db = await openDB<Schema>(name, SCHEMA_VERSION, {
      upgrade: (database, oldVersion) => migrate(database, oldVersion),
      // A tab with a newer version waits for this one to close the database. Data that is not stored yet is read or sent again.
      blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
    });
    return new IndexedDbStorage(name, db);
  }

  /** Deletes all data of an account, for example after sign-out. */
  static async delete(account: UserId): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const request = indexedDB.deleteDatabase(databaseName(account));
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error ?? new Error("the database cannot be deleted"));
    });
  }

  close(): void {
    this.db.close();
  }

  async resumeState(): Promise<ResumeState | undefined> {
    return await this.db.get("state", RESUME_KEY);
  }

  async checkpoint(state: ResumeState, changes: CacheChanges): Promise<void> {
    const transaction = this.db.transaction(["state", "conversations", "messages"], "readwrite");
    const writes = [
      transaction.objectStore("state").put(state, RESUME_KEY),
      ...forgetting(transaction, changes),
      ...(changes.conversations ?? []).map((one) => transaction.objectStore("conversations").put(one)),
      ...(changes.messages ?? []).map((one) => transaction.objectStore("messages").put(one)),
    ];
    const touched = new Set((changes.messages ?? []).map((message) => message.conversation_id));
    const trims = [...touched].map((id) => trim(transaction, id));
    await Promise.all([...writes, ...trims, transaction.done]);
  }

  async cachedConversations(): Promise<Conversation[]> {
    return await this.db.getAll("conversations");
  }

  async cachedMessages(id: ConversationId): Promise<Message[]> {
    return await this.db.getAll("messages", messagesOf(id));
  }

  async addOutboxRow(row: Omit<OutboxRow, "key">): Promise<OutboxRow> {
    const key = await this.db.add("outbox", row);
    return { ...row, key };
  }

  async updateOutboxRow(row: OutboxRow): Promise<void> {
    const transaction = this.db.transaction("outbox", "readwrite");
    if ((await transaction.store.getKey(row.key)) !== undefined) {
      await transaction.store.put(row);
    }
    await transaction.done;
  }

  async removeOutboxRow(key: number): Promise<void> {
    await this.db.delete("outbox", key);
  }

  async outboxOwners(): Promise<string[]> {
    const rows = await this.db.getAll("outbox");
    return [...new Set(rows.map((row) => row.owner))];
  }

  async adoptOutboxRows(from: string, to: string): Promise<OutboxRow[]> {
    const transaction = this.db.transaction("outbox", "readwrite");
    const adopted: OutboxRow[] = [];
    // In the order of their keys, which is the order of the calls.
    for (const row of await transaction.store.index("owner").getAll(from)) {
      if (row.key !== undefined) {
        adopted.push({ ...row, key: row.key, owner: to });
      }
    }
    await Promise.all([...adopted.map((row) => transaction.store.put(row)), transaction.done]);
    return adopted;
  }
}

function databaseName(account: UserId): string {
  return `godwit:${account}`;
}

/** The keys of all messages of a conversation: an array sorts after every number. */
function messagesOf(id: ConversationId): IDBKeyRange {
  return IDBKeyRange.bound([id], [id, []]);
}

function forgetting(transaction: CacheTransaction, changes: CacheChanges): Promise<void>[] {
  const conversations = transaction.objectStore("conversations");
  const messages = transaction.objectStore("messages");
  return [
    ...(changes.resetAll ? [conversations.clear(), messages.clear()] : []),
    ...(changes.gone ?? []).flatMap((id) => [conversations.delete(id), messages.delete(messagesOf(id))]),
    ...(changes.reset ?? []).map((id) => messages.delete(messagesOf(id))),
  ];
}

/** Keeps the newest messages of a conversation and deletes the others. */
async function trim(transaction: CacheTransaction, id: ConversationId): Promise<void> {
  const messages = transaction.objectStore("messages");
  const keys = await messages.getAllKeys(messagesOf(id));
  const tooMany = keys.slice(0, Math.max(0, keys.length - MESSAGES_CACHED_MAX));
  await Promise.all(tooMany.map((key) => messages.delete(key)));
}
