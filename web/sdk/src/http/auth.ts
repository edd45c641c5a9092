/** `/v1/accounts`, `/v1/sessions`: who is signed in here. */

import type { Register, SignedIn, SignIn, Tokens } from "../api.js";
import { endsSession, NotSignedInError } from "../errors.js";
import type { Credentials } from "./credentials.js";
import type { DeviceProofs } from "./device_proofs.js";
import type { RequestOptions, Transport } from "./request.js";

export class Auth {
  constructor(
    /** Carries no token: these routes make a session. */
    private readonly anonymous: Transport,
    private readonly transport: Transport,
    private readonly credentials: Credentials,
    private readonly deviceProofs: DeviceProofs,
  ) {}

  /** What to keep in order to go on with this session elsewhere. */
  get tokens(): Tokens | undefined {
    return this.credentials.tokens;
  }

  get accessToken(): string | undefined {
    return this.credentials.accessToken;
  }

  /** Goes on with a session that was begun elsewhere. */
  useTokens(tokens: Tokens): void {
    this.credentials.setTokens(tokens);
  }

  /** Uses a token of the embedding application, which has to bring the next one before this one expires. */
  useApplicationToken(token: string): void {
    this.credentials.setApplicationToken(token);
  }

  /** `POST /v1/accounts`. The new user is signed in here. */
  async register(register: Register, options?: RequestOptions): Promise<SignedIn> {
    return this.entered(await this.anonymous.call("post", "/v1/accounts", { body: register }, options));
  }

  /** `POST /v1/sessions`. Whoever was signed in here before is replaced. */
  async signIn(signIn: SignIn, options?: RequestOptions): Promise<SignedIn> {
    const device_proof = signIn.device_proof ?? this.deviceProofs.get(signIn.handle) ?? null;
    const body = { ...signIn, device_proof };
    return this.entered(await this.anonymous.call("post", "/v1/sessions", { body }, options));
  }

  /** `POST /v1/sessions/refresh`. Happens by itself when a token has expired. */
  async refresh(): Promise<Tokens> {
    const stale = this.accessToken;
    if (stale !== undefined) {
      await this.credentials.renew(stale);
    }
    const tokens = this.tokens;
    if (!tokens) {
      throw new NotSignedInError();
    }
    return tokens;
  }

  /** An access token that is not `stale`; `undefined` when there is no way to get one. */
  renew(stale: string): Promise<string | undefined> {
    return this.credentials.renew(stale);
  }

  /** `DELETE /v1/sessions/current`. The tokens are forgotten here too. */
  async signOut(options?: RequestOptions): Promise<void> {
    try {
      await this.transport.call("delete", "/v1/sessions/current", {}, options);
    } catch (error) {
      // A session that has ended already is what was asked for.
      if (!endsSession(error)) {
        throw error;
      }
    }
    this.credentials.clear();
  }

  private entered(signedIn: SignedIn): SignedIn {
    this.credentials.setTokens(signedIn.tokens);
    this.deviceProofs.set(signedIn.user.handle, signedIn.device_proof);
    return signedIn;
  }
}
