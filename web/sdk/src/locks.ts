/**
 * Locks that all tabs of an origin share.
 *
 * The browser releases the locks of a tab that is closed or crashes, so a lock also shows whether a tab is still open.
 */

export interface Locks {
  /** Runs `work` while holding the lock. Waiters get the lock in the order of their calls. */
  exclusive<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Runs `work` if the lock is free. Returns whether it did. */
  ifFree(name: string, work: () => Promise<void>): Promise<boolean>;
}

/** The locks of the browser, or of this process outside of a browser. */
export function defaultLocks(): Locks {
  const manager = (globalThis.navigator as { locks?: LockManager } | undefined)?.locks;
  return manager ? new WebLocks(manager) : new ProcessLocks();
}

export class WebLocks implements Locks {
  constructor(private readonly manager: LockManager) {}

  async exclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
    return await this.manager.request(name, work);
  }

  async ifFree(name: string, work: () => Promise<void>): Promise<boolean> {
    return await this.manager.request(name, { ifAvailable: true }, async (lock) => {
      if (lock) {
        await work();
      }
      return lock !== null;
    });
  }
}

/** For Node, which has no tabs. All users of this object share its locks. */
export class ProcessLocks implements Locks {
  /** The last holder or waiter, by name. */
  private readonly tails = new Map<string, Promise<void>>();

  async exclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.tails.get(name);
    let release: () => void = () => undefined;
    const tail = new Promise<void>((resolve) => (release = resolve));
    this.tails.set(name, tail);
    await before;
    try {
      return await work();
    } finally {
      if (this.tails.get(name) === tail) {
        this.tails.delete(name);
      }
      release();
    }
  }

  async ifFree(name: string, work: () => Promise<void>): Promise<boolean> {
    if (this.tails.has(name)) {
      return false;
    }
    await this.exclusive(name, work);
    return true;
  }
}
