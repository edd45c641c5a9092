/** What people and events are called, in the words of the reader. */

import type { Conversation, Message, UserId } from "@godwit/sdk";

import { plural, t } from "../i18n/index.js";
import type { Session } from "../model/index.js";
import { isolated } from "../text/index.js";

export function nameOf(session: Session, user: UserId): string {
  return session.people.user(user)?.display_name ?? "…";
}

/** Fit for use in a sentence. */
function calledInSentence(session: Session, user: UserId): string {
  return user === session.account.id ? t("you.inside") : isolated(nameOf(session, user));
}

/** What happened, as a line between the messages. */
export function noticeText(session: Session, message: Message): string {
  const text = sentenceOf(session, message);
  return text.startsWith(t("you.inside")) ? t("you") + text.slice(t("you.inside").length) : text;
}

function sentenceOf(session: Session, message: Message): string {
  const { notice } = message;
  const name = (user: UserId) => calledInSentence(session, user);
  const by = name(message.sender_id);
  switch (notice?.type) {
    case "created":
      return t(notice.kind === "group" ? "notice.created" : "notice.created_other", {
        by,
        name: isolated(notice.name ?? ""),
      });
    case "members_added":
      return t("notice.members_added", { by, names: notice.user_ids.map(name).join(", ") });
    case "member_joined":
      return t("notice.member_joined", { name: name(notice.user_id) });
    case "member_left":
      return t("notice.member_left", { name: name(notice.user_id) });
    case "member_removed":
      return t("notice.member_removed", { by, name: name(notice.user_id) });
    case "member_banned":
      return t("notice.member_banned", { by, name: name(notice.user_id) });
    case "member_unbanned":
      return t("notice.member_unbanned", { by, name: name(notice.user_id) });
    case "role_changed":
      return t("notice.role_changed", { by, name: name(notice.user_id), role: t(`role.${notice.role}`) });
    case "ownership_transferred":
      return t("notice.ownership", { by, name: name(notice.user_id) });
    case "pinned":
      return t("notice.pinned", { by });
    case "details_changed":
      if (notice.name != null) {
        return t("notice.renamed", { by, name: isolated(notice.name) });
      }
      if (notice.message_ttl_secs != null) {
        return notice.message_ttl_secs === 0
          ? t("notice.timer_off", { by })
          : t("notice.timer", { by, time: duration(notice.message_ttl_secs) });
      }
      if (notice.permissions != null) {
        return t("notice.permissions", { by });
      }
      return notice.description != null ? t("notice.description", { by }) : t("notice.details", { by });
    case "withheld":
      return t(message.event === "message.pinned" ? "notice.pinned" : "notice.unknown", { by });
    default:
      return message.deleted_at != null ? t("message.deleted") : (message.event ?? t("notice.unknown"));
  }
}

/** The line below the name in the list. */
export function previewOf(session: Session, conversation: Conversation): string {
  const last = conversation.last_message;
  if (!last) {
    return t("list.empty_conversation");
  }
  if (last.kind === "system" && !last.deleted) {
    return eventPreview(last.event);
  }
  const text = last.deleted
    ? t("message.deleted")
    : last.preview === ""
      ? t(`kind.${last.kind}`)
      : last.preview;
  if (conversation.kind === "direct") {
    return text;
  }
  if (last.sender_id === session.account.id) {
    return t("you.said", { text });
  }
  const sender = session.people.user(last.sender_id)?.display_name ?? last.sender_name ?? "…";
  return `${isolated(sender)}: ${text}`;
}

/** Who is typing. */
export function typingText(session: Session, conversation: Conversation, who: readonly UserId[]): string {
  if (conversation.kind === "direct") {
    return t("typing.direct");
  }
  const [first = ""] = who;
  return who.length === 1
    ? t("typing.one", { name: isolated(nameOf(session, first)) })
    : plural("typing.many", who.length);
}

const HOUR_SECS = 3_600;
const DAY_SECS = 24 * HOUR_SECS;

/** A time after which messages disappear. */
export function duration(secs: number): string {
  if (secs % DAY_SECS === 0) {
    return plural("duration.days", secs / DAY_SECS);
  }
  return secs % HOUR_SECS === 0
    ? plural("duration.hours", secs / HOUR_SECS)
    : plural("duration.seconds", secs);
}

function eventPreview(event: string | null | undefined): string {
  const known: Partial<Record<string, string>> = {
    "conversation.created": t("event.created"),
    "members.added": t("event.joined"),
    "member.joined": t("event.joined"),
    "member.left": t("event.left"),
    "member.removed": t("event.left"),
    "member.banned": t("event.banned"),
    "member.unbanned": t("event.unbanned"),
    "message.pinned": t("event.pinned"),
    "role.changed": t("event.role"),
    "ownership.transferred": t("event.owner"),
  };
  return known[event ?? ""] ?? t("event.changed");
}
