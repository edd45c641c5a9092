/** `/v1/conversations`, `/v1/sync`: the inbox and its changes. */

import type {
  Conversation,
  ConversationId,
  ConversationPage,
  CreateConversation,
  CreatedConversation,
  GoneList,
  LogPage,
  MemberCursor,
  Membership,
  MoveCursor,
  Seq,
  SyncPage,
  Timestamp,
  UpdateConversation,
  UpdateMembership,
  UserId,
} from "../api.js";
import type { Page } from "./page.js";
import type { Created, RequestOptions, Transport } from "./request.js";

export class Conversations {
  constructor(private readonly transport: Transport) {}

  /** `POST /v1/conversations`. Idempotent for direct conversations, and for groups with a `client_id`. */
  open(create: CreateConversation, options?: RequestOptions): Promise<Created<CreatedConversation>> {
    return this.transport.callCreated("post", "/v1/conversations", { body: create }, options);
  }

  /** The direct conversation with `user`. Creates it if there is none. */
  async direct(user: UserId, options?: RequestOptions): Promise<Conversation> {
    return (await this.open({ kind: "direct", user_id: user }, options)).value;
  }

  /** `GET /v1/conversations`: the inbox, or the archived conversations. */
  list(page: Page & { archived?: boolean } = {}, options?: RequestOptions): Promise<ConversationPage> {
    return this.transport.call("get", "/v1/conversations", { query: page }, options);
  }

  /** `GET /v1/conversations/{id}` */
  get(id: ConversationId, options?: RequestOptions): Promise<Conversation> {
    return this.transport.call("get", "/v1/conversations/{id}", { path: { id } }, options);
  }

  /** `PATCH /v1/conversations/{id}` */
  update(id: ConversationId, update: UpdateConversation, options?: RequestOptions): Promise<Conversation> {
    return this.transport.call("patch", "/v1/conversations/{id}", { path: { id }, body: update }, options);
  }

  /** `DELETE /v1/conversations/{id}?for=me&up_to=`. `head` is the newest entry that the user has seen; later ones stay. */
  async deleteForMe(id: ConversationId, head: Seq, options?: RequestOptions): Promise<void> {
    const input = { path: { id }, query: { for: "me", up_to: head } } as const;
    await this.transport.call("delete", "/v1/conversations/{id}", input, options);
  }

  /** `DELETE /v1/conversations/{id}?for=all` */
  async deleteForAll(id: ConversationId, options?: RequestOptions): Promise<void> {
    const input = { path: { id }, query: { for: "all" } } as const;
    await this.transport.call("delete", "/v1/conversations/{id}", input, options);
  }

  /** `GET /v1/conversations/gone?since=` */
  gone(since: Timestamp, options?: RequestOptions): Promise<GoneList> {
    return this.transport.call("get", "/v1/conversations/gone", { query: { since } }, options);
  }

  /** `PUT /v1/conversations/pinned`: sets the order of the pinned conversations. */
  async orderPinned(ids: ConversationId[], options?: RequestOptions): Promise<void> {
    const body = { conversation_ids: ids };
    await this.transport.call("put", "/v1/conversations/pinned", { body }, options);
  }

  /** `PATCH /v1/conversations/{id}/me`: pin, mute, archive, mark as unread, save a draft. */
  updateMembership(
    id: ConversationId,
    update: UpdateMembership,
    options?: RequestOptions,
  ): Promise<Membership> {
    const input = { path: { id }, body: update };
    return this.transport.call("patch", "/v1/conversations/{id}/me", input, options);
  }

  /** `PUT /v1/conversations/{id}/cursor` */
  moveCursor(id: ConversationId, cursor: MoveCursor, options?: RequestOptions): Promise<MemberCursor> {
    const input = { path: { id }, body: cursor };
    return this.transport.call("put", "/v1/conversations/{id}/cursor", input, options);
  }

  /** `GET /v1/conversations/{id}/log?after=`: every change after an entry, in order. */
  log(id: ConversationId, after: Seq, limit?: number, options?: RequestOptions): Promise<LogPage> {
    const query = limit === undefined ? { after } : { after, limit };
    return this.transport.call("get", "/v1/conversations/{id}/log", { path: { id }, query }, options);
  }

  /** `GET /v1/sync`. `since` is the token of the previous page. */
  sync(page: { since?: string; limit?: number } = {}, options?: RequestOptions): Promise<SyncPage> {
    return this.transport.call("get", "/v1/sync", { query: page }, options);
  }
}
