/** Why the server refused a message, with actions to retry, edit or drop it. */

import type { ApiError, Message, MessageId } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { explained } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { focusComposer } from "./state.js";

interface RefusedProps {
  message: Message;
  /** The thread that shows the message. */
  thread: MessageId | undefined;
  refusal: ApiError;
}

export function Refused({ message, thread, refusal }: RefusedProps) {
  const session = useSession();
  const { conversation_id: conversationId, id: clientId } = message;
  const name = { conversationId, clientId };
  const drop = () => {
    if (session.live.drop(name)) {
      session.outbox.remove(clientId);
    }
    focusComposer(thread ?? conversationId);
  };
  // Moves the text back into the field, before text that was written since.
  const edit = () => {
    const joined = (since: string) => [message.text ?? "", since].filter(Boolean).join("\n");
    if (thread === undefined) {
      const conversation = session.inbox.get(conversationId);
      const draft = conversation ? session.drafts.of(conversation) : { text: "" };
      session.drafts.change(conversationId, { ...draft, text: joined(draft.text) });
    } else {
      session.drafts.changeInThread(thread, joined(session.drafts.inThread(thread)));
    }
    drop();
  };
  return (
    <div class="refused" role="alert">
      <Icon name="alert" />
      <span>{t("message.refused", { why: explained(refusal) })}</span>
      <button type="button" class="link-button" onClick={() => void session.live.retry(name)}>
        {t("action.retry")}
      </button>
      <button type="button" class="link-button" onClick={edit}>
        {t("message.edit")}
      </button>
      <button type="button" class="link-button danger" onClick={drop}>
        {t("action.delete")}
      </button>
    </div>
  );
}
