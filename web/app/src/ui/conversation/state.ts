/** What is replied to, edited or jumped to. */

import type { ConversationId, Message, MessageId } from "@godwit/sdk";
import { signal } from "@preact/signals";

export interface Composing {
  reply?: Message;
  edit?: Message;
}

const composing = signal<ReadonlyMap<ConversationId, Composing>>(new Map());

/** Tracked. */
export function composingIn(id: ConversationId): Composing {
  return composing.value.get(id) ?? {};
}

export function compose(id: ConversationId, next: Composing): void {
  composing.value = new Map(composing.value).set(id, next);
  document.getElementById(COMPOSER_ID)?.focus();
}

export const COMPOSER_ID = "composer";

/** A message that is to be brought into sight. */
export const jump = signal<{ conversationId: ConversationId; messageId: MessageId } | undefined>(undefined);
