/** Whom the user has blocked, on whichever device. */

import type { Http, UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

const PAGE = 200;
/** Of those who blocked even more people the rest is not shown as blocked; the server knows them all. */
const PAGES_MAX = 10;

export class Blocks {
  private readonly ids = signal<ReadonlySet<UserId>>(new Set());

  constructor(private readonly people: Http["people"]) {}

  /** Tracked. */
  has(user: UserId): boolean {
    return this.ids.value.has(user);
  }

  /** Tracked. */
  get all(): readonly UserId[] {
    return [...this.ids.value];
  }

  async set(user: UserId, blocked: boolean): Promise<void> {
    await (blocked ? this.people.block(user) : this.people.unblock(user));
    this.noted(user, blocked);
  }

  noted(user: UserId, blocked: boolean): void {
    const ids = new Set(this.ids.value);
    if (blocked) {
      ids.add(user);
    } else {
      ids.delete(user);
    }
    this.ids.value = ids;
  }

  async load(): Promise<void> {
    const ids = new Set<UserId>();
    let after: string | undefined;
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const found = await this.people.blocks({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      found.users.forEach((user) => ids.add(user.id));
      after = found.next ?? undefined;
      if (after === undefined) {
        break;
      }
    }
    this.ids.value = ids;
  }
}
