import type { Conversation } from "@godwit/sdk";

import { brief } from "../../i18n/format.js";
import { plural, t } from "../../i18n/index.js";
import { isMuted } from "../../model/inbox.js";
import { go } from "../../model/place.js";
import { titleOf } from "../../model/session.js";
import { progressOf } from "../../model/status.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { Marks } from "../marks.js";
import { showMenu } from "../menu.js";
import { nameOf, previewOf } from "../names.js";
import { conversationMenu } from "./menu.js";

/** Above this a badge says that there are more. */
const BADGE_MAX = 99;

interface ListRowProps {
  conversation: Conversation;
  open: boolean;
  top: number;
}

export function ListRow({ conversation, open, top }: ListRowProps) {
  const session = useSession();
  const title = titleOf(conversation);
  const online = conversation.peer ? session.presence.of(conversation.peer.id)?.online === true : false;
  return (
    <li class="list-item" style={{ transform: `translateY(${top}px)` }}>
      <button
        type="button"
        class={`row ${open ? "row-open" : ""}`}
        aria-current={open ? "page" : undefined}
        onClick={() => go({ screen: "conversation", id: conversation.id })}
        onContextMenu={(event) => showMenu(event, title, conversationMenu(session, conversation))}
      >
        <Avatar
          id={conversation.peer?.id ?? conversation.id}
          name={title}
          group={conversation.kind !== "direct"}
          online={online}
        />
        <span class="row-main">
          <span class="row-top">
            <bdi class="row-name">{title}</bdi>
            {online && <span class="for-screen-readers">{t("presence.online")}</span>}
            <OwnMark conversation={conversation} />
            <time class="row-time" dateTime={conversation.last_activity_at}>
              {brief(conversation.last_activity_at, Date.now())}
            </time>
          </span>
          <span class="row-bottom">
            <Preview conversation={conversation} />
            <Badges conversation={conversation} />
          </span>
        </span>
      </button>
    </li>
  );
}

/** Who types, else the draft, else the last message. */
function Preview({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const typing = session.typing.who(conversation.id);
  const draft = session.drafts.of(conversation).text;
  if (typing[0] !== undefined) {
    const text =
      conversation.kind === "direct"
        ? t("typing.direct")
        : t("typing.one", { name: nameOf(session, typing[0]) });
    return <span class="row-preview row-typing">{text}</span>;
  }
  if (draft !== "") {
    return (
      <span class="row-preview">
        <span class="row-draft">{t("list.draft")}</span> <bdi>{draft}</bdi>
      </span>
    );
  }
  return (
    <span class="row-preview">
      <bdi>{previewOf(session, conversation)}</bdi>
    </span>
  );
}

/** How far one's own last message has come. */
function OwnMark({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const last = conversation.last_message;
  const own = last?.sender_id === session.account.id && last.kind !== "system" && last.deleted !== true;
  return own ? (
    <Marks progress={progressOf(conversation, last.seq, session.account.id, last.status)} />
  ) : null;
}

function Badges({ conversation }: { conversation: Conversation }) {
  const { unread, unread_mentions, me } = conversation;
  const muted = isMuted(conversation, Date.now());
  return (
    <span class="row-badges">
      {muted && <Sign icon="mute" label={t("list.muted")} />}
      {me.pinned && <Sign icon="pin" label={t("list.pinned")} />}
      {unread_mentions > 0 && (
        <span class="badge badge-mention">
          <span aria-hidden="true">@</span>
          <span class="for-screen-readers">{plural("list.mentions", unread_mentions)}</span>
        </span>
      )}
      {unread > 0 ? (
        <span class={`badge ${muted ? "badge-muted" : ""}`}>
          <span aria-hidden="true">{unread > BADGE_MAX ? `${BADGE_MAX}+` : unread}</span>
          <span class="for-screen-readers">{plural("list.unread", unread)}</span>
        </span>
      ) : (
        me.marked_unread && (
          <span class="badge badge-dot">
            <span class="for-screen-readers">{t("list.marked_unread")}</span>
          </span>
        )
      )}
    </span>
  );
}

function Sign({ icon, label }: { icon: "mute" | "pin"; label: string }) {
  return (
    <span class="row-sign">
      <Icon name={icon} />
      <span class="for-screen-readers">{label}</span>
    </span>
  );
}
