import type { Message } from "@godwit/sdk";

import { plural } from "../../i18n/index.js";
import { react } from "../../model/actions.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";

/** The counts of the reactions. A click adds or removes the user's own; the other button shows who reacted. */
export function Reactions({ message, tabIndex }: { message: Message; tabIndex: number }) {
  const session = useSession();
  if (!message.reactions || message.reactions.length === 0) {
    return null;
  }
  return (
    <span class="reactions">
      {message.reactions.map(({ reaction, count }) => (
        <button
          key={reaction}
          type="button"
          tabIndex={tabIndex}
          class={`reaction ${message.my_reaction === reaction ? "reaction-own" : ""}`}
          aria-pressed={message.my_reaction === reaction}
          aria-label={plural("message.reaction", count, { reaction })}
          onClick={() => void react(session, message, reaction)}
          onContextMenu={(event) => {
            event.preventDefault();
            event.stopPropagation();
            showDialog({ type: "reactions", message });
          }}
        >
          <span>{reaction}</span>
          {count > 1 && <span class="reaction-count">{count}</span>}
        </button>
      ))}
    </span>
  );
}
