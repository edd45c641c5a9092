/** Who is there. Only of those who are in sight is it asked. */

import { PRESENCE_WATCHED_MAX, type PresenceEvent, type UserId } from "@godwit/sdk";
import { type Signal, signal } from "@preact/signals";

export class Presence {
  /** One for each, so that a row is not drawn again because of somebody else. */
  private readonly known = new Map<UserId, Signal<PresenceEvent | undefined>>();
  private watched = "";

  constructor(private readonly watchPresence: (users: UserId[]) => void) {}

  /** Tracked; `undefined` when it is not known, or not shown. */
  of(user: UserId): PresenceEvent | undefined {
    return this.slot(user).value;
  }

  noted(presence: PresenceEvent): void {
    this.slot(presence.user_id).value = presence;
  }

  /** The user has blocked them: nothing more comes, and what was known is not true for long. */
  forget(user: UserId): void {
    this.slot(user).value = undefined;
  }

  /** The connection is new: nothing comes of those who have hidden it meanwhile. */
  forgetAll(): void {
    this.known.forEach((slot) => (slot.value = undefined));
  }

  /** Asks again: somebody may be shown whom the server left out before. */
  renew(): void {
    if (this.watched !== "") {
      this.watchPresence(this.watched.split(","));
    }
  }

  /** The people of the list, the ones that matter most first. */
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
