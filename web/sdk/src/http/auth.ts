/** `/v1/accounts`, `/v1/sessions`: registration and sign-in. */

import type { Register, SignedIn, SignIn, Tokens } from "../api.js";
import { endsSession, NotSignedInError } from "../errors.js";
import type { Credentials } from "./credentials.js";
import type { DeviceProofs } from "./device_proofs.js";
import type { RequestOptions, Transport } from "./request.js";

export class Auth {
  constructor(
    /** Sends no token, for routes that create a session. */
    private readonly anonymous: Transport,
    private readonly transport: Transport,
    private readonly credentials: Credentials,
    private readonly deviceProofs: DeviceProofs,
  ) {}

  /** The tokens, to store and continue this session elsewhere. */
  get tokens(): Tokens | undefined {
    return this.credentials.tokens;
  }

  get accessToken(): string | undefined {
    return this.credentials.accessToken;
  }

  /** Continues a session that was started elsewhere. */
  useTokens(tokens: Tokens): void {
    this.credentials.setTokens(tokens);
  }

  /** Uses a token of the embedding application, which must provide the next one before this one expires. */
  useApplicationToken(token: string): void {
    this.credentials.setApplicationToken(token);
  }

  /** `POST /v1/accounts`. Signs the new user in. */
  async register(register: Register, options?: RequestOptions): Promise<SignedIn> {
    return this.entered(await this.anonymous.call("post", "/v1/accounts", { body: register }, options));
  }

  /** `POST /v1/sessions`. Replaces the session of this client. */
  async signIn(signIn: SignIn, options?: RequestOptions): Promise<SignedIn> {
    const device_proof = signIn.device_proof ?? this.deviceProofs.get(signIn.handle) ?? null;
    const body = { ...signIn, device_proof };
    return this.entered(await this.anonymous.call("post", "/v1/sessions", { body }, options));
  }

  /** `POST /v1/sessions/refresh`. The client calls this on its own when a token has expired. */
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

  /** An access token that is not `stale`; `undefined` if there is no way to get one. */
  renew(stale: string): Promise<string | undefined> {
    return this.credentials.renew(stale);
  }

  /** `DELETE /v1/sessions/current`. Also removes the stored tokens. */
  async signOut(options?: RequestOptions): Promise<void> {
    try {
      await this.transport.call("delete", "/v1/sessions/current", {}, options);
    } catch (error) {
      // If the session has already ended, sign-out has succeeded.
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
