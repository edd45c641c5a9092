/** Messages and what is on its way, in one list that can be laid out. */

import type { Message, UserId } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import type { Pending } from "../../model/outbox.js";
import type { Placed } from "../../text/rows.js";

export interface PlacedMessage extends Placed {
  message: Message;
  /** Absent when it has arrived. */
  pending?: Pending;
}

/** Later than everything that has arrived. */
const PENDING_SEQ = Number.MAX_SAFE_INTEGER;

const shownPending = new WeakMap<Pending, Message>();

export function placed(
  messages: readonly Message[],
  pending: readonly Pending[],
  me: UserId,
): PlacedMessage[] {
  const arrived = new Set(messages.filter((one) => one.sender_id === me).map((one) => one.client_id));
  return [
    ...messages.map((message) => ({
      // The same before and after it has arrived, so that it stays the same element of the page.
      key: message.sender_id === me && message.client_id ? message.client_id : `seq:${message.seq}`,
      seq: message.seq,
      senderId: message.sender_id,
      at: message.created_at,
      isNotice: message.kind === "system",
      message,
    })),
    ...pending
      .filter((one) => !arrived.has(one.unsent.clientId))
      .map((one) => {
        const message = one.sent ?? asMessage(one, me);
        const { clientId: key } = one.unsent;
        return {
          key,
          seq: PENDING_SEQ,
          senderId: me,
          at: message.created_at,
          isNotice: false,
          message,
          pending: one,
        };
      }),
  ];
}

/** A message that the server does not have yet, in the form of one that it has. The same object each time. */
function asMessage(pending: Pending, me: UserId): Message {
  const known = shownPending.get(pending);
  if (known) {
    return known;
  }
  const { conversationId, clientId, message, refusal } = pending.unsent;
  const shown: Message = {
    id: clientId,
    client_id: clientId,
    conversation_id: conversationId,
    seq: PENDING_SEQ,
    sender_id: me,
    kind: message.kind ?? "text",
    // What is forwarded is copied by the server, and shown when it is there.
    text: message.text ?? (message.forwarded_from ? t("message.forwarding") : null),
    created_at: pending.at,
    reply_to: message.reply_to ?? null,
    status: refusal ? "ERROR" : "SENDING",
  };
  shownPending.set(pending, shown);
  return shown;
}
