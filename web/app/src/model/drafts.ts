/**
 * Drafts. They are stored locally at once, and shortly later on the server for the user's other devices. The server has one
 * draft per conversation; drafts in threads are only local.
 */

import type {
  Conversation,
  ConversationId,
  Membership,
  MessageId,
  UpdateMembership,
  UserId,
} from "@godwit/sdk";
import { signal } from "@preact/signals";

/** The delay after the last keystroke. */
const SAVE_AFTER_MS = 1_500;

export interface Draft {
  text: string;
  replyTo?: MessageId;
}

type Stored = Record<ConversationId, Draft>;

/** The storage key for the drafts of an account. */
export function draftsKey(account: UserId): string {
  return `godwit.drafts.${account}`;
}

export class Drafts {
  /**
   * Drafts that were typed on this device. They stay after they are saved until the server's event arrives: if the field
   * showed the older draft in the meantime, text that the user types there would be lost.
   */
  private readonly own = signal<Stored>({});
  /** Drafts that the server may not have yet. Only these are in local storage. */
  private readonly unsaved = new Set<ConversationId>();
  private readonly threads = signal<Record<MessageId, string>>({});
  private readonly timers = new Map<ConversationId, ReturnType<typeof setTimeout>>();

  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem">,
    private readonly key: string,
    private readonly save: (id: ConversationId, update: UpdateMembership) => Promise<unknown>,
  ) {
    this.own.value = JSON.parse(storage.getItem(key) ?? "{}") as Stored;
    Object.keys(this.own.value).forEach((id) => this.unsaved.add(id));
    this.threads.value = JSON.parse(storage.getItem(threadsKey(key)) ?? "{}") as Record<MessageId, string>;
  }

  /** Tracked. A draft that was typed on this device wins over an older one of another device. */
  of(conversation: Conversation): Draft {
    return this.own.value[conversation.id] ?? draftOf(conversation.me) ?? { text: "" };
  }

  change(id: ConversationId, draft: Draft): void {
    this.own.value = { ...this.own.value, [id]: draft };
    this.unsaved.add(id);
    this.store();
    clearTimeout(this.timers.get(id));
    this.timers.set(
      id,
      setTimeout(() => void this.send(id), SAVE_AFTER_MS),
    );
  }

  /** Tracked. */
  inThread(root: MessageId): string {
    return this.threads.value[root] ?? "";
  }

  changeInThread(root: MessageId, text: string): void {
    const others = without(this.threads.value, root);
    this.threads.value = text === "" ? others : { ...others, [root]: text };
    this.storage.setItem(threadsKey(this.key), JSON.stringify(this.threads.value));
  }

  /** Deletes the drafts of an account. */
  static forget(storage: Pick<Storage, "removeItem">, key: string): void {
    storage.removeItem(key);
    storage.removeItem(threadsKey(key));
  }

  /** The server reports the current draft. It wins unless the user has typed on this device since. */
  heard(id: ConversationId, membership: Pick<Membership, "draft">): void {
    const own = this.own.value[id];
    if (own && !this.unsaved.has(id) && !isSame(own, draftOf(membership) ?? { text: "" })) {
      this.own.value = without(this.own.value, id);
    }
  }

  /** The connection is back: saves the drafts that could not be saved. */
  saveAll(): void {
    this.unsaved.forEach((id) => void this.send(id));
  }

  private async send(id: ConversationId): Promise<void> {
    const draft = this.own.value[id];
    if (!draft) {
      return;
    }
    const body = { text: draft.text, reply_to: draft.replyTo ?? null };
    try {
      await this.save(id, { draft: draft.text === "" && !draft.replyTo ? null : body });
    } catch {
      return;
    }
    // Unless the user has typed more in the meantime.
    if (this.own.value[id] === draft) {
      this.unsaved.delete(id);
      this.store();
    }
  }

  private store(): void {
    const unsaved = Object.entries(this.own.value).filter(([id]) => this.unsaved.has(id));
    this.storage.setItem(this.key, JSON.stringify(Object.fromEntries(unsaved)));
  }
}

function draftOf({ draft }: Pick<Membership, "draft">): Draft | undefined {
  return draft ? { text: draft.text, ...(draft.reply_to ? { replyTo: draft.reply_to } : {}) } : undefined;
}

function isSame(one: Draft, other: Draft): boolean {
  return one.text === other.text && one.replyTo === other.replyTo;
}

function threadsKey(key: string): string {
  return `${key}.threads`;
}

function without<T>(drafts: Record<string, T>, id: string): Record<string, T> {
  return Object.fromEntries(Object.entries(drafts).filter(([other]) => other !== id));
}
