/** Who is there. Only of those who are in sight is it asked. */

import { PRESENCE_WATCHED_MAX, type PresenceEvent, type UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

export class Presence {
  private readonly known = signal<ReadonlyMap<UserId, PresenceEvent>>(new Map());
  private watched = "";

  constructor(private readonly watchPresence: (users: UserId[]) => void) {}

  /** Tracked; `undefined` when it is not known, or not shown. */
  of(user: UserId): PresenceEvent | undefined {
    return this.known.value.get(user);
  }

  noted(presence: PresenceEvent): void {
    this.known.value = new Map(this.known.value).set(presence.user_id, presence);
  }

  /** The people of the list, the ones that matter most first. */
  watch(users: UserId[]): void {
    const some = [...new Set(users)].slice(0, PRESENCE_WATCHED_MAX).sort();
    if (some.join() !== this.watched) {
      this.watched = some.join();
      this.watchPresence(some);
    }
  }
}
