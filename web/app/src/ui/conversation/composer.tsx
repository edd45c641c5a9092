/** Where messages are written. Enter sends, Shift and Enter break the line. */

import { type Conversation, type Message, textMessage, type User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../../i18n/index.js";
import { send } from "../../model/actions.js";
import { attempt } from "../../model/tasks.js";
import { completedMention, type MentionQuery, mentionAt, onOneLine } from "../../text/index.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";
import { Icon, IconButton } from "../icon.js";
import { nameOf } from "../names.js";
import { BlockedNote } from "./blocked_note.js";
import { EmojiPicker } from "./emoji_picker.js";
import { MentionList, useMentionCandidates } from "./mention_list.js";
import { compose, COMPOSER_ID, composingIn } from "./state.js";

/** A field as high as this scrolls. */
const HEIGHT_PX_MAX = 200;

export function Composer({ conversation }: { conversation: Conversation }) {
  const session = useSession();
  const { id } = conversation;
  const field = useRef<HTMLTextAreaElement>(null);
  const { edit, reply } = composingIn(id);
  const draft = session.drafts.of(conversation);
  const edited = useSignal("");
  const picking = useSignal(false);
  const mention = useSignal<MentionQuery | undefined>(undefined);
  const chosen = useSignal(0);
  const candidates = useMentionCandidates(conversation, mention.value);
  const text = edit ? edited.value : draft.text;
  const mayWrite =
    conversation.kind === "direct" ||
    conversation.me.role !== "member" ||
    conversation.permissions?.members_may_send !== false;

  const change = (next: string) => {
    if (edit) {
      edited.value = next;
    } else {
      session.drafts.change(id, { text: next, ...(reply ? { replyTo: reply.id } : {}) });
      session.live.typing(id, next !== "");
    }
  };

  useEffect(() => {
    edited.value = edit?.text ?? "";
  }, [edit]);

  // A draft from another device, or from before a reload, may be a reply.
  useEffect(() => {
    const { replyTo } = draft;
    if (replyTo !== undefined && !composingIn(id).reply) {
      session.http.messages
        .get(replyTo)
        .then((message) => compose(id, { reply: message }))
        .catch(() => undefined);
    }
  }, [id]);

  useLayoutEffect(() => {
    const element = field.current;
    if (element) {
      element.style.height = "auto";
      element.style.height = `${Math.min(element.scrollHeight, HEIGHT_PX_MAX)}px`;
    }
  }, [text]);

  // Where there is a real keyboard one can begin to write at once.
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) {
      field.current?.focus();
    }
  }, [id]);

  const stop = () => compose(id, {});

  const submit = async () => {
    const body = text.trim();
    if (body === "") {
      return;
    }
    if (edit) {
      stop();
      const changed =
        body === edit.text ? undefined : await attempt(session.http.messages.edit(edit.id, body));
      if (changed) {
        session.timeline(id).update(changed.value);
      }
      return;
    }
    session.drafts.change(id, { text: "" });
    session.live.typing(id, false);
    stop();
    const sent = await send(session, id, textMessage(body, reply ? { replyTo: reply.id } : {}));
    if (!sent) {
      session.drafts.change(id, { text: body });
    }
  };

  const insert = (piece: string) => {
    const element = field.current;
    const [start, end] = [element?.selectionStart ?? text.length, element?.selectionEnd ?? text.length];
    change(text.slice(0, start) + piece + text.slice(end));
    requestAnimationFrame(() => {
      element?.focus();
      element?.setSelectionRange(start + piece.length, start + piece.length);
    });
  };

  const complete = (user: User) => {
    if (mention.value) {
      const done = completedMention(text, mention.value, user.handle);
      change(done.text);
      mention.value = undefined;
      requestAnimationFrame(() => field.current?.setSelectionRange(done.caret, done.caret));
    }
  };

  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) {
      return;
    }
    const candidate = candidates[chosen.value % Math.max(1, candidates.length)];
    if (mention.value && candidate) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        chosen.value =
          (chosen.value + (event.key === "ArrowDown" ? 1 : candidates.length - 1)) % candidates.length;
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        complete(candidate);
        return;
      }
    }
    if (event.key === "Escape") {
      mention.value = undefined;
      picking.value = false;
      stop();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void submit();
    } else if (event.key === "ArrowUp" && text === "" && !event.altKey) {
      const own = session.timeline(id).messages.value.findLast(isEditable(session.account.id));
      if (own) {
        event.preventDefault();
        compose(id, { edit: own });
      }
    }
  };

  const look = (element: HTMLTextAreaElement) => {
    mention.value = mentionAt(element.value, element.selectionStart);
    chosen.value = 0;
  };

  if (conversation.peer && session.blocks.has(conversation.peer.id)) {
    return <BlockedNote userId={conversation.peer.id} />;
  }
  if (!mayWrite) {
    return <footer class="composer composer-closed">{t("composer.closed")}</footer>;
  }
  const about = edit ?? reply;
  return (
    <footer class="composer">
      {mention.value && candidates.length > 0 && (
        <MentionList users={candidates} chosen={chosen.value % candidates.length} onChoose={complete} />
      )}
      {picking.value && <EmojiPicker onPick={insert} onClose={() => (picking.value = false)} />}
      {about && (
        <div class="composer-about">
          <Icon name={edit ? "edit" : "reply"} />
          <span class="composer-about-text">
            <bdi>
              {edit
                ? t("composer.editing")
                : t("composer.replying", { name: nameOf(session, about.sender_id) })}
            </bdi>
            <span dir="auto">{onOneLine(about.text ?? "")}</span>
          </span>
          <IconButton icon="close" label={t("action.cancel")} onClick={stop} />
        </div>
      )}
      <div class="composer-row">
        <IconButton
          icon="emoji"
          label={t("composer.emoji")}
          expanded={picking.value}
          onClick={() => (picking.value = !picking.value)}
        />
        <textarea
          id={COMPOSER_ID}
          ref={field}
          rows={1}
          dir="auto"
          placeholder={t("composer.placeholder")}
          aria-label={t("composer.placeholder")}
          value={text}
          onInput={(event) => {
            change(event.currentTarget.value);
            look(event.currentTarget);
          }}
          onClick={(event) => look(event.currentTarget)}
          onKeyDown={onKey}
        />
        {!edit && text.trim() !== "" && (
          <IconButton
            icon="clock"
            label={t("composer.schedule")}
            onClick={() =>
              showDialog({
                type: "schedule",
                conversation,
                message: textMessage(text.trim(), reply ? { replyTo: reply.id } : {}),
                onDone: () => {
                  session.drafts.change(id, { text: "" });
                  stop();
                },
              })
            }
          />
        )}
        <IconButton
          icon={edit ? "check" : "send"}
          label={edit ? t("action.save") : t("composer.send")}
          class="send-button"
          disabled={text.trim() === ""}
          onClick={() => void submit()}
        />
      </div>
    </footer>
  );
}

function isEditable(me: string): (message: Message) => boolean {
  return (message) => message.sender_id === me && message.kind === "text" && !message.deleted_at;
}
