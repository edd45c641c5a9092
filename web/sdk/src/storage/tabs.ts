/**
 * Which tab sends which messages, if several tabs of an account share a storage.
 *
 * A tab holds a lock of its own as long as it is open. If the lock of a tab is free, the tab is closed, and the tab that
 * acquires the lock may adopt its rows. In a browser without locks, two tabs may adopt the same rows; both send them with
 * the same client ids, so the server still stores each message once.
 */

import type { Locks } from "../locks.js";
import { randomId } from "../random.js";
import type { ClientStorage, OutboxRow } from "./port.js";

export class Tab {
  readonly id = randomId();
  private release: () => void = () => undefined;

  constructor(
    private readonly storage: ClientStorage,
    private readonly locks: Locks,
  ) {}

  /** Acquires the lock of this tab until it leaves or is closed. */
  async enter(): Promise<void> {
    await new Promise<void>((entered) => {
      const left = new Promise<void>((resolve) => (this.release = resolve));
      void this.locks.exclusive(this.lockName(this.id), () => {
        entered();
        return left;
      });
    });
  }

  leave(): void {
    this.release();
  }

  /** Adopts unsent messages of closed tabs, in the order of the calls. */
  async adopt(): Promise<OutboxRow[]> {
    const adopted: OutboxRow[] = [];
    for (const owner of await this.storage.outboxOwners()) {
      if (owner !== this.id) {
        await this.locks.ifFree(this.lockName(owner), async () => {
          adopted.push(...(await this.storage.adoptOutboxRows(owner, this.id)));
        });
      }
    }
    return adopted.sort((one, other) => one.key - other.key);
  }

  private lockName(id: string): string {
    return `${this.storage.name}:tab:${id}`;
  }
}
