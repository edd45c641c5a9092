/**
 * What proves that somebody has signed in on this client before, for each handle. It is kept when they sign out: with the next
 * sign-in it is sent along, and the attempts of strangers to sign in as them do not keep them out. It opens nothing by itself.
 */

export interface DeviceProofs {
  get(handle: string): string | undefined;
  set(handle: string, proof: string): void;
}

/** Handles that are remembered. The one that signed in longest ago is forgotten first. */
const HANDLES_MAX = 16;

/** Forgets when the process ends. */
export class MemoryDeviceProofs implements DeviceProofs {
  private proofs: Record<string, string> = {};

  get(handle: string): string | undefined {
    return this.proofs[handle.toLowerCase()];
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
    return this.read()[handle.toLowerCase()];
  }

  set(handle: string, proof: string): void {
    this.storage.setItem(this.key, JSON.stringify(withNewest(this.read(), handle, proof)));
  }

  private read(): Record<string, string> {
    return JSON.parse(this.storage.getItem(this.key) ?? "{}") as Record<string, string>;
  }
}

function withNewest(proofs: Record<string, string>, handle: string, proof: string): Record<string, string> {
  const name = handle.toLowerCase();
  const others = Object.entries(proofs).filter(([other]) => other !== name);
  return Object.fromEntries([...others.slice(1 - HANDLES_MAX), [name, proof]]);
}
