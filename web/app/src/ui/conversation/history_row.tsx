/** One row of a history: a message, a notice or a separator. */

import type { Conversation, MessageId } from "@godwit/sdk";

import { day } from "../../i18n/format.js";
import { t } from "../../i18n/index.js";
import { type Progress, progressOf } from "../../model/status.js";
import type { Row } from "../../text/index.js";
import { useSession } from "../context.js";
import { noticeText } from "../names.js";
import { MessageRow } from "./message.js";
import type { PlacedMessage } from "./placed.js";

interface HistoryRowProps {
  row: Row<PlacedMessage>;
  conversation: Conversation;
  /** The thread, if the row is in a thread rather than in the history of the conversation. */
  thread?: MessageId;
  flashed?: boolean;
  /** Whether the row is the tab stop; the arrow keys move between rows. */
  reachable: boolean;
}

export function HistoryRow({ row, conversation, thread, flashed = false, reachable }: HistoryRowProps) {
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
          thread={thread}
          refusal={pending?.unsent.refusal}
          isPending={pending !== undefined}
          first={row.first}
          last={row.last}
          flashed={flashed}
          kind={conversation.kind}
          progress={
            pending
              ? pendingProgress(row.message)
              : progressOf(conversation, seq, session.account.id, message.status)
          }
          pinned={conversation.pinned_message_ids.includes(message.id)}
          tabIndex={reachable ? 0 : -1}
        />
      );
    }
  }
}

function pendingProgress({ pending }: PlacedMessage): Progress {
  return pending?.sent ? "sent" : pending?.unsent.refusal ? "refused" : "sending";
}
