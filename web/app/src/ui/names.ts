/** Texts for people, notices and previews, in the language of the reader. */

import type { Conversation, Message, UserId } from "@godwit/sdk";

import { type Key, plural, t, type Values } from "../i18n/index.js";
import type { Session } from "../model/index.js";
import { isolated, messagePreview } from "../text/index.js";

export function nameOf(session: Session, user: UserId): string {
  return session.people.user(user)?.display_name ?? "…";
}

/** Notices with variants for when the reader is the actor (`.you`) or the affected member (`.me`). */
type Variant<V extends string> = { [K in Key]: `${K}.${V}` extends Key ? K : never }[Key];

/** A notice about an actor. */
function done(session: Session, notice: Variant<"you">, actor: UserId, values: Values = {}): string {
  if (actor === session.account.id) {
    return t(`${notice}.you`, values);
  }
  return t(notice, { actor: isolated(nameOf(session, actor)), ...values });
}

/** A notice about an actor and an affected member. */
function doneTo(
  session: Session,
  notice: Extract<Variant<"you">, Variant<"me">>,
  actor: UserId,
  member: UserId,
  values: Values = {},
): string {
  if (member === session.account.id && actor !== member) {
    return t(`${notice}.me`, { actor: isolated(nameOf(session, actor)), ...values });
  }
  return done(session, notice, actor, { member: isolated(nameOf(session, member)), ...values });
}

function membersAdded(session: Session, actor: UserId, members: readonly UserId[]): string {
  const own = session.account.id;
  if (members.length === 1 && members[0] === own && actor !== own) {
    return t("notice.members_added.me", { actor: isolated(nameOf(session, actor)) });
  }
  const names = members.map((user) => (user === own ? t("you.inside") : isolated(nameOf(session, user))));
  return done(session, "notice.members_added", actor, { members: names.join(", ") });
}

/** The text of a notice. */
export function noticeText(session: Session, message: Message): string {
  const { notice, sender_id: actor } = message;
  switch (notice?.type) {
    case "created":
      return done(session, notice.kind === "group" ? "notice.created" : "notice.created_other", actor, {
        name: isolated(notice.name ?? ""),
      });
    case "members_added":
      return membersAdded(session, actor, notice.user_ids);
    case "member_joined":
      return done(session, "notice.member_joined", notice.user_id);
    case "member_left":
      return done(session, "notice.member_left", notice.user_id);
    case "member_removed":
      return doneTo(session, "notice.member_removed", actor, notice.user_id);
    case "member_banned":
      return doneTo(session, "notice.member_banned", actor, notice.user_id);
    case "member_unbanned":
      return doneTo(session, "notice.member_unbanned", actor, notice.user_id);
    case "role_changed":
      return doneTo(session, "notice.role_changed", actor, notice.user_id, {
        role: t(`role.${notice.role}`),
      });
    case "ownership_transferred":
      return doneTo(session, "notice.ownership", actor, notice.user_id);
    case "pinned":
      return done(session, "notice.pinned", actor);
    case "details_changed":
      if (notice.name != null) {
        return done(session, "notice.renamed", actor, { name: isolated(notice.name) });
      }
      if (notice.message_ttl_secs != null) {
        return notice.message_ttl_secs === 0
          ? done(session, "notice.timer_off", actor)
          : done(session, "notice.timer", actor, { time: duration(notice.message_ttl_secs) });
      }
      if (notice.permissions != null) {
        return done(session, "notice.permissions", actor);
      }
      return done(session, notice.description != null ? "notice.description" : "notice.details", actor);
    case "withheld":
      return message.event === "message.pinned" ? done(session, "notice.pinned", actor) : t("notice.unknown");
    default:
      return message.deleted_at != null ? t("message.deleted") : (message.event ?? t("notice.unknown"));
  }
}

/** One line that stands for a message: its beginning, the name of its file, or its kind. */
export function lineOf(message: Message): string {
  return messagePreview(message) || t(`kind.${message.kind}`);
}

/** The preview of the last message in the list. */
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

/** The duration after which messages disappear. */
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
