/**
 * `/v1/conversations/{id}/members`, `…/bans`, `…/owner`, `…/join`, `…/leave`, `…/invites`, `/v1/invites`,
 * `/v1/refused-groups`
 */

import type {
  AddedMembers,
  BanPage,
  Conversation,
  ConversationId,
  CreateInvite,
  Invite,
  InviteId,
  InviteList,
  InvitePreview,
  MemberPage,
  RefusedGroups,
  Role,
  UserId,
} from "../api.js";
import type { Page } from "./page.js";
import type { RequestOptions, Transport } from "./request.js";

/** Selects members. */
export interface MemberFilter {
  role?: Role;
  /** A prefix of the handle, or of a word of the name. */
  query?: string;
}

export class Groups {
  constructor(private readonly transport: Transport) {}

  /** `GET /v1/conversations/{id}/members` */
  members(
    id: ConversationId,
    asked: MemberFilter & Page = {},
    options?: RequestOptions,
  ): Promise<MemberPage> {
    const input = { path: { id }, query: asked };
    return this.transport.call("get", "/v1/conversations/{id}/members", input, options);
  }

  /** `POST /v1/conversations/{id}/members` */
  addMembers(id: ConversationId, users: UserId[], options?: RequestOptions): Promise<AddedMembers> {
    const input = { path: { id }, body: { user_ids: users } };
    return this.transport.call("post", "/v1/conversations/{id}/members", input, options);
  }

  /** `PATCH /v1/conversations/{id}/members/{user_id}` */
  async setRole(id: ConversationId, user: UserId, role: Role, options?: RequestOptions): Promise<void> {
    const input = { path: { id, user_id: user }, body: { role } };
    await this.transport.call("patch", "/v1/conversations/{id}/members/{user_id}", input, options);
  }

  /** `DELETE /v1/conversations/{id}/members/{user_id}` */
  async removeMember(id: ConversationId, user: UserId, options?: RequestOptions): Promise<void> {
    const input = { path: { id, user_id: user } };
    await this.transport.call("delete", "/v1/conversations/{id}/members/{user_id}", input, options);
  }

  /** `GET /v1/conversations/{id}/bans` */
  bans(id: ConversationId, page: Page = {}, options?: RequestOptions): Promise<BanPage> {
    const input = { path: { id }, query: page };
    return this.transport.call("get", "/v1/conversations/{id}/bans", input, options);
  }

  /** `PUT /v1/conversations/{id}/bans/{user_id}` */
  async ban(id: ConversationId, user: UserId, options?: RequestOptions): Promise<void> {
    const input = { path: { id, user_id: user } };
    await this.transport.call("put", "/v1/conversations/{id}/bans/{user_id}", input, options);
  }

  /** `DELETE /v1/conversations/{id}/bans/{user_id}` */
  async unban(id: ConversationId, user: UserId, options?: RequestOptions): Promise<void> {
    const input = { path: { id, user_id: user } };
    await this.transport.call("delete", "/v1/conversations/{id}/bans/{user_id}", input, options);
  }

  /** `PUT /v1/conversations/{id}/owner` */
  async transferOwnership(id: ConversationId, to: UserId, options?: RequestOptions): Promise<void> {
    const input = { path: { id }, body: { user_id: to } };
    await this.transport.call("put", "/v1/conversations/{id}/owner", input, options);
  }

  /** `POST /v1/conversations/{id}/join` */
  join(id: ConversationId, options?: RequestOptions): Promise<Conversation> {
    return this.transport.call("post", "/v1/conversations/{id}/join", { path: { id } }, options);
  }

  /** `POST /v1/conversations/{id}/leave` */
  async leave(id: ConversationId, options?: RequestOptions): Promise<void> {
    await this.transport.call("post", "/v1/conversations/{id}/leave", { path: { id } }, options);
  }

  /** `POST /v1/conversations/{id}/leave?block=true`: blocks the member who added the user. Nobody can add the user again. */
  async leaveForGood(id: ConversationId, options?: RequestOptions): Promise<void> {
    const input = { path: { id }, query: { block: true } };
    await this.transport.call("post", "/v1/conversations/{id}/leave", input, options);
  }

  /** `GET /v1/refused-groups`: the conversations that the user has left for good. */
  refusedGroups(options?: RequestOptions): Promise<RefusedGroups> {
    return this.transport.call("get", "/v1/refused-groups", {}, options);
  }

  /** `DELETE /v1/refused-groups/{id}`: others can add the user again. */
  async allowGroup(id: ConversationId, options?: RequestOptions): Promise<void> {
    await this.transport.call("delete", "/v1/refused-groups/{id}", { path: { id } }, options);
  }

  /** `GET /v1/conversations/{id}/invites` */
  invites(id: ConversationId, options?: RequestOptions): Promise<InviteList> {
    return this.transport.call("get", "/v1/conversations/{id}/invites", { path: { id } }, options);
  }

  /** `POST /v1/conversations/{id}/invites` */
  createInvite(id: ConversationId, invite: CreateInvite = {}, options?: RequestOptions): Promise<Invite> {
    const input = { path: { id }, body: invite };
    return this.transport.call("post", "/v1/conversations/{id}/invites", input, options);
  }

  /** `DELETE /v1/conversations/{id}/invites/{invite_id}` */
  async revokeInvite(id: ConversationId, invite: InviteId, options?: RequestOptions): Promise<void> {
    const input = { path: { id, invite_id: invite } };
    await this.transport.call("delete", "/v1/conversations/{id}/invites/{invite_id}", input, options);
  }

  /** `GET /v1/invites/{token}` */
  previewInvite(token: string, options?: RequestOptions): Promise<InvitePreview> {
    return this.transport.call("get", "/v1/invites/{token}", { path: { token } }, options);
  }

  /** `POST /v1/invites/{token}/join` */
  joinByInvite(token: string, options?: RequestOptions): Promise<Conversation> {
    return this.transport.call("post", "/v1/invites/{token}/join", { path: { token } }, options);
  }
}
