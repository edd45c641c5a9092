/**
 * The bounded queue between the session and the application: updates in one direction, acknowledgements in the other.
 *
 * The session never waits for the application. If the queue is full, the session drops the update and reads it again
 * later. An application that is slow, or that waits for a reply before it takes the next update, therefore blocks neither
 * replies nor the connection.
 */

import type { ConversationId, CursorEvent, Seq, UserId } from "../api.js";
import { note, type ResumeState } from "./state.js";
import type { Update } from "./update.js";

/** Cursor moves that are kept while the queue is full, one per member and conversation. Further ones are read again. */
const LATE_CURSORS_MAX = 1_000;

export type QueueItem =
  | Update
  /** The conversation begins after this entry. */
  | { type: "begin"; conversationId: ConversationId; seq: Seq }
  /** Every update that precedes the token is in the queue before it. */
  | { type: "token"; token: string };

export class Queue {
  /** The signed-in user, whose own messages need no acknowledgement. */
  me: UserId | undefined;
  /** Notifies the session that there is room again, or that the application has taken an update. */
  onProgress: () => void = () => undefined;

  private items: QueueItem[] = [];
  private starved = false;
  private finished = false;
  private readonly lateCursors = new Map<string, CursorEvent>();
  private readonly taken = new Map<ConversationId, Seq>();
  /** The update that the application is processing. */
  private current: Update | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly itemsMax: number,
    /** The position of the application. */
    readonly state: ResumeState,
  ) {}

  // Used by the session

  /** If it returns false, `onProgress` is called when there is room. */
  hasRoom(): boolean {
    this.starved = this.items.length >= this.itemsMax;
    return !this.starved;
  }

  /** Adds the item even if the queue is full: one page may exceed the limit, and the session then requests nothing more. */
  push(item: QueueItem): void {
    // Only the latest state of the connection matters. Otherwise a connection that flaps for days while the application takes
    // nothing would fill the memory.
    if (item.type === "connection" && this.items.at(-1)?.type === "connection") {
      this.items.pop();
    }
    this.items.push(item);
    this.wake?.();
  }

  /** Queues an update that is useless when it is late. Returns false if it was dropped because the queue is full. */
  pushIfRoom(update: Update): boolean {
    const hasRoom = this.items.length < this.itemsMax;
    if (hasRoom) {
      this.push(update);
    }
    return hasRoom;
  }

  /** If the queue is full, keeps only the latest move of each member. Returns false if the move must be read again. */
  pushCursor(cursor: CursorEvent): boolean {
    const key = `${cursor.conversation_id} ${cursor.user_id}`;
    const late = this.lateCursors.has(key);
    if (!late && this.items.length < this.itemsMax) {
      this.push({ type: "cursor", cursor });
    } else if (late || this.lateCursors.size < LATE_CURSORS_MAX) {
      this.lateCursors.set(key, cursor);
    } else {
      return false;
    }
    return true;
  }

  /** The entries that the application has processed since the last call. */
  takeTaken(): [ConversationId, Seq][] {
    const taken = [...this.taken];
    this.taken.clear();
    return taken;
  }

  /** No more items will come. */
  finish(): void {
    this.finished = true;
    this.wake?.();
  }

  // Used by the application

  /** The next update; `undefined` after the last one. The call confirms that the previous update was processed. */
  async next(): Promise<Update | undefined> {
    this.settleCurrent();
    for (;;) {
      const update = this.pop();
      if (update || this.finished) {
        this.current = update;
        return update;
      }
      await new Promise<void>((resolve) => (this.wake = resolve));
      this.wake = undefined;
    }
  }

  /** The application has processed the last update that it took. */
  settleCurrent(): void {
    const update = this.current;
    this.current = undefined;
    if (update) {
      note(this.state, update);
      this.acknowledge(update);
    }
  }

  private pop(): Update | undefined {
    for (let item = this.items.shift(); item; item = this.items.shift()) {
      if (item.type !== "begin" && item.type !== "token") {
        this.tellRoom();
        return item;
      }
      note(this.state, item);
    }
    this.tellRoom();
    return this.popLateCursor();
  }

  private popLateCursor(): Update | undefined {
    for (const [key, cursor] of this.lateCursors) {
      this.lateCursors.delete(key);
      return { type: "cursor", cursor };
    }
    return undefined;
  }

  private tellRoom(): void {
    if (this.starved && this.items.length <= this.itemsMax / 2) {
      this.starved = false;
      this.onProgress();
    }
  }

  private acknowledge(update: Update): void {
    if (update.type === "entry") {
      const { conversationId, entry } = update;
      if (entry.type === "message" && entry.message.sender_id === this.me) {
        // Sending a message moves the sender's cursors to it.
        this.taken.delete(conversationId);
      } else {
        this.tellTaken(conversationId, entry.seq);
      }
    } else if (update.type === "conversation") {
      // Acknowledges earlier entries again, because the page may have been closed before it did so. On a first start, the
      // conversation itself delivers the content of its entries.
      const { id, me } = update.conversation;
      const seen = this.state.seen[id];
      if (seen !== undefined && me.delivered < seen) {
        this.tellTaken(id, seen);
      }
    }
  }

  private tellTaken(id: ConversationId, seq: Seq): void {
    this.taken.set(id, seq);
    this.onProgress();
  }
}
