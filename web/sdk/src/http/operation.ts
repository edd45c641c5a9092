/** `/healthz`, `/readyz`: for operators of the server. */

import type { Health } from "../api.js";
import type { RequestOptions, Transport } from "./request.js";

export class Operation {
  constructor(private readonly transport: Transport) {}

  /** `GET /healthz` */
  alive(options?: RequestOptions): Promise<Health> {
    return this.transport.call("get", "/healthz", {}, options);
  }

  /** `GET /readyz` */
  ready(options?: RequestOptions): Promise<Health> {
    return this.transport.call("get", "/readyz", {}, options);
  }
}
