/** What can be done with a message, by its menu and by keys. */

import type { Message } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { pin, removeMessage, star } from "../../model/actions.js";
import type { Session } from "../../model/index.js";
import { attempt } from "../../model/tasks.js";
import { showDialog } from "../dialogs/state.js";
import type { MenuItem } from "../menu.js";
import { compose } from "./state.js";

export interface MessageContext {
  session: Session;
  message: Message;
  pinned: boolean;
  isPending: boolean;
}

export function messageMenu(context: MessageContext): MenuItem[] {
  const { session, message, pinned, isPending } = context;
  const mine = message.sender_id === session.account.id;
  const copy: MenuItem = { label: t("message.copy"), icon: "copy", onSelect: () => void copyText(message) };
  if (isPending) {
    return [copy];
  }
  const items: MenuItem[] = [];
  if (!message.deleted_at) {
    items.push(
      { label: t("message.reply"), icon: "reply", onSelect: () => reply(message) },
      {
        label: t("message.forward"),
        icon: "forward",
        onSelect: () => showDialog({ type: "forward", message }),
      },
      copy,
      {
        label: session.starred.value.has(message.id) ? t("message.unstar") : t("message.star"),
        icon: "star",
        onSelect: () => void star(session, message),
      },
      {
        label: pinned ? t("message.unpin") : t("message.pin"),
        icon: "pin",
        onSelect: () => void pin(session, message, !pinned),
      },
    );
    if (mine && message.kind === "text") {
      items.push({ label: t("message.edit"), icon: "edit", onSelect: () => edit(message) });
    }
    if (mine) {
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
    if (message.edited_at) {
      items.push({
        label: t("message.edits"),
        icon: "history",
        onSelect: () => showDialog({ type: "edits", message }),
      });
    }
  }
  items.push({
    label: t("message.delete_for_me"),
    icon: "trash",
    danger: true,
    onSelect: () => confirmDelete(context, "me"),
  });
  if (!message.deleted_at && mayDeleteForAll(session, message)) {
    items.push({
      label: t("message.delete_for_all"),
      icon: "trash",
      danger: true,
      onSelect: () => confirmDelete(context, "all"),
    });
  }
  return items;
}

/** Keys for the message that has the focus. */
export function onMessageKey(
  context: MessageContext,
  event: KeyboardEvent,
  open: (event: Event) => void,
): void {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const { message, isPending } = context;
  const live = !isPending && !message.deleted_at;
  if (event.key === "Enter" || event.key === "ContextMenu") {
    open(event);
  } else if (event.key === "r" && live) {
    event.preventDefault();
    reply(message);
  } else if (event.key === "e" && live && message.sender_id === context.session.account.id) {
    event.preventDefault();
    edit(message);
  } else if (event.key === "Delete" && !isPending) {
    event.preventDefault();
    confirmDelete(context, "me");
  }
}

export function edit(message: Message): void {
  compose(message.conversation_id, { edit: message });
}

function reply(message: Message): void {
  compose(message.conversation_id, { reply: message });
}

async function copyText(message: Message): Promise<void> {
  await attempt(navigator.clipboard.writeText(message.text ?? ""));
}

function mayDeleteForAll(session: Session, message: Message): boolean {
  const role = session.inbox.get(message.conversation_id)?.me.role;
  const staff = role === "owner" || role === "admin";
  const direct = session.inbox.get(message.conversation_id)?.kind === "direct";
  return message.sender_id === session.account.id || (staff && !direct);
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
