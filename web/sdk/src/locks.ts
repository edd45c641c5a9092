/**
 * Locks that all tabs of an origin share.
 *
 * A tab that is closed or crashes gives its locks back, which is what makes them good for knowing who is still there.
 */

export interface Locks {
  /** Runs `work` when nobody else holds the lock; whoever asks first comes first. */
  exclusive<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Runs `work` if nobody holds the lock now. Says whether it did. */
  ifFree(name: string, work: () => Promise<void>): Promise<boolean>;
}

/** The locks of the browser, or of this process where there is none. */
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

/** For Node, where there are no tabs: whatever shares this object shares the locks. */
export class ProcessLocks implements Locks {
  /** The last of those who hold or wait, by name. */
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
