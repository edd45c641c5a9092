/** The session of one account: the live session and the stores. */

import {
  type Connection,
  type Conversation,
  type ConversationId,
  type Http,
  type IndexedDbStorage,
  Live,
  type Seq,
  type User,
} from "@godwit/sdk";
import { effect, signal } from "@preact/signals";

import { t } from "../i18n/index.js";
import { Blocks } from "./blocks.js";
import { Cache } from "./cache.js";
import { Drafts, draftsKey } from "./drafts.js";
import { type Handed, Handoff, handoffKey } from "./handoff.js";
import { Histories } from "./histories.js";
import { Inbox } from "./inbox.js";
import { withdraw } from "./notifications.js";
import { OutboxView } from "./outbox.js";
import { Own, type Owner } from "./own.js";
import { People } from "./people.js";
import { place } from "./place.js";
import { Presence } from "./presence.js";
import { hasAllCursors } from "./status.js";
import { Typing } from "./typing.js";
import { type Stores, Updates } from "./updates.js";

export class Session implements Stores {
  readonly connection = signal<Connection>({ state: "connecting" });
  /** All changes from while this client was away have been applied. */
  readonly caughtUp = signal(false);
  readonly own: Own;
  readonly inbox: Inbox;
  readonly people: People;
  readonly blocks: Blocks;
  readonly presence: Presence;
  readonly typing = new Typing();
  readonly outbox: OutboxView;
  readonly drafts: Drafts;
  readonly handoff: Handoff;
  readonly cache: Cache;
  readonly histories: Histories;
  private readonly updates = new Updates(this);
  /** Whether the user shares what they have read, when it was last looked at. */
  private sharesReading: boolean | undefined;
  private readonly stopWatching: () => void;

  static async open(account: Owner, http: Http, storage: IndexedDbStorage): Promise<Session> {
    const cached = await storage.cachedConversations().catch(() => []);
    const live = await Live.start({ http, storage });
    return new Session(account, http, storage, live, cached);
  }

  private constructor(
    readonly account: Owner,
    readonly http: Http,
    private readonly storage: IndexedDbStorage,
    readonly live: Live,
    cached: Conversation[],
  ) {
    const { id } = account;
    this.inbox = new Inbox(id);
    this.people = new People(
      async (ids) => (await http.people.users(ids)).users,
      (user) => this.renamed(user),
    );
    this.own = new Own(account, http, this.people);
    this.blocks = new Blocks(http.people);
    this.presence = new Presence((users) => live.watchPresence(users));
    this.outbox = new OutboxView(id);
    this.drafts = new Drafts(localStorage, draftsKey(id), (conversation, update) =>
      http.conversations.updateMembership(conversation, update),
    );
    this.handoff = new Handoff(localStorage, handoffKey(id));
    this.handoff.left().forEach((handed) => void this.takeOver(handed));
    const conversation = (one: ConversationId) => this.inbox.get(one);
    this.cache = new Cache(id, storage, live, conversation);
    this.histories = new Histories({
      me: id,
      http,
      cached: (one) => storage.cachedMessages(one),
      conversation,
      onOpen: (one) => this.completeCursors(one),
      onNewest: (one, messages) => this.cache.newest(one, messages),
    });
    cached.forEach((one) => this.learn(one));
    const effects = [effect(() => this.watchPeople()), effect(() => this.watchReceipts())];
    this.stopWatching = () => effects.forEach((stop) => stop());
    void this.run();
  }

  async close(): Promise<void> {
    this.stopWatching();
    await this.cache.write();
    await this.live.close();
    this.storage.close();
  }

  /** The user has seen everything up to `seq`. */
  read(id: ConversationId, seq: Seq): void {
    const conversation = this.inbox.get(id);
    const before = conversation?.me.read;
    if (!conversation || before === undefined || seq <= before || conversation.unread === 0) {
      return;
    }
    const seen = this.histories
      .timeline(id)
      .messages.value.filter(
        (message) =>
          message.seq > before &&
          message.seq <= seq &&
          message.kind !== "system" &&
          message.sender_id !== this.account.id,
      );
    const unread =
      seq >= (conversation.last_message?.seq ?? 0) ? 0 : Math.max(0, conversation.unread - seen.length);
    this.inbox.setRead(id, seq, unread);
    this.cache.changed(id);
    this.live.read(id, seq);
    void withdraw(id);
  }

  /** Stores a conversation from a response. */
  learn(conversation: Conversation): void {
    if (conversation.peer) {
      this.people.learn(conversation.peer);
    }
    this.inbox.put(conversation);
  }

  async refresh(id: ConversationId): Promise<void> {
    this.learn(await this.http.conversations.get(id));
    this.cache.changed(id);
  }

  /** Loads the cursors of the other members, which lists do not include, for the status of the messages. */
  completeCursors(id: ConversationId): void {
    const conversation = this.inbox.get(id);
    if (conversation && !hasAllCursors(conversation, this.account.id)) {
      // If this fails, the status that the server sent with each message is shown.
      void this.refresh(id).catch(() => undefined);
    }
  }

  /** Sends a message that was written just before a reload. */
  private async takeOver({ id, message }: Handed): Promise<void> {
    await this.live.enqueue(id, message).then(
      () => this.handoff.end(message.client_id),
      // The next reload retries it.
      () => undefined,
    );
  }

  private async run(): Promise<void> {
    for await (const update of this.live) {
      this.updates.take(update);
    }
  }

  /** Updates the name of the direct conversation with a renamed user. */
  private renamed(user: User): void {
    const id = this.inbox.setPeer(user);
    if (id !== undefined) {
      this.cache.changed(id);
    }
  }

  /** Loads the marks of direct conversations again when read receipts are switched: who hides theirs sees none. */
  private watchReceipts(): void {
    const shares = this.own.me.value.read_receipts;
    const hasChanged =
      shares !== undefined && this.sharesReading !== undefined && shares !== this.sharesReading;
    this.sharesReading = shares ?? this.sharesReading;
    if (hasChanged) {
      this.inbox.forgetMarks();
      if (place.value.screen === "conversation") {
        this.completeCursors(place.value.id);
      }
    }
  }

  /** Watches the presence of the peers of direct conversations. */
  private watchPeople(): void {
    this.presence.watch(this.inbox.sorted.value.flatMap((conversation) => conversation.peer?.id ?? []));
  }
}

/** The displayed name of a conversation, with a fallback for an empty name. */
export function titleOf(conversation: Conversation): string {
  return conversation.name === "" ? t("conversation.nameless") : conversation.name;
}
