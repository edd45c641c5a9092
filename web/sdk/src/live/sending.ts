/**
 * Messages from the call until they are settled: stored first, then sent, then removed.
 *
 * The outbox decides what to send when. This module keeps the rows in storage in step with it, and reports results to the
 * application and to waiting callers. A message whose row was not deleted in time is sent again after a reload; the server
 * then returns the existing message.
 */

import type { ConversationId, Message, SendMessage } from "../api.js";
import { ApiError, BusyError } from "../errors.js";
import type { ClientStorage, OutboxRow } from "../storage/port.js";
import type { Tab } from "../storage/tabs.js";
import type { Outbox } from "./outbox.js";
import type { Queue } from "./queue.js";

/** Messages that are not acknowledged, including refused ones. Further ones fail with `BusyError`. */
const UNSENT_MAX = 1_000;

/** Identifies a message that has no id yet. */
export interface UnsentName {
  conversationId: ConversationId;
  clientId: string;
}

export interface UnsentMessage extends UnsentName {
  message: SendMessage;
  /** Why the server refused the message for good. */
  refusal?: ApiError;
}

interface Waiter {
  resolve: (message: Message) => void;
  reject: (error: unknown) => void;
}

export class Sending {
  private readonly rows = new Map<string, OutboxRow>();
  private readonly waiters = new Map<string, Waiter[]>();
  /** Serializes writes to the storage, so that the order of the rows is that of the calls. */
  private turn: Promise<unknown> = Promise.resolve();
  private stopped: Error | undefined;

  constructor(
    private readonly storage: ClientStorage,
    private readonly tab: Tab,
    private readonly outbox: Outbox,
    private readonly queue: Queue,
    private readonly onReady: () => void,
  ) {}

  /** Adopts messages that were not sent before a reload. Messages of calls in the meantime follow them. */
  start(): Promise<void> {
    return this.inTurn(async () => {
      await this.tab.enter();
      await this.adoptRows();
    });
  }

  /** Adopts unsent messages of closed tabs. */
  adopt(): Promise<void> {
    return this.inTurn(() => this.adoptRows());
  }

  /** Resolves when the message is stored in its order. */
  enqueue(conversationId: ConversationId, message: SendMessage): Promise<void> {
    return this.inTurn(async () => {
      if (this.stopped) {
        throw this.stopped;
      }
      // A repeated client id means the same message.
      if (this.rows.has(nameOf(conversationId, message.client_id))) {
        return;
      }
      if (this.rows.size >= UNSENT_MAX) {
        throw new BusyError(`${UNSENT_MAX} messages are unsent or refused`);
      }
      const row = {
        owner: this.tab.id,
        conversationId,
        message: { ...message, conversation_id: conversationId },
      };
      this.begin(await this.storage.addOutboxRow(row));
    });
  }

  /** Resolves when the message is durable. Rejects when it is refused for good, or when the session has ended. */
  async send(conversationId: ConversationId, message: SendMessage): Promise<Message> {
    const name = nameOf(conversationId, message.client_id);
    const settled = new Promise<Message>((resolve, reject) => {
      this.waiters.set(name, [...(this.waiters.get(name) ?? []), { resolve, reject }]);
    });
    this.enqueue(conversationId, message).catch((error: unknown) => this.tellWaiters(name, "reject", error));
    return await settled;
  }

  unsent(): UnsentMessage[] {
    return [...this.rows.values()].sort((one, other) => one.key - other.key).map(shown);
  }

  acknowledged(conversationId: ConversationId, clientId: string, message: Message): void {
    const name = nameOf(conversationId, clientId);
    this.outbox.settle(conversationId);
    this.forget(name);
    this.queue.push({ type: "sent", clientId, message });
    this.tellWaiters(name, "resolve", message);
  }

  refused(conversationId: ConversationId, clientId: string, error: ApiError): void {
    const name = nameOf(conversationId, clientId);
    this.outbox.settle(conversationId);
    const row = this.rows.get(name);
    if (row) {
      const refused = { ...row, refusal: error.problem };
      this.rows.set(name, refused);
      // If the row cannot be stored, the message is sent again after a reload, and refused again.
      this.storage.updateOutboxRow(refused).catch(() => undefined);
      this.queue.push({ type: "refused", unsent: shown(refused) });
    }
    this.tellWaiters(name, "reject", error);
  }

  /** Sends a refused message again, after all queued messages. Returns whether it exists. */
  async retry({ conversationId, clientId }: UnsentName): Promise<boolean> {
    return await this.inTurn(async () => {
      const name = nameOf(conversationId, clientId);
      const row = this.rows.get(name);
      if (!row?.refusal) {
        return false;
      }
      const { owner, message } = row;
      // A new row, because the message is now the last one, also after a reload.
      const added = await this.storage.addOutboxRow({ owner, conversationId, message });
      await this.storage.removeOutboxRow(row.key);
      this.begin(added);
      return true;
    });
  }

  /** Removes a message that was refused or is queued. Returns false if it is in flight. */
  drop({ conversationId, clientId }: UnsentName): boolean {
    const name = nameOf(conversationId, clientId);
    const row = this.rows.get(name);
    if (!row || !(row.refusal ?? this.outbox.remove(conversationId, clientId))) {
      return false;
    }
    this.forget(name);
    return true;
  }

  /** The session has ended. Unsent messages stay in storage, for other tabs and later sessions. */
  stop(error: Error): void {
    this.stopped = error;
    this.tab.leave();
    for (const name of [...this.waiters.keys()]) {
      this.tellWaiters(name, "reject", error);
    }
  }

  private async adoptRows(): Promise<void> {
    for (const row of await this.tab.adopt()) {
      this.begin(row);
    }
  }

  private begin(row: OutboxRow): void {
    this.rows.set(nameOf(row.conversationId, row.message.client_id), row);
    if (row.refusal) {
      this.queue.push({ type: "refused", unsent: shown(row) });
      return;
    }
    this.queue.push({ type: "sending", unsent: shown(row) });
    this.outbox.push(row.conversationId, row.message);
    this.onReady();
  }

  private forget(name: string): void {
    const row = this.rows.get(name);
    this.rows.delete(name);
    if (row) {
      // If the row cannot be deleted, the message is sent again after a reload, and the server deduplicates it.
      this.storage.removeOutboxRow(row.key).catch(() => undefined);
    }
  }

  private tellWaiters(name: string, how: "resolve", message: Message): void;
  private tellWaiters(name: string, how: "reject", error: unknown): void;
  private tellWaiters(name: string, how: "resolve" | "reject", outcome: unknown): void {
    const waiters = this.waiters.get(name) ?? [];
    this.waiters.delete(name);
    for (const waiter of waiters) {
      (waiter[how] as (outcome: unknown) => void)(outcome);
    }
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.turn.then(work);
    this.turn = result.catch(() => undefined);
    return result;
  }
}

function nameOf(conversationId: ConversationId, clientId: string): string {
  return `${conversationId} ${clientId}`;
}

function shown(row: OutboxRow): UnsentMessage {
  const { conversationId, message, refusal } = row;
  const unsent = { conversationId, clientId: message.client_id, message };
  return refusal ? { ...unsent, refusal: new ApiError(refusal) } : unsent;
}
