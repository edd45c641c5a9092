/**
 * The tokens of a session.
 *
 * A refresh token is valid for one use, and a second use ends the session. Refreshing is therefore single-flight: of all
 * requests in all tabs that find their access token expired, one refreshes it and the others wait for the result. A
 * refresh cannot be aborted, because its response has the only copy of the next refresh token.
 */

import type { Tokens } from "../api.js";
import { ApiError } from "../errors.js";
import type { Locks } from "../locks.js";
import type { Authorization } from "./request.js";
import type { TokenStore } from "./token_store.js";

export class Credentials implements Authorization {
  /** A token of the embedding application, which this client cannot refresh. */
  private applicationToken: string | undefined;
  /** The server refused the refresh token for good. Waiting callers get the same error. */
  private refusal: ApiError | undefined;

  constructor(
    private readonly store: TokenStore,
    private readonly locks: Locks,
    private readonly lockName: string,
    private readonly refresh: (refreshToken: string) => Promise<Tokens>,
  ) {}

  get tokens(): Tokens | undefined {
    return this.applicationToken === undefined ? this.store.get() : undefined;
  }

  get accessToken(): string | undefined {
    return this.applicationToken ?? this.store.get()?.access_token;
  }

  setTokens(tokens: Tokens): void {
    this.forget();
    this.store.set(tokens);
  }

  setApplicationToken(token: string): void {
    this.forget();
    this.applicationToken = token;
  }

  clear(): void {
    this.forget();
    this.store.set(undefined);
  }

  async renew(stale: string): Promise<string | undefined> {
    return await this.locks.exclusive(this.lockName, () => this.renewAlone(stale));
  }

  /**
   * Runs a request whose response has the next tokens of this session. Blocks refreshes in all tabs until then: a refresh
   * would use the same refresh token twice, which ends the session.
   */
  async replaceTokens(ask: (authorization: Authorization) => Promise<Tokens | undefined>): Promise<void> {
    await this.locks.exclusive(this.lockName, async () => {
      const renew = (stale: string) => this.renewAlone(stale);
      const accessToken = this.accessToken;
      const next = await ask({ accessToken, renew });
      if (next) {
        this.setTokens(next);
      }
    });
  }

  private async renewAlone(stale: string): Promise<string | undefined> {
    if (this.applicationToken !== undefined) {
      return this.applicationToken === stale ? undefined : this.applicationToken;
    }
    const tokens = this.store.get();
    if (this.refusal && !tokens) {
      throw this.refusal;
    }
    if (tokens?.access_token !== stale) {
      // Another caller has refreshed the token, or a user has signed in or out.
      return tokens?.access_token;
    }
    return (await this.rotate(tokens.refresh_token)).access_token;
  }

  private async rotate(refreshToken: string): Promise<Tokens> {
    try {
      const next = await this.refresh(refreshToken);
      this.replace(refreshToken, next);
      return next;
    } catch (error) {
      if (error instanceof ApiError && !error.temporary) {
        this.refusal = error;
        this.replace(refreshToken, undefined);
      }
      throw error;
    }
  }

  /** Stores the result of the refresh, unless a user has signed in or out since. */
  private replace(used: string, next: Tokens | undefined): void {
    if (this.store.get()?.refresh_token === used) {
      this.store.set(next);
    }
  }

  private forget(): void {
    this.applicationToken = undefined;
    this.refusal = undefined;
  }
}
