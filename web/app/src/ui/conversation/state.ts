/** The messages that are being replied to, edited or jumped to, and threads. */

import type { ConversationId, Message, MessageId } from "@godwit/sdk";
import { signal } from "@preact/signals";

import { go, place } from "../../model/place.js";

/** The place of a composer: the id of a conversation, or of the root of a thread. */
export type WritingPlace = string;

export interface Composing {
  reply?: Message;
  edit?: Message;
}

const composing = signal<ReadonlyMap<WritingPlace, Composing>>(new Map());

/** Tracked. */
export function composingIn(where: WritingPlace): Composing {
  return composing.value.get(where) ?? {};
}

export function compose(where: WritingPlace, next: Composing): void {
  setComposing(where, next);
  focusComposer(where);
}

/** Sets the state without moving the focus. */
export function setComposing(where: WritingPlace, next: Composing): void {
  composing.value = new Map(composing.value).set(where, next);
}

export function focusComposer(where: WritingPlace): void {
  document.getElementById(composerId(where))?.focus();
}

export function composerId(where: WritingPlace): string {
  return `composer-${where}`;
}

/** The message to jump to. */
export const jump = signal<{ conversationId: ConversationId; messageId: MessageId } | undefined>(undefined);

/** From this width on, a thread is beside the conversation instead of replacing it; must match the style sheet. */
const THREAD_BESIDE = "(min-width: 1100px)";

export function jumpTo(conversationId: ConversationId, messageId: MessageId): void {
  const here = place.value;
  const elsewhere = here.screen !== "conversation" || here.id !== conversationId;
  if (elsewhere || !matchMedia(THREAD_BESIDE).matches) {
    go({ screen: "conversation", id: conversationId });
  }
  jump.value = { conversationId, messageId };
}

export function openThread({ conversation_id, id, thread_id }: Message): void {
  const thread = thread_id ?? id;
  go({ screen: "conversation", id: conversation_id, thread });
  focusComposer(thread);
}

/** Returns the focus to the root of the thread. */
export function closeThread(conversationId: ConversationId, root: MessageId): void {
  go({ screen: "conversation", id: conversationId });
  requestAnimationFrame(() => {
    const message = document.querySelector<HTMLElement>(`.history [data-id="${root}"]`);
    if (message) {
      message.focus({ preventScroll: true });
    } else {
      focusComposer(conversationId);
    }
  });
}
