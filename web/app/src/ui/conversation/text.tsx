import type { Message } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { isOnlyEmoji, segmentsOf } from "../../text/index.js";
import { openDirect } from "../../model/actions.js";
import { useSession } from "../context.js";

interface MessageTextProps {
  message: Message;
  /** The tab index of links and mentions. */
  tabIndex: number;
}

/** Renders a text as plain text. Only links and mentions become elements. */
export function MessageText({ message, tabIndex }: MessageTextProps) {
  if (message.deleted_at) {
    return <p class="message-text message-deleted">{t("message.deleted")}</p>;
  }
  const text = message.text ?? "";
  if (text === "") {
    return message.kind === "text" ? null : <p class="message-text">{t(`kind.${message.kind}`)}</p>;
  }
  return (
    <p class={`message-text ${isOnlyEmoji(text) ? "message-emoji" : ""}`} dir="auto">
      {segmentsOf(text).map((segment, index) => {
        switch (segment.type) {
          case "text":
            return segment.text;
          case "link":
            return (
              <a
                key={index}
                // Keeps the link in one piece in right-to-left texts.
                dir="ltr"
                href={segment.href}
                target="_blank"
                rel="noopener noreferrer nofollow"
                tabIndex={tabIndex}
              >
                {segment.text}
              </a>
            );
          case "mention":
            return <Mention key={index} text={segment.text} handle={segment.handle} tabIndex={tabIndex} />;
        }
      })}
    </p>
  );
}

/** A mention. If the user is known, it links to them. */
function Mention({ text, handle, tabIndex }: { text: string; handle: string; tabIndex: number }) {
  const session = useSession();
  const user = session.people.byHandle(handle);
  const own = handle === session.own.me.value.handle || handle === "all";
  if (!user || own) {
    return user || own ? (
      <strong class="mention mention-own" dir="ltr">
        {text}
      </strong>
    ) : (
      text
    );
  }
  return (
    <button
      type="button"
      class="mention"
      dir="ltr"
      tabIndex={tabIndex}
      onClick={() => void openDirect(session, user.id)}
    >
      {text}
    </button>
  );
}
