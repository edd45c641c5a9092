/** The current screen. It is kept in the URL, so that the back button, reloads and links work. */

import type { ConversationId, MessageId } from "@godwit/sdk";
import { signal } from "@preact/signals";

export type Place =
  | { screen: "list" }
  /** `thread` is the message that started the thread that is open beside the conversation. */
  | { screen: "conversation"; id: ConversationId; thread?: MessageId }
  | { screen: "join"; token: string };

export const place = signal<Place>(placeOf(location.hash));

window.addEventListener("hashchange", () => (place.value = placeOf(location.hash)));

export function placeOf(hash: string): Place {
  const [, id, thread] = /^#\/c\/(\w+)(?:\/(\w+))?$/.exec(hash) ?? [];
  if (id !== undefined) {
    return { screen: "conversation", id, ...(thread === undefined ? {} : { thread }) };
  }
  const [, token] = /^#\/join\/([\w-]+)$/.exec(hash) ?? [];
  return token === undefined ? { screen: "list" } : { screen: "join", token };
}

export function go(to: Place): void {
  const hash = hashOf(to);
  if (hash !== location.hash) {
    location.hash = hash;
  }
  place.value = to;
}

/** The link for an invite token. */
export function inviteLink(token: string): string {
  return `${location.origin}/#/join/${token}`;
}

/** The token in a pasted invite link. Also accepts a bare token. */
export function inviteTokenOf(text: string): string | undefined {
  return /^(?:.*#\/join\/)?([\w-]+)$/.exec(text.trim())?.[1];
}

function hashOf(to: Place): string {
  switch (to.screen) {
    case "list":
      return "#/";
    case "conversation":
      return to.thread === undefined ? `#/c/${to.id}` : `#/c/${to.id}/${to.thread}`;
    case "join":
      return `#/join/${to.token}`;
  }
}
