import type { Conversation } from "@godwit/sdk";

import { brief, full } from "../../i18n/format.js";
import { plural, t } from "../../i18n/index.js";
import { FOREVER } from "../../model/actions.js";
import { isMuted } from "../../model/inbox.js";
import { go } from "../../model/place.js";
import { titleOf } from "../../model/session.js";
import { progressOf } from "../../model/status.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { Marks } from "../marks.js";
import { useLongPress } from "../long_press.js";
import { showMenu } from "../menu.js";
import { previewOf, typingText } from "../names.js";
import { conversationMenu } from "./menu.js";

/** The highest number on a badge. */
const BADGE_MAX = 99;

interface ListRowProps {
  conversation: Conversation;
  open: boolean;
  /** Whether this row is the tab stop; the arrow keys move between rows. */
  tabbable: boolean;
  top: number;
  onFocus: () => void;
}

export function ListRow({ conversation, open, tabbable, top, onFocus }: ListRowProps) {
  const session = useSession();
  const title = titleOf(conversation);
  const { cancel, ...touching } = useLongPress();
  const online = conversation.peer ? session.presence.of(conversation.peer.id)?.online === true : false;
  return (
    <li class="list-item" style={{ transform: `translateY(${top}px)` }}>
      <button
        type="button"
        class={`row ${open ? "row-open" : ""}`}
        aria-current={open ? "page" : undefined}
        tabIndex={tabbable ? 0 : -1}
        onFocus={onFocus}
        onClick={() => go({ screen: "conversation", id: conversation.id })}
        onContextMenu={(event) => {
          cancel();
          showMenu(event, title, conversationMenu(session, conversation));
        }}
        {...touching}
      >
        <Avatar
          id={conversation.peer?.id ?? conversation.id}
          name={title}
          group={conversation.kind !== "direct"}
          online={online}
        />
        <span class="row-main">
          <span class="row-top">
            <span class="row-name">
              <bdi>{title}</bdi>
            </span>
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

/** Who is typing, or the draft, or the last message. */
function Preview({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const typing = session.typing.who(conversation.id);
  const draft = session.drafts.of(conversation).text;
  if (typing.length > 0) {
    return <span class="row-preview row-typing">{typingText(session, conversation, typing)}</span>;
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

/** The delivery status of the user's own last message. */
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
      {muted && <Sign icon="mute" label={mutedText(me.muted_until ?? FOREVER)} />}
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

function mutedText(until: string): string {
  return until >= FOREVER ? t("list.muted") : t("list.muted_until", { when: full(until) });
}

function Sign({ icon, label }: { icon: "mute" | "pin"; label: string }) {
  return (
    <span class="row-sign" title={label}>
      <Icon name={icon} />
      <span class="for-screen-readers">{label}</span>
    </span>
  );
}
