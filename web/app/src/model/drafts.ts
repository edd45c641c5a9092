/** Texts that were not sent yet: kept here at once, and a little later on the server, for the other devices. */

import type { Conversation, ConversationId, MessageId, UpdateMembership } from "@godwit/sdk";
import { signal } from "@preact/signals";

/** After the last keystroke. */
const SAVE_AFTER_MS = 1_500;

export interface Draft {
  text: string;
  replyTo?: MessageId;
}

type Stored = Record<ConversationId, Draft>;

export class Drafts {
  /** What this device has and the server may not have yet. */
  private readonly own = signal<Stored>({});
  private readonly timers = new Map<ConversationId, ReturnType<typeof setTimeout>>();

  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem">,
    private readonly key: string,
    private readonly save: (id: ConversationId, update: UpdateMembership) => Promise<unknown>,
  ) {
    this.own.value = JSON.parse(storage.getItem(key) ?? "{}") as Stored;
  }

  /** Tracked. What was typed here wins over what another device has. */
  of(conversation: Conversation): Draft {
    const own = this.own.value[conversation.id];
    const saved = conversation.me.draft;
    if (own) {
      return own;
    }
    return saved
      ? { text: saved.text, ...(saved.reply_to ? { replyTo: saved.reply_to } : {}) }
      : { text: "" };
  }

  change(id: ConversationId, draft: Draft): void {
    this.keep({ ...this.own.value, [id]: draft });
    clearTimeout(this.timers.get(id));
    this.timers.set(
      id,
      setTimeout(() => void this.send(id), SAVE_AFTER_MS),
    );
  }

  /** The connection is back: what could not be saved is saved. */
  saveAll(): void {
    for (const id of Object.keys(this.own.value)) {
      void this.send(id);
    }
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
    // Unless somebody went on typing meanwhile.
    if (this.own.value[id] === draft) {
      this.keep(Object.fromEntries(Object.entries(this.own.value).filter(([other]) => other !== id)));
    }
  }

  private keep(own: Stored): void {
    this.own.value = own;
    this.storage.setItem(this.key, JSON.stringify(own));
  }
}
