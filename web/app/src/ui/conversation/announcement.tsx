import type { Conversation } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { t } from "../../i18n/index.js";
import { useSession } from "../context.js";
import { nameOf } from "../names.js";

/** Announces new messages from others to screen readers: their beginning, and only while the conversation is open. */
export function Announcement({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const heard = useRef(conversation.head);
  const words = useSignal("");
  const last = conversation.last_message;
  useEffect(() => {
    if (!last || last.seq <= heard.current) {
      return;
    }
    heard.current = last.seq;
    if (last.kind !== "system" && last.sender_id !== session.account.id) {
      const text = last.preview === "" ? t(`kind.${last.kind}`) : last.preview;
      words.value = `${nameOf(session, last.sender_id)}: ${text}`;
    }
  }, [last?.seq]);
  return (
    <p class="for-screen-readers" aria-live="polite">
      {words.value}
    </p>
  );
}
