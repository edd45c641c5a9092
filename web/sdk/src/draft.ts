/** A message that is about to be sent. */

import type { Media, MessageId, SendMessage } from "./api.js";
import { randomId } from "./random.js";

/** What else a message can have, whatever its kind. */
export interface DraftOptions {
  /** Sending the same client id again gives back the message that was sent first. Random when absent. */
  clientId?: string;
  /** A message of the same conversation. */
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

/** What another message says: the server copies it when it is sent. */
export function forwardMessage(forwardedFrom: MessageId, options: DraftOptions = {}): SendMessage {
  return { ...common(options), forwarded_from: forwardedFrom };
}

/** Something that happened, such as `app.call.ended`, and what it is about. */
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
