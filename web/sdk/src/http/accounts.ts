/** `/v1/me`, `/v1/devices`: the account of the user. */

import type { ChangePassword, DeviceId, DeviceList, Me, UpdateMe } from "../api.js";
import type { Credentials } from "./credentials.js";
import type { DeviceProofs } from "./device_proofs.js";
import type { RequestOptions, Transport } from "./request.js";

export class Accounts {
  constructor(
    private readonly transport: Transport,
    private readonly credentials: Credentials,
    private readonly deviceProofs: DeviceProofs,
  ) {}

  /** `GET /v1/me` */
  me(options?: RequestOptions): Promise<Me> {
    return this.transport.call("get", "/v1/me", {}, options);
  }

  /** `PATCH /v1/me` */
  async updateMe(update: UpdateMe, options?: RequestOptions): Promise<Me> {
    // Device proofs are stored by handle, so a rename must move the proof.
    const before = update.handle ? (await this.me(options)).handle : undefined;
    const me = await this.transport.call("patch", "/v1/me", { body: update }, options);
    const proof = before === undefined ? undefined : this.deviceProofs.get(before);
    if (proof !== undefined) {
      this.deviceProofs.set(me.handle, proof);
    }
    return me;
  }

  /**
   * `PUT /v1/me/password`. Ends every other session of the user, and gives this one new tokens. The request cannot be
   * aborted, because the response has the only copy of the new tokens.
   */
  async changePassword(change: ChangePassword): Promise<void> {
    await this.credentials.replaceTokens(async (authorization) => {
      const transport = this.transport.with(authorization);
      const changed = await transport.call("put", "/v1/me/password", { body: change });
      return changed.tokens ?? undefined;
    });
  }

  /** `GET /v1/devices` */
  devices(options?: RequestOptions): Promise<DeviceList> {
    return this.transport.call("get", "/v1/devices", {}, options);
  }

  /** `DELETE /v1/devices/{id}` */
  async revokeDevice(id: DeviceId, options?: RequestOptions): Promise<void> {
    await this.transport.call("delete", "/v1/devices/{id}", { path: { id } }, options);
  }
}
