/** Applies updates of the live session to the stores. */

import type {
  AccountEntry,
  Connection,
  ConversationId,
  LogEntry,
  MessageId,
  Update,
  UserId,
} from "@godwit/sdk";
import type { Signal } from "@preact/signals";

import type { Blocks } from "./blocks.js";
import type { Cache } from "./cache.js";
import { coalesced } from "./coalesced.js";
import type { Drafts } from "./drafts.js";
import type { Histories } from "./histories.js";
import { type Inbox, UNSET } from "./inbox.js";
import { notificationBody, notify, withdraw, worthTelling } from "./notifications.js";
import type { OutboxView } from "./outbox.js";
import type { Own, Owner } from "./own.js";
import type { People } from "./people.js";
import { go, place } from "./place.js";
import type { Presence } from "./presence.js";
import type { Typing } from "./typing.js";

/** The part of the session that updates change. */
export interface Stores {
  readonly account: Owner;
  readonly own: Own;
  readonly connection: Signal<Connection>;
  readonly caughtUp: Signal<boolean>;
  readonly inbox: Inbox;
  readonly people: People;
  readonly blocks: Blocks;
  readonly presence: Presence;
  readonly typing: Typing;
  readonly outbox: OutboxView;
  readonly drafts: Drafts;
  readonly cache: Cache;
  readonly histories: Histories;
  /** Loads the conversation again. */
  refresh(id: ConversationId): Promise<void>;
  /** Loads the cursors of the other members, if not all are known. */
  completeCursors(id: ConversationId): void;
  learn(conversation: Extract<Update, { type: "conversation" }>["conversation"]): void;
}

export class Updates {
  /** Conversations to load again, each once, however many messages of them the user deletes for themselves. */
  private readonly outdated = new Set<ConversationId>();
  private readonly refreshOutdated = coalesced(() => {
    const ids = [...this.outdated].filter((id) => this.stores.inbox.get(id));
    this.outdated.clear();
    ids.forEach((id) => void this.refresh(id));
  });

  constructor(private readonly stores: Stores) {}

  take(update: Update): void {
    const { cache, caughtUp, histories, inbox, outbox, people, presence, typing } = this.stores;
    switch (update.type) {
      case "entry":
        this.entered(update.conversationId, update.entry);
        break;
      case "conversation":
        this.stores.learn(update.conversation);
        if (isInSight(update.conversation.id)) {
          this.stores.completeCursors(update.conversation.id);
        }
        cache.changed(update.conversation.id);
        break;
      case "gone":
        this.gone(update.gone.conversation_id);
        break;
      case "reset":
        cache.forgetMessages(update.conversationId);
        histories.reload(update.conversationId);
        break;
      case "reset_all":
        inbox.clear();
        histories.clear();
        cache.forgetAll();
        break;
      case "caught_up":
        caughtUp.value = true;
        // Changes of profiles are not part of catching up.
        people.renew();
        void cache.write();
        break;
      case "account":
        this.accountChanged(update.entry);
        break;
      case "cursor":
        inbox.moveCursor(update.cursor.conversation_id, update.cursor);
        cache.changed(update.cursor.conversation_id);
        break;
      case "typing":
        typing.noted(update.typing);
        break;
      case "presence":
        presence.noted(update.presence);
        break;
      case "user_updated":
        people.learn(update.user);
        break;
      case "sending":
      case "refused":
        outbox.put(update.unsent);
        break;
      case "sent":
        outbox.sent(update.clientId, update.message);
        break;
      case "connection":
        this.connected(update.connection);
        break;
    }
  }

  private entered(id: ConversationId, entry: LogEntry): void {
    const { cache, histories, inbox, outbox, typing } = this.stores;
    const isKnown = inbox.apply(id, entry);
    // The last message in the list may have expired.
    const refreshed = !isKnown || entry.type === "expired" ? this.refresh(id) : undefined;
    histories.apply(id, entry);
    outbox.apply(entry);
    cache.apply(id, entry);
    if (entry.type === "message") {
      typing.stopped(id, entry.message.sender_id);
      void Promise.resolve(refreshed).then(() => this.tell(id, entry));
    }
  }

  private tell(id: ConversationId, { message }: Extract<LogEntry, { type: "message" }>): void {
    const { account, caughtUp, inbox, people } = this.stores;
    const conversation = inbox.get(id);
    if (caughtUp.value && conversation && worthTelling(conversation, message, account.id, Date.now())) {
      const sender = people.user(message.sender_id)?.display_name ?? "";
      void notify(conversation, conversation.name, notificationBody(conversation, message, sender));
    }
  }

  private gone(id: ConversationId): void {
    this.stores.inbox.remove(id);
    this.stores.histories.forget(id);
    this.stores.cache.forget(id);
    void withdraw(id);
    if (isInSight(id)) {
      go({ screen: "list" });
    }
  }

  private accountChanged(entry: AccountEntry): void {
    const { cache, drafts, inbox, own } = this.stores;
    switch (entry.type) {
      case "conversation_listed":
        void this.refresh(entry.conversation_id);
        break;
      case "conversation_gone":
        this.gone(entry.conversation_id);
        break;
      case "membership_updated":
        inbox.setMembership(entry.conversation_id, { ...UNSET, ...entry.membership });
        drafts.heard(entry.conversation_id, entry.membership);
        cache.changed(entry.conversation_id);
        break;
      case "read_moved":
        inbox.setRead(entry.conversation_id, entry.read, entry.unread);
        void withdraw(entry.conversation_id);
        cache.changed(entry.conversation_id);
        break;
      case "message_hidden":
        this.hidden(entry.conversation_id, entry.message_id);
        break;
      case "user_blocked":
      case "user_unblocked":
        this.blockChanged(entry.user_id, entry.type === "user_blocked");
        break;
      default:
        own.noted(entry);
        break;
    }
  }

  /** The user has deleted a message for themselves. It may have been the last message, unread, or pinned. */
  private hidden(id: ConversationId, message: MessageId): void {
    const { cache, histories } = this.stores;
    histories.hide(message);
    cache.hide(id, message);
    this.outdated.add(id);
    this.refreshOutdated();
  }

  /** Neither presence nor marks are shown across a block. */
  private blockChanged(user: UserId, blocked: boolean): void {
    const { blocks, inbox, presence } = this.stores;
    blocks.noted(user, blocked);
    if (blocked) {
      presence.forget(user);
    } else {
      presence.renew();
    }
    const direct = inbox.withPeer(user);
    if (direct) {
      void this.refresh(direct.id);
    }
  }

  private connected(connection: Connection): void {
    const { account, blocks, drafts, histories, own, people, presence } = this.stores;
    this.stores.connection.value = connection;
    if (connection.state === "online") {
      presence.forgetAll();
      own.load();
      void blocks.load().catch(() => undefined);
      people.askAgain();
      drafts.saveAll();
      histories.loadFailed();
    } else if (connection.state === "stopped" && connection.reason.by === "sign_out") {
      account.onEnded();
    }
  }

  /** If this fails, the next entry or the next connection updates the conversation. */
  private async refresh(id: ConversationId): Promise<void> {
    await this.stores.refresh(id).catch(() => undefined);
  }
}

function isInSight(id: ConversationId): boolean {
  return place.value.screen === "conversation" && place.value.id === id;
}
