import type { User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { Icon, IconButton } from "../icon.js";
import { usePeopleSearch } from "../people_search.js";

interface PickPeopleProps {
  chosen: readonly User[];
  onChange: (chosen: readonly User[]) => void;
}

/** Finding people by name, and choosing some. Those one talks to already are offered first. */
export function PickPeople({ chosen, onChange }: PickPeopleProps) {
  const session = useSession();
  const query = useSignal("");
  const found = usePeopleSearch(query.value);
  const familiar = session.inbox.sorted.value.flatMap((conversation) => conversation.peer ?? []);
  const offered = (query.value.trim() === "" ? familiar : found).filter(
    (user) => user.id !== session.account.id,
  );
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
      <div class="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder={t("people.search")}
          aria-label={t("people.search")}
          value={query.value}
          maxLength={64}
          onInput={(event) => (query.value = event.currentTarget.value)}
        />
      </div>
      <ul class="lines">
        {offered.map((user) => (
          <li key={user.id}>
            <button
              type="button"
              class="line line-button"
              aria-pressed={has(user)}
              onClick={() => toggle(user)}
            >
              <Avatar id={user.id} name={user.display_name} size="small" />
              <span class="line-main">
                <bdi>{user.display_name}</bdi>
                <span class="quiet-text">@{user.handle}</span>
              </span>
              {has(user) && <Icon name="check" />}
            </button>
          </li>
        ))}
      </ul>
      {offered.length === 0 && <p class="quiet-text">{t("people.hint")}</p>}
    </>
  );
}
