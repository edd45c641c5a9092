/** `/v1/messages/{id}/star`, `/v1/stars`, `/v1/scheduled`: data that only the user themselves sees. */

import type {
  Message,
  MessageId,
  Scheduled,
  ScheduledId,
  ScheduledList,
  ScheduleMessage,
  Scheduling,
  StarPage,
  UpdateScheduled,
} from "../api.js";
import type { Page } from "./page.js";
import type { RequestOptions, Transport } from "./request.js";

export class Personal {
  constructor(private readonly transport: Transport) {}

  /** `PUT /v1/messages/{id}/star` */
  async star(id: MessageId, options?: RequestOptions): Promise<void> {
    await this.transport.call("put", "/v1/messages/{id}/star", { path: { id } }, options);
  }

  /** `DELETE /v1/messages/{id}/star` */
  async unstar(id: MessageId, options?: RequestOptions): Promise<void> {
    await this.transport.call("delete", "/v1/messages/{id}/star", { path: { id } }, options);
  }

  /** `GET /v1/stars` */
  stars(page: Page = {}, options?: RequestOptions): Promise<StarPage> {
    return this.transport.call("get", "/v1/stars", { query: page }, options);
  }

  /** `POST /v1/scheduled` */
  schedule(message: ScheduleMessage, options?: RequestOptions): Promise<Scheduling> {
    return this.transport.call("post", "/v1/scheduled", { body: message }, options);
  }

  /** `GET /v1/scheduled` */
  scheduled(page: { after?: string } = {}, options?: RequestOptions): Promise<ScheduledList> {
    return this.transport.call("get", "/v1/scheduled", { query: page }, options);
  }

  /** `PATCH /v1/scheduled/{id}` */
  updateScheduled(id: ScheduledId, update: UpdateScheduled, options?: RequestOptions): Promise<Scheduled> {
    return this.transport.call("patch", "/v1/scheduled/{id}", { path: { id }, body: update }, options);
  }

  /** `POST /v1/scheduled/{id}/send` */
  sendScheduled(id: ScheduledId, options?: RequestOptions): Promise<Message> {
    return this.transport.call("post", "/v1/scheduled/{id}/send", { path: { id } }, options);
  }

  /** `DELETE /v1/scheduled/{id}` */
  async cancelScheduled(id: ScheduledId, options?: RequestOptions): Promise<void> {
    await this.transport.call("delete", "/v1/scheduled/{id}", { path: { id } }, options);
  }
}
