/**
 * Shows notifications for new messages, and closes them when the messages are read. The service worker shows them, so that
 * all tabs share one notification. Phones require this too.
 */

import type { Conversation, ConversationId, Message } from "@godwit/sdk";
import { signal } from "@preact/signals";

import { t } from "../i18n/index.js";
import { isolated, messagePreview } from "../text/index.js";
import { mentions } from "./entries.js";
import { isMuted } from "./inbox.js";
import { go, place } from "./place.js";
import { notificationsOn } from "./settings.js";

export const permission = signal<NotificationPermission | "unsupported">(
  "Notification" in globalThis && "serviceWorker" in navigator ? Notification.permission : "unsupported",
);

export async function askPermission(): Promise<void> {
  permission.value = await Notification.requestPermission();
}

/** Mentions cause a notification even if the conversation is muted. */
export function worthTelling(
  conversation: Conversation,
  message: Message,
  me: string,
  nowMs: number,
): boolean {
  const silent = isMuted(conversation, nowMs) && !mentions(message, me);
  return message.sender_id !== me && message.kind !== "system" && !silent;
}

/** The beginning of the message, the name of its file, or its kind; in a group, after the name of its sender. */
export function notificationBody(conversation: Conversation, message: Message, sender: string): string {
  const text = messagePreview(message) || t(`kind.${message.kind}`);
  return conversation.kind === "direct" ? text : `${isolated(sender)}: ${text}`;
}

export async function notify(conversation: Conversation, title: string, body: string): Promise<void> {
  if (permission.value !== "granted" || notificationsOn.value !== "on") {
    return;
  }
  if (!(await navigator.serviceWorker.getRegistration())) {
    return;
  }
  // Only an active worker can show a notification. On the first visit it may still be installing.
  const worker = await navigator.serviceWorker.ready;
  if (!isInSight(conversation.id)) {
    // One for each conversation: the newest message takes the place of the one before.
    const options = { body, tag: conversation.id, icon: "/icon-192.png" };
    await worker.showNotification(title, options);
  }
}

function isInSight(id: ConversationId): boolean {
  return (
    document.visibilityState === "visible" &&
    document.hasFocus() &&
    place.value.screen === "conversation" &&
    place.value.id === id
  );
}

/** Closes the notification of a conversation that was read, on any device, or that is gone. */
export async function withdraw(id: ConversationId): Promise<void> {
  if (permission.value === "granted") {
    const worker = await navigator.serviceWorker.getRegistration();
    (await worker?.getNotifications({ tag: id }))?.forEach((notification) => notification.close());
  }
}

/** Opens the conversation of a notification that the user clicks. */
export function followNotifications(): void {
  if ("serviceWorker" in navigator) {
    navigator.serviceWorker.addEventListener(
      "message",
      ({ data }: MessageEvent<{ open?: unknown } | null>) => {
        if (typeof data?.open === "string") {
          go({ screen: "conversation", id: data.open });
        }
      },
    );
  }
}
