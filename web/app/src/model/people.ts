/** Who is behind an id. Names that are not known yet are asked for, many at a time. */

import type { User, UserId } from "@godwit/sdk";
import { type Signal, signal } from "@preact/signals";

/** Names in one question, as many as the server answers. */
const LOOKUP_MAX = 50;
/** Names that are asked for again at once when some may be old: the latest. The others are when they are shown again. */
const RENEWED_MAX = 500;

export class People {
  private readonly known = new Map<UserId, Signal<User | undefined>>();
  private readonly waiting: UserId[] = [];
  private readonly unanswered = new Set<UserId>();
  /** Who may have another name since they were asked for. */
  private readonly stale = new Set<UserId>();
  private isAsking = false;

  /** Those whom `lookUp` does not know are not in its answer. `onChanged` hears of those who are not who they were. */
  constructor(
    private readonly lookUp: (ids: UserId[]) => Promise<readonly User[]>,
    private readonly onChanged: (user: User) => void = () => undefined,
  ) {}

  /** Tracked: whoever asks is told when the answer comes. */
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

  /** The connection is back: who could not be asked for is asked for again. */
  askAgain(): void {
    this.askAll([...this.unanswered]);
  }

  /** Something may have been missed: those who are known may have another name by now, and nobody told of it. */
  renew(): void {
    const known = [...this.known.keys()].filter((id) => id !== "" && !this.unanswered.has(id));
    known.slice(0, -RENEWED_MAX).forEach((id) => this.stale.add(id));
    this.askAll([...this.unanswered, ...known.slice(-RENEWED_MAX)]);
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

/** Whether others see no difference. */
function isSame(one: User, other: User): boolean {
  return (
    one.handle === other.handle &&
    one.display_name === other.display_name &&
    (one.avatar ?? null) === (other.avatar ?? null)
  );
}
