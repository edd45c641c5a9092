/** One message. */

import type { ApiError, Conversation, Message } from "@godwit/sdk";

import { clock, full } from "../../i18n/format.js";
import { t } from "../../i18n/index.js";
import { react } from "../../model/actions.js";
import type { Progress } from "../../model/status.js";
import { explained } from "../../model/tasks.js";
import { hueOf } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";
import { Icon, IconButton } from "../icon.js";
import { Marks } from "../marks.js";
import { showMenu } from "../menu.js";
import { nameOf } from "../names.js";
import { messageMenu, onMessageKey } from "./message_menu.js";
import { Reactions } from "./reactions.js";
import { jump } from "./state.js";
import { MessageText } from "./text.js";

interface MessageRowProps {
  rowKey: string;
  message: Message;
  isPending: boolean;
  refusal: ApiError | undefined;
  first: boolean;
  last: boolean;
  flashed: boolean;
  reachable: boolean;
  kind: Conversation["kind"];
  progress: Progress;
  pinned: boolean;
}

export function MessageRow(props: MessageRowProps) {
  const session = useSession();
  const { message, first, last, isPending } = props;
  const mine = message.sender_id === session.account.id;
  const inGroup = props.kind !== "direct" && !mine;
  const name = nameOf(session, message.sender_id);
  const context = { session, message, pinned: props.pinned, isPending };
  const open = (event: Event) =>
    showMenu(
      event,
      t("message.menu"),
      messageMenu(context),
      isPending || message.deleted_at ? undefined : (reaction) => void react(session, message, reaction),
    );
  const classes = [
    "message",
    mine ? "mine" : "theirs",
    first && "first",
    last && "last",
    props.flashed && "flashed",
  ];

  return (
    <li
      class={classes.filter(Boolean).join(" ")}
      data-key={props.rowKey}
      data-seq={isPending ? undefined : message.seq}
      data-progress={mine ? props.progress : undefined}
      tabIndex={props.reachable ? 0 : -1}
      onContextMenu={(event) => !(event.target instanceof HTMLAnchorElement) && open(event)}
      onKeyDown={(event) => onMessageKey(context, event, open)}
    >
      {inGroup && (
        <span class="message-avatar">
          {last && <Avatar id={message.sender_id} name={name} size="small" />}
        </span>
      )}
      <div class="bubble">
        {inGroup && first && <bdi class={`message-sender hue-text-${hueOf(message.sender_id)}`}>{name}</bdi>}
        {!inGroup && <span class="for-screen-readers">{mine ? t("you") : name}</span>}
        {message.forwarded_from && <Forwarded senderId={message.forwarded_from.sender_id} />}
        {message.quote && <Quote message={message} />}
        <MessageText message={message} />
        <Meta message={message} mine={mine} progress={props.progress} />
        {!message.deleted_at && <Reactions message={message} />}
      </div>
      <span class="message-tools">
        <IconButton icon="more" label={t("message.menu")} onClick={open} />
      </span>
      {props.refusal && <Refused message={message} refusal={props.refusal} />}
    </li>
  );
}

function Meta({ message, mine, progress }: { message: Message; mine: boolean; progress: Progress }) {
  const session = useSession();
  return (
    <span class="message-meta">
      {session.starred.value.has(message.id) && <Icon name="star" />}
      {message.expires_at && <Icon name="clock" />}
      {message.edited_at && !message.deleted_at && (
        <button type="button" class="edited" onClick={() => showDialog({ type: "edits", message })}>
          {t("message.edited")}
        </button>
      )}
      <time dateTime={message.created_at} title={full(message.created_at)}>
        {clock(message.created_at)}
      </time>
      {mine && !message.deleted_at && <Marks progress={progress} />}
    </span>
  );
}

function Forwarded({ senderId }: { senderId: string }) {
  const session = useSession();
  return (
    <span class="forwarded">
      <Icon name="forward" />
      {t("message.forwarded", { name: nameOf(session, senderId) })}
    </span>
  );
}

/** The message that this one replies to; leads there. */
function Quote({ message }: { message: Message }) {
  const session = useSession();
  const { quote } = message;
  if (!quote) {
    return null;
  }
  return (
    <button
      type="button"
      class="quote"
      onClick={() => (jump.value = { conversationId: message.conversation_id, messageId: quote.message_id })}
    >
      <bdi class={`quote-name hue-text-${hueOf(quote.sender_id)}`}>{nameOf(session, quote.sender_id)}</bdi>
      <span class="quote-text" dir="auto">
        {quote.deleted
          ? t("message.deleted")
          : quote.preview === ""
            ? t(`kind.${quote.kind}`)
            : quote.preview}
      </span>
    </button>
  );
}

/** The server will not take the message; what now is for the user to say. */
function Refused({ message, refusal }: { message: Message; refusal: ApiError }) {
  const session = useSession();
  const name = { conversationId: message.conversation_id, clientId: message.id };
  return (
    <div class="refused" role="alert">
      <Icon name="alert" />
      <span>{t("message.refused", { why: explained(refusal) })}</span>
      <button type="button" class="link-button" onClick={() => void session.live.retry(name)}>
        {t("action.retry")}
      </button>
      <button
        type="button"
        class="link-button danger"
        onClick={() => {
          if (session.live.drop(name)) {
            session.outbox.remove(message.id);
          }
        }}
      >
        {t("action.delete")}
      </button>
    </div>
  );
}
