/** `/v1/conversations/{id}/messages`, `…/pins`, `/v1/messages` */

import type {
  ConversationId,
  DeleteFor,
  EditList,
  Message,
  MessageId,
  MessagePage,
  PinList,
  ReactionPage,
  ReceiptList,
  SendMessage,
  Seq,
  ThreadPage,
  Timestamp,
} from "../api.js";
import type { Page } from "./page.js";
import type { Created, RequestOptions, Transport } from "./request.js";

/** A position in the history: a message id or a `seq`. The server can tell them apart, because ids are 2^53 or more. */
export type Position = MessageId | Seq;

/** The part of the history to read. Default: the newest messages. */
export type History =
  | { before: Position }
  | { after: Position }
  | { around: Position }
  | { before_time: Timestamp }
  | Record<string, never>;

export class Messages {
  constructor(private readonly transport: Transport) {}

  /** `POST /v1/conversations/{id}/messages`. Does not retry; a live session does. */
  send(id: ConversationId, message: SendMessage, options?: RequestOptions): Promise<Created<Message>> {
    const input = { path: { id }, body: message };
    return this.transport.callCreated("post", "/v1/conversations/{id}/messages", input, options);
  }

  /** `GET /v1/conversations/{id}/messages`: always oldest first. */
  history(
    id: ConversationId,
    history: History = {},
    limit?: number,
    options?: RequestOptions,
  ): Promise<MessagePage> {
    const asked = Object.fromEntries(Object.entries(history).map(([name, value]) => [name, String(value)]));
    const query = limit === undefined ? asked : { ...asked, limit };
    return this.transport.call("get", "/v1/conversations/{id}/messages", { path: { id }, query }, options);
  }

  /** `GET /v1/messages/{id}` */
  get(id: MessageId, options?: RequestOptions): Promise<Message> {
    return this.transport.call("get", "/v1/messages/{id}", { path: { id } }, options);
  }

  /** `PATCH /v1/messages/{id}`: replaces the text or the caption. */
  edit(id: MessageId, text: string, options?: RequestOptions): Promise<Message> {
    return this.transport.call("patch", "/v1/messages/{id}", { path: { id }, body: { text } }, options);
  }

  /** `DELETE /v1/messages/{id}?for=` */
  async delete(id: MessageId, whom: DeleteFor, options?: RequestOptions): Promise<void> {
    const input = { path: { id }, query: { for: whom } };
    await this.transport.call("delete", "/v1/messages/{id}", input, options);
  }

  /** `GET /v1/messages/{id}/edits` */
  edits(id: MessageId, page: { after?: string } = {}, options?: RequestOptions): Promise<EditList> {
    return this.transport.call("get", "/v1/messages/{id}/edits", { path: { id }, query: page }, options);
  }

  /** `GET /v1/messages/{id}/receipts`: who has received and read it, and when. */
  receipts(id: MessageId, page: Page = {}, options?: RequestOptions): Promise<ReceiptList> {
    return this.transport.call("get", "/v1/messages/{id}/receipts", { path: { id }, query: page }, options);
  }

  /** `PUT /v1/messages/{id}/reaction` */
  react(id: MessageId, reaction: string, options?: RequestOptions): Promise<Message> {
    const input = { path: { id }, body: { reaction } };
    return this.transport.call("put", "/v1/messages/{id}/reaction", input, options);
  }

  /** `DELETE /v1/messages/{id}/reaction` */
  unreact(id: MessageId, options?: RequestOptions): Promise<Message> {
    return this.transport.call("delete", "/v1/messages/{id}/reaction", { path: { id } }, options);
  }

  /** `GET /v1/messages/{id}/reactions` */
  reactions(id: MessageId, page: Page = {}, options?: RequestOptions): Promise<ReactionPage> {
    return this.transport.call("get", "/v1/messages/{id}/reactions", { path: { id }, query: page }, options);
  }

  /** `GET /v1/messages/{id}/thread` */
  thread(id: MessageId, page: Page = {}, options?: RequestOptions): Promise<ThreadPage> {
    return this.transport.call("get", "/v1/messages/{id}/thread", { path: { id }, query: page }, options);
  }

  /** `PUT /v1/messages/{id}/pin` */
  async pin(id: MessageId, options?: RequestOptions): Promise<void> {
    await this.transport.call("put", "/v1/messages/{id}/pin", { path: { id } }, options);
  }

  /** `DELETE /v1/messages/{id}/pin` */
  async unpin(id: MessageId, options?: RequestOptions): Promise<void> {
    await this.transport.call("delete", "/v1/messages/{id}/pin", { path: { id } }, options);
  }

  /** `GET /v1/conversations/{id}/pins` */
  pins(id: ConversationId, page: { after?: string } = {}, options?: RequestOptions): Promise<PinList> {
    return this.transport.call("get", "/v1/conversations/{id}/pins", { path: { id }, query: page }, options);
  }
}
