import type { Conversation, User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { t } from "../../i18n/index.js";
import type { MentionQuery } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";

const CANDIDATES_MAX = 6;

/** Members who match the mention that is being typed. */
export function useMentionCandidates(
  conversation: Conversation,
  mention: MentionQuery | undefined,
): readonly User[] {
  const session = useSession();
  const found = useSignal<readonly User[]>([]);
  const query = mention?.query;
  useEffect(() => {
    if (query === undefined) {
      found.value = [];
      return;
    }
    const given = new AbortController();
    const asked = { limit: CANDIDATES_MAX + 1, ...(query === "" ? {} : { query }) };
    session.http.groups
      .members(conversation.id, asked, { signal: given.signal })
      .then(({ members }) => {
        session.people.learn(...members);
        found.value = members.filter((member) => member.id !== session.account.id).slice(0, CANDIDATES_MAX);
      })
      // Aborted by further typing, or no connection. The user can also type the whole mention.
      .catch(() => undefined);
    return () => given.abort();
  }, [query, conversation.id]);
  return found.value;
}

interface MentionListProps {
  users: readonly User[];
  chosen: User;
  onChoose: (user: User) => void;
}

export function optionId(user: User): string {
  return `mention-${user.id}`;
}

export function MentionList({ users, chosen, onChoose }: MentionListProps) {
  return (
    <ul class="mention-list" role="listbox" aria-label={t("composer.mention")}>
      {users.map((user) => (
        <li
          key={user.id}
          id={optionId(user)}
          role="option"
          aria-selected={user === chosen}
          // Keeps the focus in the field.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(user);
          }}
        >
          <Avatar id={user.id} name={user.display_name} size="small" />
          <bdi>{user.display_name}</bdi>
          <span class="quiet-text">@{user.handle}</span>
        </li>
      ))}
    </ul>
  );
}
