/** `/v1/users`, `/v1/blocks`: other people. */

import type { UserDetails, UserId, UserPage } from "../api.js";
import type { Page } from "./page.js";
import type { RequestOptions, Transport } from "./request.js";

export class People {
  constructor(private readonly transport: Transport) {}

  /** `GET /v1/users?query=` */
  search(query: string, page: Page = {}, options?: RequestOptions): Promise<UserPage> {
    return this.transport.call("get", "/v1/users", { query: { query, ...page } }, options);
  }

  /** `GET /v1/users?ids=`: the users that exist. */
  users(ids: readonly UserId[], options?: RequestOptions): Promise<UserPage> {
    return this.transport.call("get", "/v1/users", { query: { ids: ids.join(",") } }, options);
  }

  /** `GET /v1/users/{id}` */
  user(id: UserId, options?: RequestOptions): Promise<UserDetails> {
    return this.transport.call("get", "/v1/users/{id}", { path: { id } }, options);
  }

  /** `GET /v1/blocks` */
  blocks(page: Page = {}, options?: RequestOptions): Promise<UserPage> {
    return this.transport.call("get", "/v1/blocks", { query: page }, options);
  }

  /** `PUT /v1/blocks/{user_id}` */
  async block(userId: UserId, options?: RequestOptions): Promise<void> {
    await this.transport.call("put", "/v1/blocks/{user_id}", { path: { user_id: userId } }, options);
  }

  /** `DELETE /v1/blocks/{user_id}` */
  async unblock(userId: UserId, options?: RequestOptions): Promise<void> {
    await this.transport.call("delete", "/v1/blocks/{user_id}", { path: { user_id: userId } }, options);
  }
}
