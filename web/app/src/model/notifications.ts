/** Telling somebody who looks elsewhere that something was said. */

import type { Conversation, Message } from "@godwit/sdk";
import { signal } from "@preact/signals";

import { mentions } from "./entries.js";
import { isMuted } from "./inbox.js";
import { go, place } from "./place.js";
import { notificationsOn } from "./settings.js";

export const permission = signal<NotificationPermission | "unsupported">(
  "Notification" in globalThis ? Notification.permission : "unsupported",
);

export async function askPermission(): Promise<void> {
  permission.value = await Notification.requestPermission();
}

/** A mention gets through even where the conversation is muted. */
export function worthTelling(
  conversation: Conversation,
  message: Message,
  me: string,
  nowMs: number,
): boolean {
  const silent = isMuted(conversation, nowMs) && !mentions(message, me);
  return message.sender_id !== me && message.kind !== "system" && !silent;
}

export function notify(conversation: Conversation, title: string, body: string): void {
  const inSight =
    document.visibilityState === "visible" &&
    document.hasFocus() &&
    place.value.screen === "conversation" &&
    place.value.id === conversation.id;
  if (permission.value !== "granted" || notificationsOn.value === "off" || inSight) {
    return;
  }
  // One notification for each conversation: the newest message takes the place of the one before.
  const notification = new Notification(title, { body, tag: conversation.id, icon: "/icon.svg" });
  notification.onclick = () => {
    window.focus();
    go({ screen: "conversation", id: conversation.id });
    notification.close();
  };
}
