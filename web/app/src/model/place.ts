/** Which screen is shown. It is kept in the address, so that going back, reloading and links work. */

import type { ConversationId, MessageId } from "@godwit/sdk";
import { signal } from "@preact/signals";

export type Place =
  | { screen: "list" }
  /** `thread` is the message that began the thread that is open beside the conversation. */
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

/** What somebody opens in order to join. */
export function inviteLink(token: string): string {
  return `${location.origin}/#/join/${token}`;
}

/** The token in a link that somebody pasted; a bare token is taken as it is. */
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
