/**
 * The pane of a conversation.
 *
 * - here: header, pinned messages, history and composer
 * - `history`: the messages; `following`, `jumping` and `scrolling`: the scroll position; `focus`: keyboard navigation;
 *   `announcement`: announcements for screen readers
 * - `history_row`, `message`, `text`, `reactions`, `refused`, `message_menu`: one message
 * - `composer`, `writing`, `mention_list`, `emoji_picker`: the composer
 * - `thread`: the replies to one message
 * - `state`: the message that is being replied to, edited or jumped to
 */

import type { Conversation, MessageId } from "@godwit/sdk";
import { useEffect, useState } from "preact/hooks";

import { plural, t } from "../../i18n/index.js";
import { brief } from "../../i18n/format.js";
import { changeMembership } from "../../model/actions.js";
import { go } from "../../model/place.js";
import type { Session } from "../../model/index.js";
import { titleOf } from "../../model/session.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";
import { Icon, IconButton } from "../icon.js";
import { conversationMenu } from "../list/menu.js";
import { showMenu } from "../menu.js";
import { duration, typingText } from "../names.js";
import { Composer } from "./composer.js";
import { History } from "./history.js";
import { PinnedLine } from "./pinned.js";
import { ThreadPane } from "./thread.js";

/** Members whose profiles are loaded when a conversation is opened. */
const MEMBERS_LEARNT = 200;

interface ConversationPaneProps {
  conversation: Conversation;
  /** The open thread. */
  thread: MessageId | undefined;
}

export function ConversationPane({ conversation, thread }: ConversationPaneProps) {
  const session = useSession();
  // Runs before the first render, which shows the line before the new messages.
  useState(() => session.histories.reopen(conversation.id));
  const timeline = session.histories.timeline(conversation.id);

  useEffect(() => {
    if (conversation.me.marked_unread) {
      void changeMembership(session, conversation.id, { marked_unread: false });
    }
    if (conversation.kind !== "direct") {
      session.http.groups
        .members(conversation.id, { limit: MEMBERS_LEARNT })
        .then(({ members }) => session.people.learn(...members))
        // Names are then loaded on demand.
        .catch(() => undefined);
    }
  }, [conversation.id]);

  return (
    <>
      <main class="conversation" aria-label={titleOf(conversation)}>
        <Header conversation={conversation} />
        <PinnedLine conversation={conversation} timeline={timeline} />
        <History conversation={conversation} timeline={timeline} />
        <Composer conversation={conversation} said={() => timeline.messages.value} />
      </main>
      {thread !== undefined && <ThreadPane key={thread} conversation={conversation} id={thread} />}
    </>
  );
}

function Header({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const title = titleOf(conversation);
  const online = conversation.peer ? session.presence.of(conversation.peer.id)?.online === true : false;
  return (
    <header class="pane-header">
      <IconButton
        icon="back"
        label={t("action.back")}
        class="back-button"
        onClick={() => go({ screen: "list" })}
      />
      <button
        type="button"
        class="conversation-title"
        aria-haspopup="dialog"
        onClick={() => showDialog({ type: "info", id: conversation.id })}
      >
        <Avatar
          id={conversation.peer?.id ?? conversation.id}
          name={title}
          group={conversation.kind !== "direct"}
          online={online}
          size="small"
        />
        <span class="conversation-names">
          <span class="conversation-name">
            <bdi>{title}</bdi>
            <TimerMark secs={conversation.message_ttl_secs ?? 0} />
          </span>
          <span class="conversation-state">{stateOf(session, conversation)}</span>
        </span>
      </button>
      <IconButton
        icon="more"
        label={t("action.more")}
        onClick={(event) => showMenu(event, title, conversationMenu(session, conversation))}
      />
    </header>
  );
}

/** Shows that messages disappear. */
function TimerMark({ secs }: { secs: number }) {
  if (secs === 0) {
    return null;
  }
  const time = duration(secs);
  const words = t("conversation.timer", { time });
  return (
    <span class="timer-mark" title={words}>
      <Icon name="clock" />
      <span aria-hidden="true">{time}</span>
      <span class="for-screen-readers">{words}</span>
    </span>
  );
}

/** The line below the title: who is typing, presence, or the number of members. */
function stateOf(session: Session, conversation: Conversation): string {
  const typing = session.typing.who(conversation.id);
  if (typing.length > 0) {
    return typingText(session, conversation, typing);
  }
  if (!conversation.peer) {
    return plural("info.members", conversation.member_count);
  }
  const presence = session.presence.of(conversation.peer.id);
  if (presence?.online) {
    return t("presence.online");
  }
  return presence?.last_seen_at
    ? t("presence.last_seen", { when: brief(presence.last_seen_at, Date.now()) })
    : `@${conversation.peer.handle}`;
}
