/** Who is behind an id. Names that are not known yet are asked for, a few at a time. */

import type { User, UserId } from "@godwit/sdk";
import { type Signal, signal } from "@preact/signals";

/** Questions that are under way at once. */
const LOOKUPS_MAX = 4;

export class People {
  private readonly known = new Map<UserId, Signal<User | undefined>>();
  private readonly waiting: UserId[] = [];
  private readonly unanswered = new Set<UserId>();
  private underWay = 0;

  constructor(private readonly lookUp: (id: UserId) => Promise<User>) {}

  /** Tracked: whoever asks is told when the answer comes. */
  user(id: UserId): User | undefined {
    let known = this.known.get(id);
    if (!known) {
      known = this.slot(id);
      if (id !== "") {
        this.waiting.push(id);
        this.work();
      }
    }
    return known.value;
  }

  learn(...users: User[]): void {
    for (const user of users) {
      this.slot(user.id).value = user;
    }
  }

  /** The connection is back: who could not be asked for is asked for again. */
  askAgain(): void {
    this.waiting.push(...this.unanswered);
    this.unanswered.clear();
    this.work();
  }

  /** Somebody who is known by this handle. */
  byHandle(handle: string): User | undefined {
    for (const { value } of this.known.values()) {
      if (value?.handle === handle) {
        return value;
      }
    }
    return undefined;
  }

  private slot(id: UserId): Signal<User | undefined> {
    const slot = this.known.get(id) ?? signal<User | undefined>(undefined);
    this.known.set(id, slot);
    return slot;
  }

  private work(): void {
    while (this.underWay < LOOKUPS_MAX) {
      const id = this.waiting.shift();
      if (id === undefined) {
        return;
      }
      this.underWay += 1;
      void this.lookUp(id)
        .then((user) => this.learn(user))
        .catch(() => this.unanswered.add(id))
        .finally(() => {
          this.underWay -= 1;
          this.work();
        });
    }
  }
}
