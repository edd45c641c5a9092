/** What people and events are called, in the words of the reader. */

import type { Conversation, Message, UserId } from "@godwit/sdk";

import { plural, t } from "../i18n/index.js";
import type { Session } from "../model/index.js";

/** Keeps the direction of a name from changing that of the sentence around it. */
const ISOLATE = "\u2068";
const END_ISOLATE = "\u2069";

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
      return t("notice.details", { by });
    default:
      return message.event ?? t("notice.unknown");
  }
}

/** The line below the name in the list. */
export function previewOf(session: Session, conversation: Conversation): string {
  const last = conversation.last_message;
  if (!last) {
    return t("list.empty_conversation");
  }
  if (last.kind === "system") {
    return eventPreview(last.event);
  }
  const text = last.deleted
    ? t("message.deleted")
    : last.preview === ""
      ? t(`kind.${last.kind}`)
      : last.preview;
  if (conversation.kind === "direct" || last.sender_id === session.account.id) {
    return text;
  }
  return `${isolated(nameOf(session, last.sender_id))}: ${text}`;
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
    "message.pinned": t("event.pinned"),
  };
  return known[event ?? ""] ?? t("event.changed");
}

/** Fit for use in a sentence of the other direction. */
export function isolated(name: string): string {
  return ISOLATE + name + END_ISOLATE;
}
