/**
 * What proves that somebody has signed in on this client before, for each handle. It is kept when they sign out: with the next
 * sign-in it is sent along, and the attempts of strangers to sign in as them do not keep them out. It opens nothing by itself.
 */

/** Neither throws: a proof that cannot be kept is no reason to keep somebody out. */
export interface DeviceProofs {
  get(handle: string): string | undefined;
  set(handle: string, proof: string): void;
}

/** Handles that are remembered. The one that signed in longest ago is forgotten first. */
const HANDLES_MAX = 16;

/** A map and no object, in which `__proto__` would be there before anybody has signed in. */
type Proofs = ReadonlyMap<string, string>;

/** Forgets when the process ends. */
export class MemoryDeviceProofs implements DeviceProofs {
  private proofs: Proofs = new Map();

  get(handle: string): string | undefined {
    return this.proofs.get(handle.toLowerCase());
  }

  set(handle: string, proof: string): void {
    this.proofs = withNewest(this.proofs, handle, proof);
  }
}

/** In `localStorage`. */
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
      // The storage is full or not allowed. The next sign-in is then that of a new device.
    }
  }

  /** What cannot be read is as if nobody had signed in. */
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
