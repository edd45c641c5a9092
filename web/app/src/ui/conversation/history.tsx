/** The history of a conversation. */

import type { Conversation } from "@godwit/sdk";

import { plural, t } from "../../i18n/index.js";
import type { Timeline } from "../../model/timeline.js";
import { rowsOf } from "../../text/index.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { Announcement } from "./announcement.js";
import { useMessageFocus } from "./focus.js";
import { useFollowing } from "./following.js";
import { HistoryRow } from "./history_row.js";
import { useJump } from "./jumping.js";
import { placed } from "./placed.js";
import { jump } from "./state.js";

interface HistoryProps {
  conversation: Conversation;
  timeline: Timeline;
}

/**
 * This component returns the list itself, not as a child of another element. A parent element keeps the virtual nodes of
 * its first render as children even after they re-render themselves, and from those rows all later rows are reachable, so
 * no row would ever be garbage-collected. For the same reason, no context provider wraps a row.
 */
export function History(props: HistoryProps) {
  return <Messages {...props} />;
}

function Messages({ conversation, timeline }: HistoryProps) {
  const session = useSession();
  const me = session.account.id;
  const pending = session.outbox.of(conversation.id);
  const reachesEnd = !timeline.moreAfter.value;
  const rows = rowsOf(
    placed(timeline.messages.value, reachesEnd ? pending : [], me),
    timeline.unreadAfter.value,
    me,
  );
  const target = jump.value?.conversationId === conversation.id ? jump.value.messageId : undefined;
  const following = useFollowing(conversation, timeline, pending.length, target !== undefined);
  const flashed = useJump(target, timeline, following.scrolling);
  const focus = useMessageFocus(rows.flatMap((row) => (row.type === "message" ? row.key : [])));

  return (
    <div class="history">
      <div class="history-scroller" ref={following.scroller} onScroll={following.onScroll}>
        <ol
          class="messages"
          ref={focus.list}
          aria-label={t("conversation.messages")}
          onFocusIn={focus.onFocusIn}
          onKeyDown={focus.onKeyDown}
        >
          <Start timeline={timeline} empty={rows.length === 0} />
          {rows.map((row) => (
            <HistoryRow
              key={row.key}
              row={row}
              conversation={conversation}
              flashed={row.type === "message" && row.message.message.id === flashed}
              reachable={row.key === focus.reachable}
            />
          ))}
          <End timeline={timeline} />
        </ol>
      </div>
      {following.away.value && (
        <ToLatest
          unread={conversation.unread}
          // The button disappears, so the focus must move once the rows are rendered.
          onClick={() => void following.toLatest().then(() => requestAnimationFrame(focus.focusLast))}
        />
      )}
      <Announcement conversation={conversation} />
    </div>
  );
}

/** The area above the first message. */
function Start({ timeline, empty }: { timeline: Timeline; empty: boolean }) {
  const { value: failed } = timeline.failed;
  const { value: loading } = timeline.loading;
  const isAwaited = timeline.startShown.value;
  if (isAwaited && (failed === "before" || failed === "all")) {
    return <Failed timeline={timeline} />;
  }
  if ((isAwaited && loading === "before") || (empty && loading === "all")) {
    return <li class="history-edge">{t("conversation.loading")}</li>;
  }
  return empty && timeline.loaded.value ? <li class="history-edge">{t("conversation.empty")}</li> : null;
}

/** The area below the last message. */
function End({ timeline }: { timeline: Timeline }) {
  return timeline.endShown.value && timeline.failed.value === "after" ? <Failed timeline={timeline} /> : null;
}

function Failed({ timeline }: { timeline: Timeline }) {
  return (
    <li class="history-edge">
      {t("conversation.load_failed")}{" "}
      <button type="button" class="link-button" onClick={() => void timeline.retry()}>
        {t("action.retry")}
      </button>
    </li>
  );
}

function ToLatest({ unread, onClick }: { unread: number; onClick: () => void }) {
  return (
    <button type="button" class="to-latest" onClick={onClick}>
      <Icon name="down" />
      <span class="for-screen-readers">{t("conversation.to_latest")}</span>
      {unread > 0 && (
        <span class="badge">
          <span aria-hidden="true">{unread}</span>
          <span class="for-screen-readers">{plural("list.unread", unread)}</span>
        </span>
      )}
    </button>
  );
}
