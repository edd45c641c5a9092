/** Where the tokens are kept. Tabs of one account share a store, and see at once what another tab has put there. */

import type { Tokens } from "../api.js";

export interface TokenStore {
  get(): Tokens | undefined;
  set(tokens: Tokens | undefined): void;
}

/** Forgets when the process ends. */
export class MemoryTokenStore implements TokenStore {
  constructor(private tokens?: Tokens) {}

  get(): Tokens | undefined {
    return this.tokens;
  }

  set(tokens: Tokens | undefined): void {
    this.tokens = tokens;
  }
}

/** In `localStorage`, so that a session survives a reload and is shared by the tabs. */
export class WebTokenStore implements TokenStore {
  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">,
    private readonly key: string,
  ) {}

  get(): Tokens | undefined {
    const text = this.storage.getItem(this.key);
    return text === null ? undefined : (JSON.parse(text) as Tokens);
  }

  set(tokens: Tokens | undefined): void {
    if (tokens) {
      this.storage.setItem(this.key, JSON.stringify(tokens));
    } else {
      this.storage.removeItem(this.key);
    }
  }
}
