/** Storage for the tokens. Tabs of one account share a store, and each sees the writes of the others at once. */

import type { Tokens } from "../api.js";

export interface TokenStore {
  get(): Tokens | undefined;
  set(tokens: Tokens | undefined): void;
}

/** Keeps tokens in memory only. */
export class MemoryTokenStore implements TokenStore {
  constructor(private tokens?: Tokens) {}

  get(): Tokens | undefined {
    return this.tokens;
  }

  set(tokens: Tokens | undefined): void {
    this.tokens = tokens;
  }
}

/** Keeps tokens in `localStorage`, so that a session survives a reload and all tabs share it. */
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
