/** The users behind ids. Unknown users are loaded in batches. */

import type { User, UserId } from "@godwit/sdk";
import { type Signal, signal } from "@preact/signals";

/** Users per request, the limit of the server. */
const LOOKUP_MAX = 50;
/** Users that are reloaded at once when profiles may be stale: the latest ones. The others are reloaded when shown. */
const RENEWED_MAX = 500;

export class People {
  private readonly known = new Map<UserId, Signal<User | undefined>>();
  private readonly waiting: UserId[] = [];
  private readonly unanswered = new Set<UserId>();
  /** Users whose profile may have changed since it was loaded. */
  private readonly stale = new Set<UserId>();
  private isAsking = false;

  /** `lookUp` omits users that do not exist. `onChanged` is called for users whose profile has changed. */
  constructor(
    private readonly lookUp: (ids: UserId[]) => Promise<readonly User[]>,
    private readonly onChanged: (user: User) => void = () => undefined,
  ) {}

  /** Tracked: the caller is notified when the user is loaded. */
  user(id: UserId): User | undefined {
    let known = this.known.get(id);
    if (!known) {
      known = this.slot(id);
      if (id !== "") {
        this.ask(id);
      }
    } else if (this.stale.delete(id)) {
      this.ask(id);
    }
    return known.value;
  }

  learn(...users: User[]): void {
    for (const user of users) {
      const slot = this.slot(user.id);
      const before = slot.peek();
      this.stale.delete(user.id);
      if (!before || !isSame(before, user)) {
        slot.value = user;
        if (before) {
          this.onChanged(user);
        }
      }
    }
  }

  /** The connection is back: retries failed loads. */
  askAgain(): void {
    this.askAll([...this.unanswered]);
  }

  /** Changes of profiles may have been missed: marks all known users as stale. */
  renew(): void {
    const known = [...this.known.keys()].filter((id) => id !== "" && !this.unanswered.has(id));
    known.slice(0, -RENEWED_MAX).forEach((id) => this.stale.add(id));
    this.askAll([...this.unanswered, ...known.slice(-RENEWED_MAX)]);
  }

  /** The known user with this handle. */
  byHandle(handle: string): User | undefined {
    for (const { value } of this.known.values()) {
      if (value?.handle === handle) {
        return value;
      }
    }
    return undefined;
  }

  private askAll(ids: readonly UserId[]): void {
    this.unanswered.clear();
    this.waiting.splice(0, this.waiting.length, ...new Set([...this.waiting, ...ids]));
    void this.work();
  }

  private ask(id: UserId): void {
    this.waiting.push(id);
    void this.work();
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
    // Batches all users that are needed for the same render.
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

/** Whether the visible profile is the same. */
function isSame(one: User, other: User): boolean {
  return (
    one.handle === other.handle &&
    one.display_name === other.display_name &&
    (one.avatar ?? null) === (other.avatar ?? null)
  );
}
