/** Messages and unsent messages in one list. */

import type { Message, UserId } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import type { Pending } from "../../model/outbox.js";
import type { Placed } from "../../text/rows.js";

export interface PlacedMessage extends Placed {
  message: Message;
  /** Absent if the server has the message. */
  pending?: Pending;
}

/** Sorts unsent messages after all others. */
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
      // The same key before and after the server has the message, so that its element is not replaced.
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

/** An unsent message in the form of a sent one. Returns the same object each time. */
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
    // The server copies the content of a forward, so the client does not have it yet.
    text: message.text ?? (message.forwarded_from ? t("message.forwarding") : null),
    created_at: pending.at,
    reply_to: message.reply_to ?? null,
    status: refusal ? "ERROR" : "SENDING",
  };
  shownPending.set(pending, shown);
  return shown;
}
