/** The interface of the storage of one account. The client relies only on what is documented here. */

import type { Conversation, ConversationId, Message, SendMessage } from "../api.js";
import type { ProblemDetails } from "../errors.js";
import type { ResumeState } from "../live/state.js";

/** The newest messages of one conversation that are kept for the first paint. */
export const MESSAGES_CACHED_MAX = 100;

/** A message that is unsent, or that was refused. */
export interface OutboxRow {
  /** Assigned by the storage in increasing order. */
  key: number;
  /** The tab that sends the message. */
  owner: string;
  conversationId: ConversationId;
  message: SendMessage;
  /** Why the server refused the message for good. Absent while it is unsent. */
  refusal?: ProblemDetails;
}

/** Changes to the cache, applied in the order of these fields. */
export interface CacheChanges {
  /** Deletes everything. */
  resetAll?: boolean;
  /** Deletes these conversations with their messages. */
  gone?: ConversationId[];
  /** Deletes the messages of these conversations. */
  reset?: ConversationId[];
  /** Stores the current state of these conversations. */
  conversations?: Conversation[];
  /** Stores the current state of these messages. */
  messages?: Message[];
}

export interface ClientStorage {
  /** Identifies the stored data: equal for tabs that share it, different for all others. */
  readonly name: string;

  /** The last stored position of the application; `undefined` on a first start. */
  resumeState(): Promise<ResumeState | undefined>;
  /** Stores both atomically, so that the cache is never older than the state. */
  checkpoint(state: ResumeState, changes: CacheChanges): Promise<void>;
  cachedConversations(): Promise<Conversation[]>;
  /** The cached messages of a conversation, oldest first. */
  cachedMessages(id: ConversationId): Promise<Message[]>;

  /** The row is durable when the promise resolves. The keys of consecutive rows increase. */
  addOutboxRow(row: Omit<OutboxRow, "key">): Promise<OutboxRow>;
  /** Does nothing if the row does not exist. */
  updateOutboxRow(row: OutboxRow): Promise<void>;
  removeOutboxRow(key: number): Promise<void>;
  /** The tabs with rows. */
  outboxOwners(): Promise<string[]>;
  /** Atomically moves all rows of one tab to another, and returns them in order. */
  adoptOutboxRows(from: string, to: string): Promise<OutboxRow[]>;
}
