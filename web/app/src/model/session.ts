/** One account at work: the live session, the stores, and what an update means for each. */

import {
  type AccountEntry,
  type Connection,
  type Conversation,
  type ConversationId,
  type Http,
  type IndexedDbStorage,
  Live,
  type LogEntry,
  type Me,
  type MessageId,
  type Seq,
  type Update,
  type User,
  type UserId,
} from "@godwit/sdk";
import { effect, signal } from "@preact/signals";

import { t } from "../i18n/index.js";
import { onOneLine } from "../text/index.js";
import { Cache } from "./cache.js";
import { Drafts } from "./drafts.js";
import { readCursorOf } from "./entries.js";
import { Histories } from "./histories.js";
import { Inbox } from "./inbox.js";
import { notify, worthTelling } from "./notifications.js";
import { OutboxView } from "./outbox.js";
import { People } from "./people.js";
import { go, place } from "./place.js";
import { Presence } from "./presence.js";
import { Typing } from "./typing.js";

/** Starred messages that are known by their ids, in pages of this size. */
const STARS_PAGE = 200;
const STARS_PAGES_MAX = 10;

/** Whose session it is, and who wants to know what becomes of it. */
export interface Owner {
  id: UserId;
  handle: string;
  name: string;
  onEnded(): void;
  onRenamed(handle: string, name: string): void;
}

export class Session {
  readonly me = signal<User & Partial<Me>>({ id: "", handle: "", display_name: "" });
  readonly connection = signal<Connection>({ state: "connecting" });
  /** What happened while this client was away has been taken in. */
  readonly caughtUp = signal(false);
  readonly starred = signal<ReadonlySet<MessageId>>(new Set());
  /** Counts the changes of what is only loaded when somebody looks at it. */
  readonly scheduledChanges = signal(0);
  readonly deviceChanges = signal(0);

  readonly inbox: Inbox;
  readonly people: People;
  readonly presence: Presence;
  readonly typing = new Typing();
  readonly outbox: OutboxView;
  readonly drafts: Drafts;
  readonly histories: Histories;
  private readonly cache: Cache;
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
    const { id, handle, name } = account;
    this.me.value = { id, handle, display_name: name };
    this.inbox = new Inbox(id);
    this.people = new People((user) => http.people.user(user));
    this.presence = new Presence((users) => live.watchPresence(users));
    this.outbox = new OutboxView(id);
    this.drafts = new Drafts(localStorage, `godwit.drafts.${id}`, (conversation, update) =>
      http.conversations.updateMembership(conversation, update),
    );
    this.cache = new Cache(id, storage, live, (conversation) => this.inbox.get(conversation));
    this.histories = new Histories({
      me: id,
      http,
      cached: (conversation) => storage.cachedMessages(conversation),
      conversation: (conversation) => this.inbox.get(conversation),
      onNewest: (conversation, messages) => this.cache.newest(conversation, messages),
    });
    this.people.learn(this.me.value);
    cached.forEach((conversation) => this.learn(conversation));
    this.stopWatching = effect(() => this.watchPeople());
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
    const before = conversation && readCursorOf(conversation, this.account.id);
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
  }

  /** A conversation that came as the answer to a request. */
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

  private async run(): Promise<void> {
    for await (const update of this.live) {
      this.take(update);
    }
  }

  private take(update: Update): void {
    switch (update.type) {
      case "entry":
        this.entered(update.conversationId, update.entry);
        break;
      case "conversation":
        this.learn(update.conversation);
        this.cache.changed(update.conversation.id);
        break;
      case "gone":
        this.gone(update.gone.conversation_id);
        break;
      case "reset":
        this.cache.forgetMessages(update.conversationId);
        this.histories.reload(update.conversationId);
        break;
      case "reset_all":
        this.inbox.clear();
        this.histories.clear();
        this.cache.forgetAll();
        break;
      case "caught_up":
        this.caughtUp.value = true;
        void this.cache.write();
        break;
      case "account":
        this.accountChanged(update.entry);
        break;
      case "cursor":
        this.inbox.moveCursor(update.cursor.conversation_id, update.cursor);
        this.cache.changed(update.cursor.conversation_id);
        break;
      case "typing":
        this.typing.noted(update.typing);
        break;
      case "presence":
        this.presence.noted(update.presence);
        break;
      case "sending":
      case "refused":
        this.outbox.put(update.unsent);
        break;
      case "sent":
        this.outbox.sent(update.clientId, update.message);
        break;
      case "connection":
        this.connected(update.connection);
        break;
    }
  }

  private entered(id: ConversationId, entry: LogEntry): void {
    if (!this.inbox.apply(id, entry)) {
      void this.refresh(id).catch(() => undefined);
    }
    this.histories.apply(id, entry);
    this.outbox.apply(entry);
    this.cache.apply(id, entry);
    if (entry.type === "message") {
      this.typing.stopped(id, entry.message.sender_id);
      this.tell(id, entry);
    } else if (entry.type === "expired") {
      // What the list shows may be among them.
      void this.refresh(id).catch(() => undefined);
    }
  }

  private tell(id: ConversationId, entry: Extract<LogEntry, { type: "message" }>): void {
    const conversation = this.inbox.get(id);
    const { message } = entry;
    if (
      this.caughtUp.value &&
      conversation &&
      worthTelling(conversation, message, this.account.id, Date.now())
    ) {
      const sender = this.people.user(message.sender_id)?.display_name ?? "";
      const text = onOneLine(message.text ?? "");
      notify(conversation, conversation.name, conversation.kind === "direct" ? text : `${sender}: ${text}`);
    }
  }

  private gone(id: ConversationId): void {
    this.inbox.remove(id);
    this.histories.forget(id);
    this.cache.forget(id);
    if (place.value.screen === "conversation" && place.value.id === id) {
      go({ screen: "list" });
    }
  }

  private accountChanged(entry: AccountEntry): void {
    switch (entry.type) {
      case "conversation_listed":
        void this.refresh(entry.conversation_id).catch(() => undefined);
        break;
      case "conversation_gone":
        this.gone(entry.conversation_id);
        break;
      case "membership_updated":
        this.inbox.setMembership(entry.conversation_id, {
          muted_until: null,
          draft: null,
          ...entry.membership,
        });
        this.cache.changed(entry.conversation_id);
        break;
      case "read_moved":
        this.inbox.setRead(entry.conversation_id, entry.read, entry.unread);
        this.cache.changed(entry.conversation_id);
        break;
      case "message_hidden":
        this.histories.hide(entry.message_id);
        break;
      case "message_starred":
        this.starred.value = new Set([...this.starred.value, entry.message_id]);
        break;
      case "message_unstarred":
        this.starred.value = new Set([...this.starred.value].filter((id) => id !== entry.message_id));
        break;
      case "scheduled_updated":
      case "scheduled_gone":
        this.scheduledChanges.value += 1;
        break;
      case "profile_updated":
        void this.loadMe();
        break;
      case "device_added":
      case "device_removed":
        this.deviceChanges.value += 1;
        break;
      default:
        break;
    }
  }

  private connected(connection: Connection): void {
    this.connection.value = connection;
    if (connection.state === "online") {
      void this.loadMe();
      void this.loadStars().catch(() => undefined);
      this.drafts.saveAll();
      this.histories.loadFailed();
    } else if (connection.state === "stopped" && connection.reason.by === "sign_out") {
      this.account.onEnded();
    }
  }

  private async loadMe(): Promise<void> {
    const me = await this.http.accounts.me().catch(() => undefined);
    if (me) {
      this.me.value = me;
      this.people.learn(me);
      this.account.onRenamed(me.handle, me.display_name);
    }
  }

  private async loadStars(): Promise<void> {
    const ids = new Set<MessageId>();
    let after: string | undefined;
    for (let page = 0; page < STARS_PAGES_MAX; page += 1) {
      const found = await this.http.personal.stars({
        limit: STARS_PAGE,
        ...(after === undefined ? {} : { after }),
      });
      found.messages.forEach((message) => ids.add(message.id));
      after = found.next ?? undefined;
      if (after === undefined) {
        break;
      }
    }
    this.starred.value = ids;
  }

  /** Those of the list that one talks to alone. */
  private watchPeople(): void {
    this.presence.watch(this.inbox.sorted.value.flatMap((conversation) => conversation.peer?.id ?? []));
  }
}

/** What a conversation is called, also while its name is empty. */
export function titleOf(conversation: Conversation): string {
  return conversation.name === "" ? t("conversation.nameless") : conversation.name;
}
