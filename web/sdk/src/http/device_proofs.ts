/**
 * Device proofs: a proof shows that the user with a handle has signed in on this client before. Proofs are kept after
 * sign-out and sent with the next sign-in, so sign-in attempts by strangers do not lock the user out. A proof alone grants
 * no access.
 */

/** The methods must not throw: sign-in works without a stored proof. */
export interface DeviceProofs {
  get(handle: string): string | undefined;
  set(handle: string, proof: string): void;
}

/** The number of proofs to keep. The proof of the oldest sign-in is removed first. */
const HANDLES_MAX = 16;

/** A map rather than an object, where a handle such as `__proto__` would have a value from the start. */
type Proofs = ReadonlyMap<string, string>;

/** Keeps proofs in memory only. */
export class MemoryDeviceProofs implements DeviceProofs {
  private proofs: Proofs = new Map();

  get(handle: string): string | undefined {
    return this.proofs.get(handle.toLowerCase());
  }

  set(handle: string, proof: string): void {
    this.proofs = withNewest(this.proofs, handle, proof);
  }
}

/** Keeps proofs in `localStorage`. */
export class WebDeviceProofs implements DeviceProofs {
  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem">,
    private readonly key: string,
  ) {}

  get(handle: string): string | undefined {
    return this.read().get(handle.toLowerCase());
  }

  set(handle: string, proof: string): void {
    const proofs = Object.fromEntries(withNewest(this.read(), handle, proof));
    try {
      this.storage.setItem(this.key, JSON.stringify(proofs));
    } catch {
      // The storage is full or not allowed. The next sign-in then counts as one from a new device.
    }
  }

  /** Invalid content counts as no proofs. */
  private read(): Proofs {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(this.key) ?? "{}");
      const entries = Object.entries(stored ?? {}) as [string, unknown][];
      return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
    } catch {
      return new Map();
    }
  }
}

function withNewest(proofs: Proofs, handle: string, proof: string): Proofs {
  const name = handle.toLowerCase();
  const others = [...proofs].filter(([other]) => other !== name);
  return new Map([...others.slice(1 - HANDLES_MAX), [name, proof]]);
}
