/** The messages of a conversation. */

import type { Conversation } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { day } from "../../i18n/format.js";
import { plural, t } from "../../i18n/index.js";
import { progressOf, type Progress } from "../../model/status.js";
import type { Timeline } from "../../model/timeline.js";
import { type Row, rowsOf } from "../../text/index.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { noticeText } from "../names.js";
import { onMessageListKey } from "./keys.js";
import { MessageRow } from "./message.js";
import { placed, type PlacedMessage } from "./placed.js";
import { Scrolling } from "./scrolling.js";
import { jump } from "./state.js";

/** How long a message that was jumped to stands out. */
const FLASH_MS = 1_600;

interface HistoryProps {
  conversation: Conversation;
  timeline: Timeline;
}

export function History({ conversation, timeline }: HistoryProps) {
  const session = useSession();
  const me = session.account.id;
  const scroller = useRef<HTMLDivElement>(null);
  const scrolling = useRef<Scrolling | undefined>(undefined);
  /** Whether the place where somebody left off has been found. */
  const begun = useRef(false);
  const ownPending = useRef(0);
  const away = useSignal(false);
  const flashed = useSignal("");

  const pending = session.outbox.of(conversation.id);
  const reachesEnd = !timeline.moreAfter.value;
  const all = placed(timeline.messages.value, reachesEnd ? pending : [], me);
  const rows = rowsOf(all, timeline.unreadAfter.value, me);
  const target = jump.value?.conversationId === conversation.id ? jump.value.messageId : undefined;

  const look = () => {
    const view = scrolling.current;
    if (!view) {
      return;
    }
    away.value = !view.atEnd || timeline.moreAfter.value;
    if (timeline.loaded.value && !timeline.failed.value) {
      if (view.nearStart) {
        void timeline.loadBefore();
      } else if (view.nearEnd) {
        void timeline.loadAfter();
      }
    }
    const seen = view.lastSeenSeq();
    if (
      begun.current &&
      seen !== undefined &&
      document.visibilityState === "visible" &&
      document.hasFocus()
    ) {
      session.read(conversation.id, seen);
    }
  };

  const toLatest = async () => {
    if (timeline.moreAfter.value) {
      await timeline.loadNewest();
    }
    scrolling.current?.toEnd();
  };

  useLayoutEffect(() => {
    if (!scroller.current) {
      return;
    }
    scrolling.current ??= new Scrolling(scroller.current);
    const view = scrolling.current;
    if (!begun.current) {
      // What is cached is shown at its end; when the server has answered, the first unread message is brought up.
      begun.current = timeline.loaded.value;
      if (!view.toRow("unread")) {
        view.toEnd();
      }
      view.note();
    } else if (pending.length > ownPending.current && reachesEnd) {
      view.toEnd();
    }
    ownPending.current = pending.length;
    view.restore(reachesEnd);
    look();
  });

  // Fonts, the keyboard of a phone and the composer change the height without a new message.
  useEffect(() => {
    const observer = new ResizeObserver(() => scrolling.current?.restore(!timeline.moreAfter.value));
    if (scroller.current) {
      observer.observe(scroller.current);
    }
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      observer.disconnect();
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);

  // Own words belong at the end, wherever one has scrolled to.
  useEffect(() => {
    if (pending.length > 0 && timeline.moreAfter.value) {
      void toLatest();
    }
  }, [pending.length]);

  useEffect(() => {
    if (target === undefined) {
      return;
    }
    const bring = async () => {
      if (!timeline.has(target)) {
        await timeline.loadAround(target);
      }
      jump.value = undefined;
      const found = placed(timeline.messages.value, [], me).find((one) => one.message.id === target);
      if (found && scrolling.current) {
        // The rows are there after the next picture.
        requestAnimationFrame(() => {
          scrolling.current?.toRow(found.key);
          flashed.value = target;
          setTimeout(() => (flashed.value = ""), FLASH_MS);
        });
      }
    };
    void bring();
  }, [target]);

  return (
    <div class="history">
      <div
        class="history-scroller"
        ref={scroller}
        onScroll={() => {
          scrolling.current?.note();
          look();
        }}
      >
        <ol class="messages" aria-label={t("conversation.messages")} onKeyDown={onMessageListKey}>
          <Edge timeline={timeline} empty={rows.length === 0} />
          {rows.map((row) => (
            <HistoryRow
              key={row.key}
              row={row}
              conversation={conversation}
              flashed={row.type === "message" && row.message.message.id === flashed.value}
              reachable={row === rows.findLast((one) => one.type === "message")}
            />
          ))}
        </ol>
      </div>
      {away.value && (
        <button
          type="button"
          class="to-latest"
          onClick={() => void toLatest()}
          aria-label={t("conversation.to_latest")}
        >
          <Icon name="down" />
          {conversation.unread > 0 && (
            <span class="badge">
              <span aria-hidden="true">{conversation.unread}</span>
              <span class="for-screen-readers">{plural("list.unread", conversation.unread)}</span>
            </span>
          )}
        </button>
      )}
      <Announcement all={all} />
    </div>
  );
}

/** What is above the first message. */
function Edge({ timeline, empty }: { timeline: Timeline; empty: boolean }) {
  if (timeline.failed.value) {
    const again = () => void (timeline.loaded.value ? timeline.loadBefore() : timeline.loadNewest());
    return (
      <li class="history-edge">
        {t("conversation.load_failed")}{" "}
        <button type="button" class="link-button" onClick={again}>
          {t("action.retry")}
        </button>
      </li>
    );
  }
  if (timeline.loading.value === "before" || (timeline.loading.value === "all" && empty)) {
    return <li class="history-edge">{t("conversation.loading")}</li>;
  }
  return empty && timeline.loaded.value ? <li class="history-edge">{t("conversation.empty")}</li> : null;
}

interface HistoryRowProps {
  row: Row<PlacedMessage>;
  conversation: Conversation;
  flashed: boolean;
  /** Whether the tabulator key gets there; from one to the next go the arrows. */
  reachable: boolean;
}

function HistoryRow({ row, conversation, flashed, reachable }: HistoryRowProps) {
  const session = useSession();
  switch (row.type) {
    case "day":
      return (
        <li class="day-line" data-key={row.key}>
          <span>{day(row.at, Date.now())}</span>
        </li>
      );
    case "unread":
      return (
        <li class="unread-line" data-key={row.key}>
          <span>{t("conversation.new_messages")}</span>
        </li>
      );
    case "notice":
      return (
        <li class="notice" data-key={row.key} data-seq={row.message.seq}>
          <span>{noticeText(session, row.message.message)}</span>
        </li>
      );
    case "message": {
      const { message, pending, seq } = row.message;
      return (
        <MessageRow
          rowKey={row.key}
          message={message}
          refusal={pending?.unsent.refusal}
          isPending={pending !== undefined}
          first={row.first}
          last={row.last}
          flashed={flashed}
          reachable={reachable}
          kind={conversation.kind}
          progress={
            pending
              ? pendingProgress(row.message)
              : progressOf(conversation, seq, session.account.id, message.status)
          }
          pinned={conversation.pinned_message_ids.includes(message.id)}
        />
      );
    }
  }
}

function pendingProgress({ pending }: PlacedMessage): Progress {
  return pending?.sent ? "sent" : pending?.unsent.refusal ? "refused" : "sending";
}

/** Reads the newest message of somebody else aloud. */
function Announcement({ all }: { all: readonly PlacedMessage[] }) {
  const session = useSession();
  const last = all.at(-1);
  const spoken = last && last.senderId !== session.account.id && !last.isNotice ? last : undefined;
  const name = spoken ? (session.people.user(spoken.senderId)?.display_name ?? "") : "";
  return (
    <p class="for-screen-readers" aria-live="polite">
      {spoken && `${name}: ${spoken.message.text ?? ""}`}
    </p>
  );
}
