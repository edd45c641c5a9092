/** The conversations of an account. */

import type {
  Conversation,
  ConversationId,
  LogEntry,
  MemberCursor,
  Membership,
  Seq,
  User,
  UserId,
} from "@godwit/sdk";
import { computed, type ReadonlySignal, signal } from "@preact/signals";

import { coalesced } from "./coalesced.js";
import { conversationAfter, withCursor } from "./entries.js";

/** The values of fields that are absent from a membership. */
export const UNSET = { pin_place: null, muted_until: null, draft: null } satisfies Partial<Membership>;

export class Inbox {
  private readonly known = new Map<ConversationId, Conversation>();
  private readonly shown = signal<ReadonlyMap<ConversationId, Conversation>>(new Map());
  private readonly show = coalesced(() => (this.shown.value = new Map(this.known)));

  /** Pinned conversations in their order, then the others by latest activity, including archived ones. */
  readonly sorted: ReadonlySignal<readonly Conversation[]> = computed(() =>
    [...this.shown.value.values()].sort(inOrder),
  );
  /** Unread messages of conversations that are neither muted nor archived, for the badge. */
  readonly unreadTotal: ReadonlySignal<number> = computed(() =>
    this.sorted.value
      .filter((conversation) => !conversation.me.archived && !isMuted(conversation, Date.now()))
      .reduce((sum, conversation) => sum + conversation.unread, 0),
  );

  constructor(private readonly me: UserId) {}

  /** The current state; not tracked. */
  get(id: ConversationId): Conversation | undefined {
    return this.known.get(id);
  }

  /** The current state; tracked. */
  watch(id: ConversationId): Conversation | undefined {
    return this.shown.value.get(id);
  }

  put(conversation: Conversation): void {
    const known = this.known.get(conversation.id);
    // A response that is older than entries that have arrived must not undo them.
    if (!known || conversation.head >= known.head) {
      // Members may have left or joined in skipped entries, so the known cursors are no longer complete.
      const isSameLog = known?.head === conversation.head;
      const cursors = conversation.cursors ?? (isSameLog ? known.cursors : undefined);
      this.set(cursors ? { ...conversation, cursors } : conversation);
    }
  }

  remove(id: ConversationId): void {
    if (this.known.delete(id)) {
      this.show();
    }
  }

  clear(): void {
    this.known.clear();
    this.show();
  }

  /** Returns whether the conversation is known. */
  apply(id: ConversationId, entry: LogEntry): boolean {
    return this.change(id, (conversation) => conversationAfter(conversation, entry, this.me));
  }

  moveCursor(id: ConversationId, cursor: MemberCursor): void {
    this.change(id, (conversation) => withCursor(conversation, cursor, this.me));
  }

  setMembership(id: ConversationId, membership: Partial<Membership>): void {
    this.change(id, (conversation) => ({ ...conversation, me: { ...conversation.me, ...membership } }));
  }

  /** The user has read up to `seq`, on any device. `unread` messages are left. */
  setRead(id: ConversationId, seq: Seq, unread: number): void {
    this.change(id, (conversation) => {
      const before = conversation.me.read;
      if (before > seq) {
        return conversation;
      }
      const moved = withCursor(conversation, { user_id: this.me, delivered: seq, read: seq }, this.me);
      // An old read position must not remove a mark that the user has set since.
      const me = { ...moved.me, marked_unread: moved.me.marked_unread && before === seq };
      return { ...moved, me, unread, unread_mentions: Math.min(moved.unread_mentions, unread) };
    });
  }

  /** The direct conversation with a user. */
  withPeer(user: UserId): Conversation | undefined {
    return [...this.known.values()].find((conversation) => conversation.peer?.id === user);
  }

  /** Drops the marks of the peers of direct conversations, because they may have become visible or hidden. */
  forgetMarks(): void {
    for (const conversation of [...this.known.values()]) {
      if (conversation.kind === "direct" && conversation.cursors) {
        const own = conversation.cursors.filter((cursor) => cursor.user_id === this.me);
        this.set({ ...conversation, cursors: own });
      }
    }
  }

  /** Renames the direct conversation with this user. Returns its id. */
  setPeer(user: User): ConversationId | undefined {
    for (const conversation of this.known.values()) {
      if (conversation.peer?.id === user.id) {
        this.set({ ...conversation, peer: user, name: user.display_name });
        return conversation.id;
      }
    }
    return undefined;
  }

  private change(id: ConversationId, how: (conversation: Conversation) => Conversation): boolean {
    const known = this.known.get(id);
    if (known) {
      const next = how(known);
      if (next !== known) {
        this.set(next);
      }
    }
    return known !== undefined;
  }

  private set(conversation: Conversation): void {
    this.known.set(conversation.id, conversation);
    this.show();
  }
}

export function isMuted(conversation: Conversation, nowMs: number): boolean {
  return conversation.me.muted_until != null && Date.parse(conversation.me.muted_until) > nowMs;
}

/** Whether the permissions of the conversation let the user send messages. */
export function maySend(conversation: Conversation): boolean {
  return (
    conversation.kind === "direct" ||
    conversation.me.role !== "member" ||
    conversation.permissions?.members_may_send !== false
  );
}

function inOrder(one: Conversation, other: Conversation): number {
  const pinned = Number(other.me.pinned) - Number(one.me.pinned);
  if (pinned !== 0) {
    return pinned;
  }
  const place = (one.me.pin_place ?? 0) - (other.me.pin_place ?? 0);
  if (place !== 0) {
    return place;
  }
  // Times of the server sort as plain strings. `localeCompare` would be slow.
  return one.last_activity_at < other.last_activity_at
    ? 1
    : one.last_activity_at > other.last_activity_at
      ? -1
      : 0;
}
