/** Messages to send. */

import type { Media, MessageId, SendMessage } from "./api.js";
import { randomId } from "./random.js";

/** Options for messages of every kind. */
export interface DraftOptions {
  /** The idempotency key: a second send with the same client id returns the first message. Default: random. */
  clientId?: string;
  /** A message in the same conversation. */
  replyTo?: MessageId;
}

export function textMessage(text: string, options: DraftOptions = {}): SendMessage {
  return { ...common(options), kind: "text", text };
}

/** An image, a file or a recording that is stored elsewhere. */
export function mediaMessage(
  kind: "image" | "file" | "voice",
  media: Media,
  caption?: string,
  options: DraftOptions = {},
): SendMessage {
  const message: SendMessage = { ...common(options), kind, media };
  return caption === undefined ? message : { ...message, text: caption };
}

/** A forward of another message. The server copies its content. */
export function forwardMessage(forwardedFrom: MessageId, options: DraftOptions = {}): SendMessage {
  return { ...common(options), forwarded_from: forwardedFrom };
}

/** An event, such as `app.call.ended`, with optional data. */
export function eventMessage(event: string, data?: unknown, options: DraftOptions = {}): SendMessage {
  const message: SendMessage = { ...common(options), kind: "system", event };
  return data === undefined ? message : { ...message, data };
}

function common(options: DraftOptions) {
  return {
    client_id: options.clientId ?? randomId(),
    ...(options.replyTo === undefined ? {} : { reply_to: options.replyTo }),
  };
}
