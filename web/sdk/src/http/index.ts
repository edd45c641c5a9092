/**
 * The HTTP API, one method per route.
 *
 * - here: `Http`, the groups of routes over one transport
 * - `auth`, `accounts`, `people`, `conversations`, `groups`, `messages`, `personal`, `operation`: the routes
 * - `request`: the parts that all requests share, typed by the OpenAPI document
 * - `credentials`, `token_store`: the tokens, and their single-flight refresh
 * - `device_proofs`: proofs of earlier sign-ins
 */

import { defaultLocks, type Locks } from "../locks.js";
import { Accounts } from "./accounts.js";
import { Auth } from "./auth.js";
import { Conversations } from "./conversations.js";
import { Credentials } from "./credentials.js";
import { type DeviceProofs, MemoryDeviceProofs } from "./device_proofs.js";
import { Groups } from "./groups.js";
import { Messages } from "./messages.js";
import { Operation } from "./operation.js";
import { People } from "./people.js";
import { Personal } from "./personal.js";
import { REQUEST_TIMEOUT_MS, Transport, type TransportConfig } from "./request.js";
import { MemoryTokenStore, type TokenStore } from "./token_store.js";

export { type DeviceProofs, MemoryDeviceProofs, WebDeviceProofs } from "./device_proofs.js";
export type { MemberFilter } from "./groups.js";
export type { History, Position } from "./messages.js";
export type { Page } from "./page.js";
export type { Created, RequestOptions } from "./request.js";
export { MemoryTokenStore, type TokenStore, WebTokenStore } from "./token_store.js";

/** Timeout of a refresh. It is longer than that of other requests, because giving up loses the session. */
const REFRESH_TIMEOUT_MS = 60_000;

export interface HttpConfig {
  /** The address of the server, such as `https://chat.example.org`. */
  baseUrl: string;
  /** Default: in memory. Tabs of one account share a store. */
  tokens?: TokenStore;
  /** Default: in memory. */
  deviceProofs?: DeviceProofs;
  /** From the first byte of the request to the last byte of the response. */
  timeoutMs?: number;
  fetch?: typeof fetch;
  locks?: Locks;
}

/** The HTTP API of one server, for one user or without one. */
export class Http {
  readonly baseUrl: string;
  readonly auth: Auth;
  readonly accounts: Accounts;
  readonly people: People;
  readonly conversations: Conversations;
  readonly groups: Groups;
  readonly messages: Messages;
  readonly personal: Personal;
  readonly operation: Operation;

  constructor(config: HttpConfig) {
    this.baseUrl = config.baseUrl.replace(/\/+$/, "");
    const shared: TransportConfig = {
      baseUrl: this.baseUrl,
      fetch: config.fetch ?? ((input, init) => fetch(input, init)),
      timeoutMs: config.timeoutMs ?? REQUEST_TIMEOUT_MS,
    };
    const refreshing = new Transport({ ...shared, timeoutMs: REFRESH_TIMEOUT_MS }, undefined);
    const credentials = new Credentials(
      config.tokens ?? new MemoryTokenStore(),
      config.locks ?? defaultLocks(),
      `godwit:refresh:${this.baseUrl}`,
      (refreshToken) =>
        refreshing.call("post", "/v1/sessions/refresh", { body: { refresh_token: refreshToken } }),
    );
    const anonymous = new Transport(shared, undefined);
    const transport = new Transport(shared, credentials);
    const deviceProofs = config.deviceProofs ?? new MemoryDeviceProofs();
    this.auth = new Auth(anonymous, transport, credentials, deviceProofs);
    this.accounts = new Accounts(transport, credentials, deviceProofs);
    this.people = new People(transport);
    this.conversations = new Conversations(transport);
    this.groups = new Groups(transport);
    this.messages = new Messages(transport);
    this.personal = new Personal(transport);
    this.operation = new Operation(anonymous);
  }
}
