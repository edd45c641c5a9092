/** The rows of a history, from top to bottom. */

/** Messages of one sender within this time are grouped. */
export const GROUP_GAP_MS = 5 * 60_000;

/** The properties of a message that determine its place. */
export interface Placed {
  key: string;
  seq: number;
  senderId: string;
  at: string;
  isNotice: boolean;
}

export type Row<M extends Placed> =
  | { type: "day"; key: string; at: string }
  | { type: "unread"; key: string }
  | { type: "notice"; key: string; message: M }
  | {
      type: "message";
      key: string;
      message: M;
      /** Whether the message is the first or the last of its group. */
      first: boolean;
      last: boolean;
    };

/**
 * @param unreadAfter messages from others after this entry were unread when the conversation was opened
 */
export function rowsOf<M extends Placed>(
  messages: readonly M[],
  unreadAfter: number | undefined,
  me: string,
): Row<M>[] {
  const rows: Row<M>[] = [];
  let before: M | undefined;
  let lineDrawn = unreadAfter === undefined;
  for (const message of messages) {
    const newDay = !before || dayOf(before.at) !== dayOf(message.at);
    if (newDay) {
      rows.push({ type: "day", key: `day:${dayOf(message.at)}`, at: message.at });
    }
    const drawLine =
      !lineDrawn && message.seq > (unreadAfter ?? 0) && message.senderId !== me && !message.isNotice;
    if (drawLine) {
      lineDrawn = true;
      rows.push({ type: "unread", key: "unread" });
    }
    if (message.isNotice) {
      rows.push({ type: "notice", key: message.key, message });
    } else {
      const first = newDay || drawLine || !before || !together(before, message);
      endGroup(rows, first);
      rows.push({ type: "message", key: message.key, message, first, last: true });
    }
    before = message;
  }
  return rows;
}

/** Ends the group of the previous message if the next one starts a new group. */
function endGroup<M extends Placed>(rows: Row<M>[], nextBegins: boolean): void {
  const previous = rows.at(-1);
  if (previous?.type === "message" && !nextBegins) {
    previous.last = false;
  }
}

function together(one: Placed, next: Placed): boolean {
  const close = Date.parse(next.at) - Date.parse(one.at) < GROUP_GAP_MS;
  return one.senderId === next.senderId && !one.isNotice && close;
}

/** The day in the reader's time zone. */
function dayOf(at: string): string {
  return new Date(at).toDateString();
}
