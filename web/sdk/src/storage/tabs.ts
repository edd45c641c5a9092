/**
 * Which tab sends what, when several tabs of an account share a storage.
 *
 * A tab holds a lock of its own as long as it lives. Rows of a tab whose lock is free are those of a tab that is gone,
 * and whoever gets that lock may take them over. Where the browser has no locks two tabs may take the same rows; they
 * send them with the same client ids, so the messages are still sent once.
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

  /** Says that this tab is there, until it leaves or is closed. */
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

  /** Takes over what tabs that are gone have not sent, in the order in which it was given. */
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
