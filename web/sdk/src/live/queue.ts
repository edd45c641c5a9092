/**
 * What lies between the session and the application: updates on their way there, and what was taken on its way back.
 *
 * The session never waits here. Where there is no room it keeps nothing and reads it again later, so an application that
 * is slow, or that waits for a reply before it takes the next update, holds up neither replies nor the connection.
 */

import type { ConversationId, CursorEvent, Seq, UserId } from "../api.js";
import { note, type ResumeState } from "./state.js";
import type { Update } from "./update.js";

/** Cursors that moved while there was no room: one for each member and conversation. Further ones are read again. */
const LATE_CURSORS_MAX = 1_000;

export type QueueItem =
  | Update
  /** The conversation begins after this entry. */
  | { type: "begin"; conversationId: ConversationId; seq: Seq }
  /** All that precedes the token has been put into the queue before it. */
  | { type: "token"; token: string };

export class Queue {
  /** Whoever is signed in: what they send needs no acknowledgement. */
  me: UserId | undefined;
  /** Tells the session that there is room again, or that something was taken. */
  onProgress: () => void = () => undefined;

  private items: QueueItem[] = [];
  private starved = false;
  private finished = false;
  private readonly lateCursors = new Map<string, CursorEvent>();
  private readonly taken = new Map<ConversationId, Seq>();
  /** The update that the application is dealing with. */
  private current: Update | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly itemsMax: number,
    /** Where the application is. */
    readonly state: ResumeState,
  ) {}

  // The side of the session

  /** If there is none, `onProgress` tells when there is. */
  hasRoom(): boolean {
    this.starved = this.items.length >= this.itemsMax;
    return !this.starved;
  }

  /** Also when there is no room: one page may go over the limit, and nothing else is asked for until there is room. */
  push(item: QueueItem): void {
    // Nobody cares how it stood with the connection before; and a connection that comes and goes for days while the
    // application takes nothing must not fill the memory.
    if (item.type === "connection" && this.items.at(-1)?.type === "connection") {
      this.items.pop();
    }
    this.items.push(item);
    this.wake?.();
  }

  /** What is worth nothing when it is late. Says whether there was room. */
  pushIfRoom(update: Update): boolean {
    const hasRoom = this.items.length < this.itemsMax;
    if (hasRoom) {
      this.push(update);
    }
    return hasRoom;
  }

  /** When there is no room only the latest of each member is kept. Says whether it is: what is not must be read again. */
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

  /** What the application has dealt with since the last time. */
  takeTaken(): [ConversationId, Seq][] {
    const taken = [...this.taken];
    this.taken.clear();
    return taken;
  }

  /** Nothing will come any more. */
  finish(): void {
    this.finished = true;
    this.wake?.();
  }

  // The side of the application

  /** The next update; `undefined` after the last. Asking for it says that the one before has been dealt with. */
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

  /** The application has dealt with the update that it took last. */
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
      // What was taken before may never have been acknowledged: the page can have been closed just then. And on a first
      // start the conversation itself tells what is in it.
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
