/** Actions of the user on conversations and messages, shared by all components. */

import {
  type Conversation,
  type ConversationId,
  type DeleteFor,
  forwardMessage,
  type Message,
  type SendMessage,
  type UpdateMembership,
  type UserId,
} from "@godwit/sdk";

import { UNSET } from "./inbox.js";
import { go } from "./place.js";
import type { Session } from "./session.js";
import { attempt } from "./tasks.js";

/** Muted until the user unmutes the conversation. */
export const FOREVER = "9999-01-01T00:00:00.000Z";

export async function openDirect(session: Session, user: UserId): Promise<void> {
  const found = await attempt(session.http.conversations.direct(user));
  if (found) {
    session.learn(found.value);
    go({ screen: "conversation", id: found.value.id });
  }
}

export async function changeMembership(
  session: Session,
  id: ConversationId,
  update: UpdateMembership,
): Promise<void> {
  const changed = await attempt(session.http.conversations.updateMembership(id, update));
  if (changed) {
    session.inbox.setMembership(id, { ...UNSET, ...changed.value });
  }
}

/** Moves a pinned conversation up or down by one, if possible. */
export async function movePinned(session: Session, id: ConversationId, by: -1 | 1): Promise<void> {
  const order = pinnedIds(session);
  const from = order.indexOf(id);
  const neighbour = order[from + by];
  if (neighbour !== undefined) {
    [order[from], order[from + by]] = [neighbour, id];
    await attempt(session.http.conversations.orderPinned(order));
  }
}

export function pinnedIds(session: Session): ConversationId[] {
  return session.inbox.sorted.value.filter(({ me }) => me.pinned).map(({ id }) => id);
}

export function mute(session: Session, id: ConversationId, until: Date | "forever" | "off"): Promise<void> {
  const muted_until = until === "off" ? null : until === "forever" ? FOREVER : until.toISOString();
  return changeMembership(session, id, { muted_until });
}

export async function markRead(session: Session, conversation: Conversation): Promise<void> {
  const { id, last_message, me } = conversation;
  if (me.marked_unread) {
    await changeMembership(session, id, { marked_unread: false });
  }
  const last = last_message?.seq ?? 0;
  // Sent at once: a delayed cursor move would remove a mark that the user sets in the meantime.
  if (
    last > conversation.me.read &&
    (await attempt(session.http.conversations.moveCursor(id, { read: last })))
  ) {
    session.inbox.setRead(id, last, 0);
  }
}

/** Passes the message to the session, which stores it until the server has it. */
export async function send(session: Session, id: ConversationId, message: SendMessage): Promise<boolean> {
  session.handoff.begin({ id, message });
  const taken = (await attempt(session.live.enqueue(id, message))) !== undefined;
  session.handoff.end(message.client_id);
  return taken;
}

export async function forward(session: Session, message: Message, to: ConversationId): Promise<void> {
  if (await send(session, to, forwardMessage(message.id))) {
    go({ screen: "conversation", id: to });
  }
}

/** Adds the reaction, or removes it if the user already has it. */
export async function react(session: Session, message: Message, reaction: string): Promise<void> {
  const { messages } = session.http;
  const task =
    message.my_reaction === reaction ? messages.unreact(message.id) : messages.react(message.id, reaction);
  const changed = await attempt(task);
  if (changed) {
    session.histories.update(changed.value);
  }
}

export async function star(session: Session, message: Message): Promise<void> {
  const { personal } = session.http;
  await attempt(
    session.own.starred.value.has(message.id) ? personal.unstar(message.id) : personal.star(message.id),
  );
}

export async function pin(session: Session, message: Message, pinned: boolean): Promise<void> {
  const { messages } = session.http;
  await attempt(pinned ? messages.pin(message.id) : messages.unpin(message.id));
}

export async function removeMessage(session: Session, message: Message, whom: DeleteFor): Promise<void> {
  const done = await attempt(session.http.messages.delete(message.id, whom));
  if (done && whom === "me") {
    session.histories.hide(message.id);
  }
}
