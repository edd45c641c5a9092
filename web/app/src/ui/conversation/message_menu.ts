/** The actions on a message, by menu and by keyboard. */

import type { Message, MessageId } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { pin, react, removeMessage, star } from "../../model/actions.js";
import { maySend } from "../../model/inbox.js";
import type { Session } from "../../model/index.js";
import { attempt } from "../../model/tasks.js";
import { showDialog } from "../dialogs/state.js";
import { type MenuItem, showMenu } from "../menu.js";
import { compose, focusComposer, openThread } from "./state.js";

export interface MessageContext {
  session: Session;
  message: Message;
  /** The thread that shows the message. */
  thread: MessageId | undefined;
  pinned: boolean;
  isPending: boolean;
}

export function openMessageMenu(context: MessageContext, event: Event, first?: "reactions"): void {
  const { session, message } = context;
  const onReact = isLive(context) ? (reaction: string) => void react(session, message, reaction) : undefined;
  showMenu(event, t("message.menu"), itemsOf(context), { onReact, first });
}

/** Handles keys of the focused message. */
export function onMessageKey(context: MessageContext, event: KeyboardEvent): void {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const action = actionOf(context, event);
  if (action) {
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}

function actionOf(context: MessageContext, event: KeyboardEvent): (() => void) | undefined {
  const { message, isPending } = context;
  switch (event.key) {
    case "Enter":
    case "ContextMenu":
      return () => openMessageMenu(context, event);
    case "Delete":
      return isPending ? undefined : () => confirmDelete(context, "me");
    case "Escape":
      // In a thread, this key closes the thread.
      return context.thread === undefined ? () => focusComposer(message.conversation_id) : undefined;
  }
  if (!isLive(context)) {
    return undefined;
  }
  switch (event.key.toLowerCase()) {
    case "+":
      return () => openMessageMenu(context, event, "reactions");
    case "r":
      return () => reply(context);
    case "t":
      return () => openThread(message);
    case "e":
      return isEditable(context) ? () => edit(context) : undefined;
  }
  return undefined;
}

function itemsOf(context: MessageContext): MenuItem[] {
  const { message, isPending } = context;
  if (isPending) {
    return [copyItem(message)];
  }
  return [
    ...(message.deleted_at ? [] : [...commonItems(context), ...detailItems(context)]),
    ...deleteItems(context),
  ];
}

function commonItems(context: MessageContext): MenuItem[] {
  const { session, message, pinned, thread } = context;
  const items: MenuItem[] = [{ label: t("message.reply"), icon: "reply", onSelect: () => reply(context) }];
  if (thread === undefined) {
    items.push({ label: t("thread.reply"), icon: "thread", onSelect: () => openThread(message) });
  }
  if (isForwardable(message)) {
    items.push({
      label: t("message.forward"),
      icon: "forward",
      onSelect: () => showDialog({ type: "forward", message }),
    });
  }
  items.push(
    copyItem(message),
    {
      label: session.own.starred.value.has(message.id) ? t("message.unstar") : t("message.star"),
      icon: "star",
      onSelect: () => void star(session, message),
    },
    {
      label: pinned ? t("message.unpin") : t("message.pin"),
      icon: "pin",
      onSelect: () => void pin(session, message, !pinned),
    },
  );
  if (isEditable(context)) {
    items.push({ label: t("message.edit"), icon: "edit", onSelect: () => edit(context) });
  }
  return items;
}

function detailItems({ session, message }: MessageContext): MenuItem[] {
  const items: MenuItem[] = [];
  if (message.sender_id === session.account.id) {
    items.push({
      label: t("message.info"),
      icon: "info",
      onSelect: () => showDialog({ type: "receipts", message }),
    });
  }
  if ((message.reactions?.length ?? 0) > 0) {
    items.push({
      label: t("message.who_reacted"),
      icon: "emoji",
      onSelect: () => showDialog({ type: "reactions", message }),
    });
  }
  if (message.edited_at && mayReadEdits(session, message)) {
    items.push({
      label: t("message.edits"),
      icon: "history",
      onSelect: () => showDialog({ type: "edits", message }),
    });
  }
  return items;
}

function deleteItems(context: MessageContext): MenuItem[] {
  const { session, message } = context;
  const item = (whom: "me" | "all"): MenuItem => ({
    label: whom === "me" ? t("message.delete_for_me") : t("message.delete_for_all"),
    icon: "trash",
    danger: true,
    onSelect: () => confirmDelete(context, whom),
  });
  const forAll = !message.deleted_at && mayDeleteForAll(session, message);
  return forAll ? [item("me"), item("all")] : [item("me")];
}

function copyItem(message: Message): MenuItem {
  return {
    label: t("message.copy"),
    icon: "copy",
    onSelect: () => void attempt(navigator.clipboard.writeText(message.text ?? "")),
  };
}

/** Whether the message can be replied to: the server has it, and it was not deleted. */
function isLive({ message, isPending }: MessageContext): boolean {
  return !isPending && !message.deleted_at;
}

function isEditable({ session, message }: MessageContext): boolean {
  const own = message.sender_id === session.account.id;
  const conversation = session.inbox.get(message.conversation_id);
  // The text of a forward belongs to another user.
  const hasOwnWords = message.kind === "text" && !message.forwarded_from;
  return own && hasOwnWords && conversation !== undefined && maySend(conversation);
}

/** Disappearing messages cannot be forwarded. */
function isForwardable(message: Message): boolean {
  return message.kind !== "system" && !message.expires_at;
}

function edit({ message, thread }: MessageContext): void {
  compose(thread ?? message.conversation_id, { edit: message });
}

function reply({ message, thread }: MessageContext): void {
  compose(thread ?? message.conversation_id, { reply: message });
}

/** Some groups show earlier versions to owners and admins. */
export function mayReadEdits(session: Session, message: Message): boolean {
  const conversation = session.inbox.get(message.conversation_id);
  const mine = message.sender_id === session.account.id;
  return mine || conversation?.edits_visible_to !== "admins" || conversation.me.role !== "member";
}

function mayDeleteForAll(session: Session, message: Message): boolean {
  const conversation = session.inbox.get(message.conversation_id);
  const staff = conversation?.me.role === "owner" || conversation?.me.role === "admin";
  return message.sender_id === session.account.id || (staff && conversation.kind !== "direct");
}

function confirmDelete({ session, message }: MessageContext, whom: "me" | "all"): void {
  const title = whom === "me" ? t("message.delete_for_me") : t("message.delete_for_all");
  showDialog({
    type: "confirm",
    title,
    text: whom === "me" ? t("message.delete_for_me_text") : t("message.delete_for_all_text"),
    action: t("action.delete"),
    onConfirm: () => void removeMessage(session, message, whom),
  });
}
