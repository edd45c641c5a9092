/** The composer. Enter sends, Shift+Enter inserts a line break. */

import type { Conversation, Message, User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../../i18n/index.js";
import { maySend } from "../../model/inbox.js";
import { completedMention, type MentionQuery, mentionAt } from "../../text/index.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";
import { Icon, IconButton } from "../icon.js";
import { lineOf, nameOf } from "../names.js";
import { BlockedNote } from "./blocked_note.js";
import { EmojiPicker } from "./emoji_picker.js";
import { MentionList, optionId, useMentionCandidates } from "./mention_list.js";
import { compose, composerId } from "./state.js";
import { useWriting, type Writing } from "./writing.js";

/** The maximum height of the field. A longer text scrolls. */
const HEIGHT_PX_MAX = 200;

interface ComposerProps {
  conversation: Conversation;
  /** The root of the thread, if the composer belongs to one. */
  root?: Message;
  /** The messages above the composer, for the key that edits the last one. */
  said: () => readonly Message[];
}

export function Composer(props: ComposerProps) {
  const session = useSession();
  const { peer } = props.conversation;
  if (peer && session.blocks.has(peer.id)) {
    return <BlockedNote userId={peer.id} />;
  }
  return maySend(props.conversation) ? (
    <OpenComposer {...props} />
  ) : (
    <footer class="composer composer-closed">{t("composer.closed")}</footer>
  );
}

function OpenComposer({ conversation, root, said }: ComposerProps) {
  const session = useSession();
  const field = useRef<HTMLTextAreaElement>(null);
  const writing = useWriting(conversation, root);
  const { text, edit, where, change } = writing;
  const picking = useSignal(false);
  const mention = useSignal<MentionQuery | undefined>(undefined);
  const chosen = useSignal(0);
  const candidates = useMentionCandidates(conversation, mention.value);
  const offered = mention.value ? candidates : [];
  const candidate = offered[chosen.value % Math.max(1, offered.length)];
  const label = root ? t("thread.placeholder") : t("composer.placeholder");

  useLayoutEffect(() => {
    const element = field.current;
    if (element) {
      element.style.height = "auto";
      element.style.height = `${Math.min(element.scrollHeight, HEIGHT_PX_MAX)}px`;
    }
  }, [text]);

  // Focuses the field, except on touch devices, where the on-screen keyboard would open.
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) {
      field.current?.focus();
    }
  }, [where]);

  const insert = (piece: string) => {
    const element = field.current;
    const [start, end] = [element?.selectionStart ?? text.length, element?.selectionEnd ?? text.length];
    change(text.slice(0, start) + piece + text.slice(end));
    putCaret(element, start + piece.length);
  };
  const complete = (user: User) => {
    if (mention.value) {
      const done = completedMention(text, mention.value, user.handle);
      change(done.text);
      mention.value = undefined;
      putCaret(field.current, done.caret);
    }
  };
  const look = (element: HTMLTextAreaElement) => {
    mention.value = mentionAt(element.value, element.selectionStart);
    chosen.value = 0;
  };

  /** Returns whether the list of mentions handled the key. */
  const onMentionKey = ({ key }: KeyboardEvent): boolean => {
    if (!candidate) {
      return false;
    }
    if (key === "ArrowDown" || key === "ArrowUp") {
      chosen.value = (chosen.value + (key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length;
    } else if (key === "Enter" || key === "Tab") {
      complete(candidate);
    } else if (key === "Escape") {
      mention.value = undefined;
    } else {
      return false;
    }
    return true;
  };
  /** Returns whether there was something to cancel. */
  const onEscape = (): boolean => {
    const open = picking.value || edit !== undefined || writing.reply !== undefined;
    if (picking.value) {
      picking.value = false;
    } else if (open) {
      writing.stop();
    }
    return open;
  };
  const editLast = (): boolean => {
    const own = said().findLast(isEditable(session.account.id));
    if (own) {
      compose(where, { edit: own });
    }
    return own !== undefined;
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) {
      return;
    }
    let taken = onMentionKey(event);
    if (!taken && event.key === "Escape") {
      taken = onEscape();
    } else if (!taken && event.key === "Enter" && !event.shiftKey) {
      taken = true;
      void writing.submit();
    } else if (!taken && event.key === "ArrowUp" && text === "" && !event.altKey) {
      taken = editLast();
    }
    if (taken) {
      event.preventDefault();
      event.stopPropagation();
    }
  };

  return (
    <footer class="composer">
      {candidate && <MentionList users={offered} chosen={candidate} onChoose={complete} />}
      {picking.value && (
        <EmojiPicker
          onPick={insert}
          onClose={() => {
            picking.value = false;
            field.current?.focus();
          }}
        />
      )}
      <About writing={writing} />
      <div class="composer-row">
        <IconButton
          icon="emoji"
          label={t("composer.emoji")}
          expanded={picking.value}
          onClick={() => (picking.value = !picking.value)}
        />
        <textarea
          id={composerId(where)}
          ref={field}
          rows={1}
          dir="auto"
          placeholder={label}
          aria-label={label}
          aria-autocomplete="list"
          aria-activedescendant={candidate && optionId(candidate)}
          value={text}
          onInput={(event) => {
            change(event.currentTarget.value);
            look(event.currentTarget);
          }}
          onClick={(event) => look(event.currentTarget)}
          onBlur={() => (mention.value = undefined)}
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
                message: writing.message(),
                onDone: writing.clear,
              })
            }
          />
        )}
        <IconButton
          icon={edit ? "check" : "send"}
          label={edit ? t("action.save") : t("composer.send")}
          class="send-button"
          disabled={text.trim() === ""}
          onClick={() => void writing.submit()}
        />
      </div>
    </footer>
  );
}

/** The message that is being replied to or edited. */
function About({ writing: { edit, reply, stop } }: { writing: Writing }) {
  const session = useSession();
  const about = edit ?? reply;
  if (!about) {
    return null;
  }
  return (
    <div class="composer-about">
      <Icon name={edit ? "edit" : "reply"} />
      <span class="composer-about-text">
        <bdi>
          {edit ? t("composer.editing") : t("composer.replying", { name: nameOf(session, about.sender_id) })}
        </bdi>
        <span dir="auto">{lineOf(about)}</span>
      </span>
      <IconButton icon="close" label={t("action.cancel")} onClick={stop} />
    </div>
  );
}

/** Sets the caret after the field has rendered its new text. */
function putCaret(field: HTMLTextAreaElement | null, at: number): void {
  requestAnimationFrame(() => {
    field?.focus();
    field?.setSelectionRange(at, at);
  });
}

function isEditable(me: string): (message: Message) => boolean {
  return (message) => message.sender_id === me && message.kind === "text" && !message.deleted_at;
}
