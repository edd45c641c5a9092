/** Global keyboard shortcuts. The composer and messages handle their own keys. */

import { go, place } from "../model/place.js";
import type { Session } from "../model/index.js";
import { dialog, showDialog } from "./dialogs/state.js";

export const SEARCH_FIELD_ID = "search-conversations";

export function onShortcut(session: Session, event: KeyboardEvent): void {
  if (dialog.value) {
    return;
  }
  const control = event.ctrlKey || event.metaKey;
  if (control && event.key.toLowerCase() === "k") {
    event.preventDefault();
    document.getElementById(SEARCH_FIELD_ID)?.focus();
  } else if (control && event.key === "/") {
    event.preventDefault();
    showDialog({ type: "shortcuts" });
  } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    goToNeighbour(session, event.key === "ArrowDown" ? 1 : -1);
  }
}

/** Opens the conversation above or below the current one. */
function goToNeighbour(session: Session, step: number): void {
  const list = session.inbox.sorted.value.filter((conversation) => !conversation.me.archived);
  const here = place.value;
  const index = here.screen === "conversation" ? list.findIndex(({ id }) => id === here.id) : -1;
  const next = list[index + step];
  if (next) {
    go({ screen: "conversation", id: next.id });
  }
}
