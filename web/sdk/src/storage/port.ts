/** What must outlive a reload, of one account. Implementations promise what is said here, and nothing else is relied on. */

import type { Conversation, ConversationId, Message, SendMessage } from "../api.js";
import type { ProblemDetails } from "../errors.js";
import type { ResumeState } from "../live/state.js";

/** Messages of one conversation that are kept for a first paint: the newest. */
export const MESSAGES_CACHED_MAX = 100;

/** A message that is to be sent, or was refused. */
export interface OutboxRow {
  /** Given by the storage; rises, so that it says the order. */
  key: number;
  /** The tab that sends it. */
  owner: string;
  conversationId: ConversationId;
  message: SendMessage;
  /** Why the server will not take it. Absent while it is to be sent. */
  refusal?: ProblemDetails;
}

/** What changed in the cache, in this order. */
export interface CacheChanges {
  /** Nothing of what is cached is good any more. */
  resetAll?: boolean;
  /** These conversations went away, with their messages. */
  gone?: ConversationId[];
  /** The messages of these conversations are no longer good. */
  reset?: ConversationId[];
  /** These conversations are now like this. */
  conversations?: Conversation[];
  /** These messages are now like this. */
  messages?: Message[];
}

export interface ClientStorage {
  /** The same for all who share what is stored, and different for all others. */
  readonly name: string;

  /** Where the application was; `undefined` on a first start. */
  resumeState(): Promise<ResumeState | undefined>;
  /** Keeps both or neither: what is cached is never older than the state says. */
  checkpoint(state: ResumeState, changes: CacheChanges): Promise<void>;
  cachedConversations(): Promise<Conversation[]>;
  /** The newest messages that are cached of a conversation, the oldest of them first. */
  cachedMessages(id: ConversationId): Promise<Message[]>;

  /** When it is answered the row is there after a crash. Rows that are added one after the other have rising keys. */
  addOutboxRow(row: Omit<OutboxRow, "key">): Promise<OutboxRow>;
  /** A row that is not there any more is not made again. */
  updateOutboxRow(row: OutboxRow): Promise<void>;
  removeOutboxRow(key: number): Promise<void>;
  /** The tabs that have rows. */
  outboxOwners(): Promise<string[]>;
  /** Makes all rows of one tab those of another, at once, and gives them in their order. */
  adoptOutboxRows(from: string, to: string): Promise<OutboxRow[]>;
}
