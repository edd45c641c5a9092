/** The replies to a message, beside the conversation, or in place of it on narrow screens. */

import type { Conversation, MessageId } from "@godwit/sdk";
import { useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../../i18n/index.js";
import type { Pending } from "../../model/outbox.js";
import type { Thread } from "../../model/thread.js";
import { rowsOf } from "../../text/index.js";
import { useSession } from "../context.js";
import { IconButton } from "../icon.js";
import { Composer } from "./composer.js";
import { useMessageFocus } from "./focus.js";
import { HistoryRow } from "./history_row.js";
import { placed } from "./placed.js";
import { Scrolling } from "./scrolling.js";
import { closeThread } from "./state.js";

interface ThreadPaneProps {
  conversation: Conversation;
  id: MessageId;
}

export function ThreadPane({ conversation, id }: ThreadPaneProps) {
  const session = useSession();
  const thread = session.histories.thread(id);
  const root = thread.root.value;
  const close = () => closeThread(conversation.id, root?.id ?? id);
  return (
    <aside
      class="thread"
      aria-label={t("thread.title")}
      onKeyDown={(event) => event.key === "Escape" && !event.defaultPrevented && close()}
    >
      <header class="pane-header">
        <h2>{t("thread.title")}</h2>
        <IconButton icon="close" label={t("thread.close")} onClick={close} />
      </header>
      <Replies conversation={conversation} thread={thread} />
      {root && <Composer conversation={conversation} root={root} said={() => thread.replies.value} />}
    </aside>
  );
}

function Replies({ conversation, thread }: { conversation: Conversation; thread: Thread }) {
  const session = useSession();
  const me = session.account.id;
  const scroller = useRef<HTMLDivElement>(null);
  const scrolling = useRef<Scrolling | undefined>(undefined);
  const root = thread.root.value;
  const all = root ? [root, ...thread.replies.value] : thread.replies.value;
  const pending = session.outbox.of(conversation.id).filter(isReplyTo(all.map((message) => message.id)));
  const rows = rowsOf(placed(all, pending, me), undefined, me);
  const focus = useMessageFocus(rows.flatMap((row) => (row.type === "message" ? row.key : [])));

  useLayoutEffect(() => {
    if (scroller.current) {
      scrolling.current ??= new Scrolling(scroller.current);
      scrolling.current.restore(true);
    }
  });

  return (
    <div class="history">
      <div class="history-scroller" ref={scroller} onScroll={() => scrolling.current?.note()}>
        <ol
          class="messages"
          ref={focus.list}
          aria-label={t("thread.replies")}
          onFocusIn={focus.onFocusIn}
          onKeyDown={focus.onKeyDown}
        >
          {rows.map((row) => (
            <HistoryRow
              key={row.key}
              row={row}
              conversation={conversation}
              thread={root?.id ?? thread.id}
              reachable={row.key === focus.reachable}
            />
          ))}
          <More thread={thread} />
        </ol>
      </div>
    </div>
  );
}

/** The area below the loaded replies. */
function More({ thread }: { thread: Thread }) {
  if (thread.loading.value) {
    return <li class="history-edge">{t("conversation.loading")}</li>;
  }
  if (!thread.failed.value && thread.next.value === undefined) {
    return null;
  }
  return (
    <li class="history-edge">
      {thread.failed.value && `${t("conversation.load_failed")} `}
      <button type="button" class="link-button" onClick={() => void thread.load()}>
        {thread.failed.value ? t("action.retry") : t("thread.more")}
      </button>
    </li>
  );
}

function isReplyTo(messages: readonly MessageId[]): (pending: Pending) => boolean {
  return ({ unsent }) => messages.includes(unsent.message.reply_to ?? "");
}
