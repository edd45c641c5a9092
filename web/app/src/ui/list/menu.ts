/** The menu of a conversation in the list. */

import type { Conversation } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { changeMembership, markRead, movePinned, mute, pinnedIds } from "../../model/actions.js";
import { isMuted } from "../../model/inbox.js";
import type { Session } from "../../model/index.js";
import { titleOf } from "../../model/session.js";
import { attempt } from "../../model/tasks.js";
import { isolated } from "../../text/index.js";
import { showDialog } from "../dialogs/state.js";
import type { MenuItem } from "../menu.js";
import { duration } from "../names.js";

/** Eight hours, one week. */
const MUTES_SECS = [28_800, 604_800];

export function conversationMenu(session: Session, conversation: Conversation): MenuItem[] {
  const { id, me } = conversation;
  const change = (update: Parameters<typeof changeMembership>[2]) => () =>
    void changeMembership(session, id, update);
  const waits = conversation.unread > 0 || me.marked_unread;
  return [
    waits
      ? { label: t("list.mark_read"), icon: "check", onSelect: () => void markRead(session, conversation) }
      : { label: t("list.mark_unread"), icon: "unread", onSelect: change({ marked_unread: true }) },
    {
      label: me.pinned ? t("list.unpin") : t("list.pin"),
      icon: "pin",
      onSelect: change({ pinned: !me.pinned }),
    },
    ...orderItems(session, conversation),
    ...muteItems(session, conversation),
    {
      label: me.archived ? t("list.unarchive") : t("list.archive"),
      icon: "archive",
      onSelect: change({ archived: !me.archived }),
    },
    { label: t("info.title"), icon: "info", onSelect: () => showDialog({ type: "info", id }) },
    {
      label: t("list.delete"),
      icon: "trash",
      danger: true,
      onSelect: () => confirmDelete(session, conversation),
    },
  ];
}

/** Items that move a pinned conversation. */
function orderItems(session: Session, { id }: Conversation): MenuItem[] {
  const order = pinnedIds(session);
  const move = (by: -1 | 1) => () => void movePinned(session, id, by);
  const up: MenuItem = { label: t("list.move_up"), icon: "up", onSelect: move(-1) };
  const down: MenuItem = { label: t("list.move_down"), icon: "down", onSelect: move(1) };
  const place = order.indexOf(id);
  return place < 0 ? [] : [...(place > 0 ? [up] : []), ...(place < order.length - 1 ? [down] : [])];
}

function muteItems(session: Session, conversation: Conversation): MenuItem[] {
  const { id } = conversation;
  if (isMuted(conversation, Date.now())) {
    return [{ label: t("list.unmute"), icon: "bell", onSelect: () => void mute(session, id, "off") }];
  }
  return [
    ...MUTES_SECS.map((secs): MenuItem => ({
      label: t("list.mute_for", { time: duration(secs) }),
      icon: "mute",
      onSelect: () => void mute(session, id, new Date(Date.now() + secs * 1_000)),
    })),
    { label: t("list.mute"), icon: "mute", onSelect: () => void mute(session, id, "forever") },
  ];
}

function confirmDelete(session: Session, conversation: Conversation): void {
  showDialog({
    type: "confirm",
    title: t("list.delete"),
    text: t("list.delete_text", { name: isolated(titleOf(conversation)) }),
    action: t("list.delete"),
    onConfirm: () => void attempt(session.http.conversations.deleteForMe(conversation.id, conversation.head)),
  });
}
