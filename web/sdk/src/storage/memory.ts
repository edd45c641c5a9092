/** A storage in memory, for tests and for applications that need no persistence. */

import type { Conversation, ConversationId, Message } from "../api.js";
import type { ResumeState } from "../live/state.js";
import { randomId } from "../random.js";
import { type CacheChanges, type ClientStorage, MESSAGES_CACHED_MAX, type OutboxRow } from "./port.js";

export class MemoryStorage implements ClientStorage {
  readonly name = `memory:${randomId()}`;
  private state: ResumeState | undefined;
  private readonly conversations = new Map<ConversationId, Conversation>();
  private readonly messages = new Map<ConversationId, Map<number, Message>>();
  private readonly rows = new Map<number, OutboxRow>();
  private nextKey = 1;

  resumeState(): Promise<ResumeState | undefined> {
    return Promise.resolve(structuredClone(this.state));
  }

  checkpoint(state: ResumeState, changes: CacheChanges): Promise<void> {
    this.state = structuredClone(state);
    if (changes.resetAll) {
      this.conversations.clear();
      this.messages.clear();
    }
    for (const id of changes.gone ?? []) {
      this.conversations.delete(id);
      this.messages.delete(id);
    }
    for (const id of changes.reset ?? []) {
      this.messages.delete(id);
    }
    for (const conversation of changes.conversations ?? []) {
      this.conversations.set(conversation.id, structuredClone(conversation));
    }
    for (const message of changes.messages ?? []) {
      this.cacheMessage(structuredClone(message));
    }
    return Promise.resolve();
  }

  cachedConversations(): Promise<Conversation[]> {
    return Promise.resolve(structuredClone([...this.conversations.values()]));
  }

  cachedMessages(id: ConversationId): Promise<Message[]> {
    const messages = [...(this.messages.get(id)?.values() ?? [])];
    return Promise.resolve(structuredClone(messages.sort((one, other) => one.seq - other.seq)));
  }

  addOutboxRow(row: Omit<OutboxRow, "key">): Promise<OutboxRow> {
    const added = structuredClone({ ...row, key: this.nextKey++ });
    this.rows.set(added.key, added);
    return Promise.resolve(structuredClone(added));
  }

  updateOutboxRow(row: OutboxRow): Promise<void> {
    if (this.rows.has(row.key)) {
      this.rows.set(row.key, structuredClone(row));
    }
    return Promise.resolve();
  }

  removeOutboxRow(key: number): Promise<void> {
    this.rows.delete(key);
    return Promise.resolve();
  }

  outboxOwners(): Promise<string[]> {
    return Promise.resolve([...new Set([...this.rows.values()].map((row) => row.owner))]);
  }

  adoptOutboxRows(from: string, to: string): Promise<OutboxRow[]> {
    const adopted = [...this.rows.values()].filter((row) => row.owner === from);
    for (const row of adopted) {
      row.owner = to;
    }
    return Promise.resolve(structuredClone(adopted));
  }

  private cacheMessage(message: Message): void {
    const cached = this.messages.get(message.conversation_id) ?? new Map<number, Message>();
    this.messages.set(message.conversation_id, cached);
    cached.set(message.seq, message);
    if (cached.size > MESSAGES_CACHED_MAX) {
      cached.delete(Math.min(...cached.keys()));
    }
  }
}
