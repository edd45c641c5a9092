/** The state that is stored in order to resume after a reload. */

import type { ConversationId, Seq } from "../api.js";
import type { QueueItem } from "./queue.js";

/** The position of the application. Plain data for JSON and IndexedDB. */
export interface ResumeState {
  /** The token for the next `sync`. Absent until the first one is complete. */
  token?: string;
  /** The newest entry of the account log that the application has taken. */
  accountSeq: number;
  /** The newest entry of each conversation that the application has taken. */
  seen: Record<ConversationId, Seq>;
}

export function emptyState(): ResumeState {
  return { accountSeq: 0, seen: {} };
}

/** The application has processed this item. */
export function note(state: ResumeState, item: QueueItem): void {
  switch (item.type) {
    case "entry":
      state.seen[item.conversationId] = item.entry.seq;
      break;
    case "begin":
    case "reset":
      state.seen[item.conversationId] = item.seq;
      break;
    case "gone":
      forget(state, item.gone.conversation_id);
      break;
    case "account":
      state.accountSeq = Math.max(state.accountSeq, item.entry.seq);
      if (item.entry.type === "conversation_gone") {
        forget(state, item.entry.conversation_id);
      }
      break;
    case "reset_all":
      delete state.token;
      state.seen = {};
      break;
    case "token":
      state.token = item.token;
      break;
    default:
      break;
  }
}

function forget(state: ResumeState, id: ConversationId): void {
  state.seen = Object.fromEntries(Object.entries(state.seen).filter(([other]) => other !== id));
}
