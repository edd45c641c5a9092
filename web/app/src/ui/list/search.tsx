/** Conversations and people that match a query. */

import type { Conversation } from "@godwit/sdk";

import { t } from "../../i18n/index.js";
import { openDirect } from "../../model/actions.js";
import { go } from "../../model/place.js";
import { titleOf } from "../../model/session.js";
import { matchesSearch } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { usePeopleSearch } from "../people_search.js";
import { onListKey } from "./keys.js";

const CONVERSATIONS_MAX = 20;

interface SearchResultsProps {
  query: string;
  onDone: () => void;
}

export function SearchResults({ query, onDone }: SearchResultsProps) {
  const session = useSession();
  const conversations = session.inbox.sorted.value
    .filter((conversation) => matches(conversation, query))
    .slice(0, CONVERSATIONS_MAX);
  const known = new Set(conversations.flatMap((conversation) => conversation.peer?.id ?? []));
  const found = usePeopleSearch(query);
  const people = (found ?? []).filter((user) => !known.has(user.id) && user.id !== session.account.id);

  return (
    <div class="list-scroller search-results" onKeyDown={onListKey}>
      {conversations.length > 0 && <h2>{t("search.conversations")}</h2>}
      <ul>
        {conversations.map((conversation) => (
          <li key={conversation.id}>
            <button
              type="button"
              class="row"
              onClick={() => {
                go({ screen: "conversation", id: conversation.id });
                onDone();
              }}
            >
              <Avatar
                id={conversation.peer?.id ?? conversation.id}
                name={titleOf(conversation)}
                group={conversation.kind !== "direct"}
              />
              <span class="row-name">
                <bdi>{titleOf(conversation)}</bdi>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {people.length > 0 && <h2>{t("search.people")}</h2>}
      <ul>
        {people.map((user) => (
          <li key={user.id}>
            <button
              type="button"
              class="row"
              onClick={() => {
                void openDirect(session, user.id);
                onDone();
              }}
            >
              <Avatar id={user.id} name={user.display_name} />
              <span class="row-main">
                <span class="row-name">
                  <bdi>{user.display_name}</bdi>
                </span>
                <span class="row-preview">@{user.handle}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found && conversations.length + people.length === 0 && (
        <p class="list-empty" role="status">
          {t("search.nothing")}
        </p>
      )}
    </div>
  );
}

function matches(conversation: Conversation, query: string): boolean {
  return matchesSearch(titleOf(conversation), query) || matchesSearch(conversation.peer?.handle ?? "", query);
}
