/** The users whom this user has blocked, on any device. */

import type { Http, UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

import { allOf } from "./pages.js";

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
    const users = await allOf(async (page) => {
      const found = await this.people.blocks(page);
      return { ...found, items: found.users };
    });
    this.ids.value = new Set(users.map(({ id }) => id));
  }
}
