/** The menu of a member. */

import type { Conversation, MemberPage, Role } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { openDirect } from "../../model/actions.js";
import type { Session } from "../../model/index.js";
import { attempt } from "../../model/tasks.js";
import { isolated } from "../../text/index.js";
import type { MenuItem } from "../menu.js";
import { closeDialog, showDialog } from "./state.js";

export type Member = MemberPage["members"][number];

/** Mirrors the rules of the server: owners may do everything, admins may remove and ban ordinary members. */
export function memberMenu(session: Session, conversation: Conversation, member: Member): MenuItem[] {
  const { role } = conversation.me;
  const isOwner = role === "owner";
  return [
    {
      label: t("members.message"),
      icon: "send",
      onSelect: () => {
        closeDialog();
        void openDirect(session, member.id);
      },
    },
    ...(isOwner ? ownerItems(session, conversation, member) : []),
    ...(isOwner || (role === "admin" && member.role === "member")
      ? [removal(session, conversation, member), banning(session, conversation, member)]
      : []),
  ];
}

function ownerItems(session: Session, conversation: Conversation, member: Member): MenuItem[] {
  const { groups } = session.http;
  const { id } = conversation;
  const items: MenuItem[] = [];
  const become = (role: Role) => () => void attempt(groups.setRole(id, member.id, role));
  if (member.role !== "admin") {
    items.push({ label: t("members.make_admin"), icon: "star", onSelect: become("admin") });
  }
  if (member.role !== "member") {
    items.push({ label: t("members.make_member"), icon: "person", onSelect: become("member") });
  }
  if (member.role !== "owner") {
    items.push({
      label: t("members.make_owner"),
      icon: "people",
      onSelect: () => confirmHandingOver(session, conversation, member),
    });
  }
  return items;
}

function removal(session: Session, conversation: Conversation, member: Member): MenuItem {
  return {
    label: t("members.remove"),
    icon: "trash",
    danger: true,
    onSelect: () => void attempt(session.http.groups.removeMember(conversation.id, member.id)),
  };
}

function banning(session: Session, { id }: Conversation, member: Member): MenuItem {
  return {
    label: t("members.ban"),
    icon: "close",
    danger: true,
    onSelect: () =>
      showDialog({
        type: "confirm",
        title: t("members.ban"),
        text: t("members.ban_text", { name: isolated(member.display_name) }),
        action: t("members.ban"),
        onConfirm: () => {
          void attempt(session.http.groups.ban(id, member.id));
          showDialog({ type: "info", id });
        },
      }),
  };
}

/** Asks for confirmation, because only the new owner could undo the transfer. */
function confirmHandingOver(session: Session, { id }: Conversation, member: Member): void {
  showDialog({
    type: "confirm",
    title: t("members.make_owner"),
    text: t("members.make_owner_text", { name: isolated(member.display_name) }),
    action: t("members.make_owner"),
    onConfirm: () => {
      void attempt(session.http.groups.transferOwnership(id, member.id));
      showDialog({ type: "info", id });
    },
  });
}
