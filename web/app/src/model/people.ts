/** Who is behind an id. Names that are not known yet are asked for, many at a time. */

import type { User, UserId } from "@godwit/sdk";
import { type Signal, signal } from "@preact/signals";

/** Names in one question, as many as the server answers. */
const LOOKUP_MAX = 50;

export class People {
  private readonly known = new Map<UserId, Signal<User | undefined>>();
  private readonly waiting: UserId[] = [];
  private readonly unanswered = new Set<UserId>();
  private isAsking = false;

  /** Those whom `lookUp` does not know are not in its answer. */
  constructor(private readonly lookUp: (ids: UserId[]) => Promise<readonly User[]>) {}

  /** Tracked: whoever asks is told when the answer comes. */
  user(id: UserId): User | undefined {
    let known = this.known.get(id);
    if (!known) {
      known = this.slot(id);
      if (id !== "") {
        this.waiting.push(id);
        void this.work();
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
    void this.work();
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

  private async work(): Promise<void> {
    if (this.isAsking) {
      return;
    }
    this.isAsking = true;
    // Whoever is needed for the same picture is asked for together.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const ids = this.waiting.splice(0, LOOKUP_MAX);
      try {
        this.learn(...(await this.lookUp(ids)));
      } catch {
        ids.forEach((id) => this.unanswered.add(id));
      }
    }
    this.isAsking = false;
  }
}
