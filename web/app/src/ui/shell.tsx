/** The list and the conversation side by side, or one at a time on phones. */

import { useEffect } from "preact/hooks";

import { plural, t } from "../i18n/index.js";
import { go, place } from "../model/place.js";
import { useSession } from "./context.js";
import { ConversationPane } from "./conversation/pane.js";
import { Dialogs } from "./dialogs/index.js";
import { closeDialog, dialog } from "./dialogs/state.js";
import { ListPane } from "./list/pane.js";
import { Menu } from "./menu.js";
import { onShortcut } from "./shortcuts.js";

export function Shell() {
  const session = useSession();
  const here = place.value;
  const conversation = here.screen === "conversation" ? session.inbox.watch(here.id) : undefined;

  const thread = conversation && here.screen === "conversation" ? here.thread : undefined;

  useEffect(() => {
    const listener = (event: KeyboardEvent) => onShortcut(session, event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, [session]);

  // An open dialog belongs to the active account.
  useEffect(() => closeDialog, []);

  return (
    <div
      class={`shell ${here.screen === "conversation" ? "shell-open" : ""} ${thread === undefined ? "" : "shell-thread"}`}
    >
      <ListPane />
      {conversation ? (
        <ConversationPane key={conversation.id} conversation={conversation} thread={thread} />
      ) : (
        <main class="empty-pane">
          <img src="/icon.svg" alt="" width="88" height="88" />
          <p>{here.screen === "conversation" ? t("conversation.not_there") : t("conversation.choose")}</p>
          {here.screen === "conversation" && (
            <button type="button" class="button" onClick={() => go({ screen: "list" })}>
              {t("action.back")}
            </button>
          )}
        </main>
      )}
      <Dialogs />
      {!dialog.value && <Menu />}
      <p class="for-screen-readers" role="status">
        {session.inbox.unreadTotal.value > 0 && plural("list.unread", session.inbox.unreadTotal.value)}
      </p>
    </div>
  );
}
