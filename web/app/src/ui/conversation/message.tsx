/** One message. */

import type { ApiError, Conversation, Message, MessageId } from "@godwit/sdk";

import { clock, full } from "../../i18n/format.js";
import { plural, t } from "../../i18n/index.js";
import type { Progress } from "../../model/status.js";
import { hueOf, isolated } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";
import { Icon, IconButton } from "../icon.js";
import { Marks } from "../marks.js";
import { nameOf } from "../names.js";
import { mayReadEdits, onMessageKey, openMessageMenu } from "./message_menu.js";
import { Reactions } from "./reactions.js";
import { Refused } from "./refused.js";
import { jumpTo, openThread } from "./state.js";
import { MessageText } from "./text.js";

interface MessageRowProps {
  rowKey: string;
  message: Message;
  /** The thread that shows the message. */
  thread: MessageId | undefined;
  isPending: boolean;
  refusal: ApiError | undefined;
  first: boolean;
  last: boolean;
  flashed: boolean;
  kind: Conversation["kind"];
  progress: Progress;
  pinned: boolean;
  /** The tab index of the message and of the elements inside it. */
  tabIndex: number;
}

export function MessageRow(props: MessageRowProps) {
  const session = useSession();
  const { message, first, last, isPending, tabIndex } = props;
  const mine = message.sender_id === session.account.id;
  const inGroup = props.kind !== "direct" && !mine;
  const name = nameOf(session, message.sender_id);
  const context = { session, message, thread: props.thread, pinned: props.pinned, isPending };
  const open = (event: Event) => openMessageMenu(context, event);
  const quoted = message.quote && message.quote.message_id !== props.thread;
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
      data-id={message.id}
      data-seq={isPending ? undefined : message.seq}
      data-progress={mine ? props.progress : undefined}
      tabIndex={tabIndex}
      onContextMenu={(event) => !(event.target instanceof HTMLAnchorElement) && open(event)}
      onKeyDown={(event) => onMessageKey(context, event)}
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
        {quoted && <Quote message={message} tabIndex={tabIndex} />}
        <MessageText message={message} tabIndex={tabIndex} />
        <Meta message={message} mine={mine} progress={props.progress} tabIndex={tabIndex} />
        {!message.deleted_at && <Reactions message={message} tabIndex={tabIndex} />}
        {props.thread === undefined && <Replies message={message} tabIndex={tabIndex} />}
      </div>
      <span class="message-tools">
        <IconButton icon="more" label={t("message.menu")} tabIndex={tabIndex} onClick={open} />
      </span>
      {props.refusal && <Refused message={message} thread={props.thread} refusal={props.refusal} />}
    </li>
  );
}

/** Properties of the elements inside a message. */
interface InsideProps {
  message: Message;
  tabIndex: number;
}

interface MetaProps extends InsideProps {
  mine: boolean;
  progress: Progress;
}

function Meta({ message, mine, progress, tabIndex }: MetaProps) {
  const session = useSession();
  return (
    <span class="message-meta">
      {session.own.starred.value.has(message.id) && <Icon name="star" />}
      {message.expires_at && <Icon name="clock" />}
      {message.edited_at && !message.deleted_at && <Edited message={message} tabIndex={tabIndex} />}
      <time dateTime={message.created_at} title={full(message.created_at)}>
        {clock(message.created_at)}
      </time>
      {mine && !message.deleted_at && <Marks progress={progress} />}
    </span>
  );
}

/** Links to the earlier versions, if the user may see them. */
function Edited({ message, tabIndex }: InsideProps) {
  const session = useSession();
  if (!mayReadEdits(session, message)) {
    return <span>{t("message.edited")}</span>;
  }
  return (
    <button
      type="button"
      class="edited"
      tabIndex={tabIndex}
      onClick={() => showDialog({ type: "edits", message })}
    >
      {t("message.edited")}
    </button>
  );
}

function Forwarded({ senderId }: { senderId: string }) {
  const session = useSession();
  return (
    <span class="forwarded">
      <Icon name="forward" />
      <span>{t("message.forwarded", { name: isolated(nameOf(session, senderId)) })}</span>
    </span>
  );
}

/** The message that this one replies to, as a link. */
function Quote({ message, tabIndex }: InsideProps) {
  const session = useSession();
  const { quote } = message;
  if (!quote) {
    return null;
  }
  return (
    <button
      type="button"
      class="quote"
      tabIndex={tabIndex}
      onClick={() => jumpTo(message.conversation_id, quote.message_id)}
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

/** Links to the thread that the message started. */
function Replies({ message, tabIndex }: InsideProps) {
  const count = message.replies ?? 0;
  if (count === 0) {
    return null;
  }
  return (
    <button type="button" class="replies" tabIndex={tabIndex} onClick={() => openThread(message)}>
      <Icon name="thread" />
      {plural("thread.count", count)}
    </button>
  );
}
