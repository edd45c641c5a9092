/**
 * Finding out what changed while nobody listened: rounds of `sync`. Book-keeping without input or output.
 *
 * A round asks for everything since the token, page after page. Its last page has the next token, which counts only when
 * the conversations that the round found behind have been read: before that, whoever goes on from the new token would
 * not hear of them again. So a round that is cut off is simply made anew.
 */

import type { AccountEntry, ConversationId, Seq, SyncPage } from "../api.js";
import type { Logs } from "./logs.js";
import type { Queue } from "./queue.js";

/** Account entries that come live during a round. When there are more, another round follows. */
const ACCOUNT_ENTRIES_HELD_MAX = 256;

interface Round {
  /** The token of the page to be asked for; absent for the first page of all. */
  since: string | undefined;
  underWay: boolean;
}

export class CatchUp {
  private round: Round | undefined;
  /** The token of the last round, until all that it found has been read. */
  private nextToken: string | undefined;
  /** What the last round found: read at least up to here. */
  private readonly awaited = new Map<ConversationId, Seq>();
  /** Account entries that came during a round: they are newer than what the round brings, and come after it. */
  private held: AccountEntry[] = [];
  /** Another round follows this one. */
  private repeat = false;

  constructor(
    /** All before it has been given to the application. */
    private token: string | undefined,
    private accountSeq: number,
    private readonly logs: Logs,
    private readonly queue: Queue,
    /** What else is known of a conversation means nothing any more. */
    private readonly onForget: (id: ConversationId) => void,
  ) {}

  /** Begins a round. The one under way may have read before what it should find, so another one follows it. */
  begin(): void {
    if (!this.round) {
      this.beginAnew();
    } else if (this.round.underWay || this.round.since !== this.token) {
      this.repeat = true;
    }
  }

  /** Begins a round whatever became of the one before: the connection is new. */
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

  /** The page to be asked for. Its outcome must be reported. */
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

  /** The server does not take the token of the page. */
  pageRefused(): void {
    const since = this.round?.since;
    if (since !== undefined && since === this.token) {
      this.lostTrack();
    } else {
      // It was one from the middle of the round: the one from its beginning may still be good.
      this.beginAnew();
    }
  }

  page(page: SyncPage): void {
    // A first sync has nothing that could be incomplete; without this a server that says so would be asked forever.
    if (page.truncated && this.round?.since !== undefined) {
      this.lostTrack();
      return;
    }
    // First what went: a conversation that is listed all the same has come back since.
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

  /** An entry of the account log came live. */
  account(entry: AccountEntry): void {
    if (this.round) {
      // Whether a conversation went before the round reads of it, or after, is not known: another round tells.
      const isUnclear = entry.type === "conversation_gone";
      if (this.held.length < ACCOUNT_ENTRIES_HELD_MAX && !isUnclear) {
        this.held.push(entry);
      } else {
        this.repeat = true;
      }
    } else if (this.queue.hasRoom()) {
      this.give(entry);
    } else {
      // It is not kept: the round that begins now brings it, when there is room.
      this.beginAnew();
    }
  }

  /** A conversation was read further. */
  progress(id: ConversationId): void {
    const awaited = this.awaited.get(id);
    if (awaited !== undefined && (this.logs.seen(id) ?? awaited) >= awaited) {
      this.giveUp(id);
    }
  }

  /** The conversation was reset or is gone: there is nothing to wait for. */
  giveUp(id: ConversationId): void {
    if (this.awaited.delete(id)) {
      this.commit();
    }
  }

  /** The token is of no use: everything is loaded anew. */
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
