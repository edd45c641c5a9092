/**
 * Catching up after a disconnect: rounds of `sync`. This module does no I/O.
 *
 * A round reads all changes since the token, page by page. Its last page has the next token. The session adopts that token
 * only after it has read every conversation that the round found behind: a session that resumed from the new token earlier
 * would not learn of them again. A round that is interrupted starts again.
 */

import type { AccountEntry, ConversationId, Seq, SyncPage } from "../api.js";
import type { Logs } from "./logs.js";
import type { Queue } from "./queue.js";

/** Account entries that arrive live during a round. If there are more, another round follows. */
const ACCOUNT_ENTRIES_HELD_MAX = 256;

interface Round {
  /** The token of the page to request; absent for the very first page. */
  since: string | undefined;
  underWay: boolean;
}

export class CatchUp {
  private round: Round | undefined;
  /** The token of the last round, until everything that the round found has been read. */
  private nextToken: string | undefined;
  /** The heads that the last round found. The session reads at least up to these. */
  private readonly awaited = new Map<ConversationId, Seq>();
  /** Account entries that arrived during a round. They are newer than those of the round, so they are delivered after it. */
  private held: AccountEntry[] = [];
  /** Another round follows this one. */
  private repeat = false;

  constructor(
    /** The application has received everything before this token. */
    private token: string | undefined,
    private accountSeq: number,
    private readonly logs: Logs,
    private readonly queue: Queue,
    /** Called when all other state of a conversation must be discarded. */
    private readonly onForget: (id: ConversationId) => void,
  ) {}

  /** Starts a round. If one is running, it may have read past the new change already, so another one follows. */
  begin(): void {
    if (!this.round) {
      this.beginAnew();
    } else if (this.round.underWay || this.round.since !== this.token) {
      this.repeat = true;
    }
  }

  /** Starts a new round on a new connection, whatever the state of the previous one. */
  beginAnew(): void {
    this.round = { since: this.token, underWay: false };
    this.nextToken = undefined;
    this.awaited.clear();
    this.held = [];
    this.repeat = false;
  }

  wantsPage(): boolean {
    return this.round?.underWay === false;
  }

  /** The page to request. The caller must report the outcome. */
  nextPage(): { since?: string } | undefined {
    if (!this.round || this.round.underWay) {
      return undefined;
    }
    this.round.underWay = true;
    return this.round.since === undefined ? {} : { since: this.round.since };
  }

  pageFailed(): void {
    if (this.round) {
      this.round.underWay = false;
    }
  }

  /** The server refuses the token of the page. */
  pageRefused(): void {
    const since = this.round?.since;
    if (since !== undefined && since === this.token) {
      this.lostTrack();
    } else {
      // The refused token is from the middle of the round. The one at its start may still be valid.
      this.beginAnew();
    }
  }

  page(page: SyncPage): void {
    // A first sync cannot be incomplete. Without this check, a server that claims it would be asked forever.
    if (page.truncated && this.round?.since !== undefined) {
      this.lostTrack();
      return;
    }
    // Handles departures first: a conversation that is listed too has come back since.
    for (const gone of page.gone) {
      this.forget(gone.conversation_id);
      this.awaited.delete(gone.conversation_id);
      this.queue.push({ type: "gone", gone });
    }
    for (const conversation of page.conversations) {
      const { id, head, me } = conversation;
      const begins = this.logs.list(id, head, me.history_from);
      if (begins !== undefined) {
        this.queue.push({ type: "begin", conversationId: id, seq: begins });
      }
      this.queue.push({ type: "conversation", conversation });
      if ((this.logs.seen(id) ?? head) < head) {
        this.awaited.set(id, head);
      }
    }
    for (const { conversation_id, cursors } of page.cursors) {
      for (const cursor of cursors) {
        this.queue.push({ type: "cursor", cursor: { conversation_id, ...cursor } });
      }
    }
    for (const entry of [...page.account].sort((one, other) => one.seq - other.seq)) {
      this.give(entry);
    }
    if (page.more) {
      this.round = { since: page.token, underWay: false };
    } else {
      this.finish(page.token);
    }
  }

  /** An account entry has arrived live. */
  account(entry: AccountEntry): void {
    if (this.round) {
      // The order of the departure and of the round's reads is unknown, so another round follows.
      const isUnclear = entry.type === "conversation_gone";
      if (this.held.length < ACCOUNT_ENTRIES_HELD_MAX && !isUnclear) {
        this.held.push(entry);
      } else {
        this.repeat = true;
      }
    } else if (this.queue.hasRoom()) {
      this.give(entry);
    } else {
      // Dropped: the round that starts now delivers it, once there is room.
      this.beginAnew();
    }
  }

  /** More of a conversation's log was read. */
  progress(id: ConversationId): void {
    const awaited = this.awaited.get(id);
    if (awaited !== undefined && (this.logs.seen(id) ?? awaited) >= awaited) {
      this.giveUp(id);
    }
  }

  /** The conversation was reset or is gone, so the round no longer waits for it. */
  giveUp(id: ConversationId): void {
    if (this.awaited.delete(id)) {
      this.commit();
    }
  }

  /** The token is invalid: everything is loaded again. */
  private lostTrack(): void {
    this.queue.push({ type: "reset_all" });
    this.logs.forgetAll();
    this.token = undefined;
    this.beginAnew();
  }

  private finish(token: string): void {
    this.logs.listedAll();
    this.round = undefined;
    if (this.repeat) {
      this.beginAnew();
      return;
    }
    const held = this.held;
    this.held = [];
    for (const entry of held) {
      this.give(entry);
    }
    this.nextToken = token;
    this.commit();
  }

  private commit(): void {
    if (this.awaited.size > 0 || this.nextToken === undefined) {
      return;
    }
    this.token = this.nextToken;
    this.nextToken = undefined;
    this.queue.push({ type: "token", token: this.token });
    this.queue.push({ type: "caught_up" });
  }

  private give(entry: AccountEntry): void {
    if (entry.seq <= this.accountSeq) {
      return;
    }
    this.accountSeq = entry.seq;
    if (entry.type === "conversation_gone") {
      this.forget(entry.conversation_id);
      this.queue.push({ type: "account", entry });
      this.giveUp(entry.conversation_id);
    } else {
      this.queue.push({ type: "account", entry });
    }
  }

  private forget(id: ConversationId): void {
    this.logs.forget(id);
    this.onForget(id);
  }
}
