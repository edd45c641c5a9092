/** `/v1/me`, `/v1/devices`: the own account. */

import type { ChangePassword, DeviceId, DeviceList, Me, UpdateMe } from "../api.js";
import type { RequestOptions, Transport } from "./request.js";

export class Accounts {
  constructor(private readonly transport: Transport) {}

  /** `GET /v1/me` */
  me(options?: RequestOptions): Promise<Me> {
    return this.transport.call("get", "/v1/me", {}, options);
  }

  /** `PATCH /v1/me` */
  updateMe(update: UpdateMe, options?: RequestOptions): Promise<Me> {
    return this.transport.call("patch", "/v1/me", { body: update }, options);
  }

  /** `PUT /v1/me/password`. Ends every other session of the user. */
  async changePassword(change: ChangePassword, options?: RequestOptions): Promise<void> {
    await this.transport.call("put", "/v1/me/password", { body: change }, options);
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
