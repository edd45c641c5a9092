import type { Conversation } from "@godwit/sdk";
import type { ComponentChildren } from "preact";

import { titleOf } from "../../model/session.js";
import { Avatar } from "../avatar.js";
import { Icon } from "../icon.js";

interface LineProps {
  /** The id that determines the colour of the avatar. */
  id: string;
  name: string;
  group?: boolean;
  detail?: string | undefined;
  /** Makes the whole line a button. Without it, the children contain the actions. */
  onSelect?: () => void;
  chosen?: boolean;
  children?: ComponentChildren;
}

/** One line of a list: an avatar, a name, details and actions. */
export function Line({ id, name, group, detail, onSelect, chosen, children }: LineProps) {
  const words = (
    <>
      <Avatar id={id} name={name} group={group === true} size="small" />
      <span class="line-main">
        <bdi>{name}</bdi>
        {detail !== undefined && <span class="quiet-text">{detail}</span>}
      </span>
    </>
  );
  if (!onSelect) {
    return (
      <li class="line">
        {words}
        {children}
      </li>
    );
  }
  return (
    <li>
      <button type="button" class="line line-button" aria-pressed={chosen} onClick={onSelect}>
        {words}
        {chosen && <Icon name="check" />}
      </button>
    </li>
  );
}

interface ConversationLineProps {
  conversation: Conversation;
  onSelect: () => void;
}

export function ConversationLine({ conversation, onSelect }: ConversationLineProps) {
  return (
    <Line
      id={conversation.peer?.id ?? conversation.id}
      name={titleOf(conversation)}
      group={conversation.kind !== "direct"}
      onSelect={onSelect}
    />
  );
}
