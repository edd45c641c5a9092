import type { User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { useSession } from "../context.js";
import { IconButton } from "../icon.js";
import { usePeopleSearch } from "../people_search.js";
import { SearchField } from "../search_field.js";
import { Line } from "./line.js";

interface PickPeopleProps {
  chosen: readonly User[];
  onChange: (chosen: readonly User[]) => void;
}

/** Selects people by name. Offers the peers of direct conversations first. */
export function PickPeople({ chosen, onChange }: PickPeopleProps) {
  const session = useSession();
  const query = useSignal("");
  const found = usePeopleSearch(query.value);
  const familiar = session.inbox.sorted.value.flatMap((conversation) => conversation.peer ?? []);
  const searching = query.value.trim() !== "";
  const offered = (searching ? (found ?? []) : familiar).filter((user) => user.id !== session.account.id);
  const has = (user: User) => chosen.some((one) => one.id === user.id);
  const toggle = (user: User) =>
    onChange(has(user) ? chosen.filter((one) => one.id !== user.id) : [...chosen, user]);

  return (
    <>
      <div class="chips">
        {chosen.map((user) => (
          <span class="chip" key={user.id}>
            <bdi>{user.display_name}</bdi>
            <IconButton
              icon="close"
              label={t("people.remove", { name: user.display_name })}
              onClick={() => toggle(user)}
            />
          </span>
        ))}
      </div>
      <SearchField label="people.search" value={query.value} onChange={(next) => (query.value = next)} />
      <ul class="lines">
        {offered.map((user) => (
          <Line
            key={user.id}
            id={user.id}
            name={user.display_name}
            detail={`@${user.handle}`}
            chosen={has(user)}
            onSelect={() => toggle(user)}
          />
        ))}
      </ul>
      {offered.length === 0 && (!searching || found) && (
        <p class="quiet-text" role="status">
          {searching ? t("search.nothing") : t("people.hint")}
        </p>
      )}
    </>
  );
}
