/** Presence of users. Only the presence of visible users is watched. */

import { PRESENCE_WATCHED_MAX, type PresenceEvent, type UserId } from "@godwit/sdk";
import { type Signal, signal } from "@preact/signals";

export class Presence {
  /** One signal per user, so that a change re-renders only the rows of that user. */
  private readonly known = new Map<UserId, Signal<PresenceEvent | undefined>>();
  private watched = "";

  constructor(private readonly watchPresence: (users: UserId[]) => void) {}

  /** Tracked; `undefined` if unknown or hidden. */
  of(user: UserId): PresenceEvent | undefined {
    return this.slot(user).value;
  }

  noted(presence: PresenceEvent): void {
    this.slot(presence.user_id).value = presence;
  }

  /** Forgets a user who was blocked: the server sends no further presence of them. */
  forget(user: UserId): void {
    this.slot(user).value = undefined;
  }

  /** Forgets all presence after a reconnect: the server sends nothing of users who have hidden theirs. */
  forgetAll(): void {
    this.known.forEach((slot) => (slot.value = undefined));
  }

  /** Watches the same users again, because the server may show more of them now. */
  renew(): void {
    if (this.watched !== "") {
      this.watchPresence(this.watched.split(","));
    }
  }

  /** Watches the users in the list, most important first. */
  watch(users: UserId[]): void {
    const some = [...new Set(users)].slice(0, PRESENCE_WATCHED_MAX).sort();
    if (some.join() !== this.watched) {
      this.watched = some.join();
      this.watchPresence(some);
    }
  }

  private slot(user: UserId): Signal<PresenceEvent | undefined> {
    const slot = this.known.get(user) ?? signal<PresenceEvent | undefined>(undefined);
    this.known.set(user, slot);
    return slot;
  }
}
