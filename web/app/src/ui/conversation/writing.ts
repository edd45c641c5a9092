/** The state of a composer: a new message, a reply, or an edit. */

import { type Conversation, type Message, type SendMessage, textMessage } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { send } from "../../model/actions.js";
import type { Session } from "../../model/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { compose, type Composing, composingIn, setComposing, type WritingPlace } from "./state.js";

export interface Writing {
  where: WritingPlace;
  text: string;
  edit: Message | undefined;
  reply: Message | undefined;
  change: (text: string) => void;
  /** Cancels the reply or the edit. */
  stop: () => void;
  submit: () => Promise<void>;
  /** The message to send. */
  message: () => SendMessage;
  /** Clears the field after the message was, for example, scheduled. */
  clear: () => void;
}

/** @param root the root of the thread, if the composer belongs to one */
export function useWriting(conversation: Conversation, root: Message | undefined): Writing {
  const session = useSession();
  const { id } = conversation;
  const where = root?.id ?? id;
  const composing = composingIn(where);
  const { edit, reply } = composing;
  /** The changed text during an edit. */
  const edited = useSignal<{ of: Composing; text: string } | undefined>(undefined);
  const draft = root ? { text: session.drafts.inThread(root.id) } : session.drafts.of(conversation);
  const editedText = edited.value?.of === composing ? edited.value.text : (edit?.text ?? "");
  const text = edit ? editedText : draft.text;

  useReplyOfDraft(session, conversation, root);

  const stop = () => compose(where, {});
  const keep = (next: string, replyTo?: string) => {
    if (root) {
      session.drafts.changeInThread(root.id, next);
    } else {
      session.drafts.change(id, { text: next, ...(replyTo === undefined ? {} : { replyTo }) });
    }
  };
  const change = (next: string) => {
    if (edit) {
      edited.value = { of: composing, text: next };
    } else {
      keep(next, reply?.id);
      session.live.typing(id, next !== "");
    }
  };
  const clear = () => {
    keep("");
    session.live.typing(id, false);
    stop();
  };
  const message = () => {
    const replyTo = reply?.id ?? root?.id;
    return textMessage(text.trim(), replyTo === undefined ? {} : { replyTo });
  };

  const saveEdit = async (of: Message) => {
    const saved =
      text.trim() === of.text ? { value: of } : await attempt(session.http.messages.edit(of.id, text.trim()));
    // A refused edit stays in the field.
    if (saved) {
      session.histories.update(saved.value);
      if (composingIn(where).edit?.id === of.id) {
        stop();
      }
    }
  };
  const submit = async () => {
    if (text.trim() === "") {
      return;
    }
    if (edit) {
      await saveEdit(edit);
      return;
    }
    const sent = message();
    clear();
    if (!(await send(session, id, sent))) {
      keep(text, reply?.id);
    }
  };

  return { where, text, edit, reply, change, stop, submit, message, clear };
}

/** Restores the reply of a draft from another device or from before a reload. */
function useReplyOfDraft(session: Session, conversation: Conversation, root: Message | undefined): void {
  const { id } = conversation;
  useEffect(() => {
    const replyTo = root ? undefined : session.drafts.of(conversation).replyTo;
    if (replyTo !== undefined && !composingIn(id).reply) {
      session.http.messages
        .get(replyTo)
        .then((message) => setComposing(id, { reply: message }))
        .catch(() => undefined);
    }
  }, [id]);
}
