/** The list of conversations, with search and the button for a new conversation. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { plural, t } from "../../i18n/index.js";
import { accounts } from "../../model/index.js";
import { go, place } from "../../model/place.js";
import { isolated } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { ConnectionLine } from "../connection.js";
import { useSession } from "../context.js";
import { showDialog } from "../dialogs/state.js";
import { Icon, IconButton } from "../icon.js";
import { type MenuItem, showMenu } from "../menu.js";
import { SearchField } from "../search_field.js";
import { SEARCH_FIELD_ID } from "../shortcuts.js";
import { onSearchKey } from "./keys.js";
import { SearchResults } from "./search.js";
import { VirtualList } from "./virtual.js";

export function ListPane() {
  const session = useSession();
  const query = useSignal("");
  const archived = useSignal(false);
  const all = session.inbox.sorted.value;
  const shown = all.filter((conversation) => conversation.me.archived === archived.value);
  const archivedCount = all.length - all.filter((conversation) => !conversation.me.archived).length;
  const here = place.value;

  // The user has opened an invite link.
  useEffect(() => {
    if (here.screen === "join") {
      showDialog({ type: "join", token: here.token });
      go({ screen: "list" });
    }
  }, [here]);

  return (
    <nav class="list-pane" aria-label={t("list.label")}>
      <header class="pane-header">
        <AccountButton />
        <h1>{archived.value ? t("list.archived") : t("list.title")}</h1>
        <IconButton
          icon="compose"
          label={t("list.new")}
          onClick={() => showDialog({ type: "new_conversation" })}
        />
      </header>
      <ConnectionLine />
      <SearchField
        id={SEARCH_FIELD_ID}
        label="list.search"
        value={query.value}
        onChange={(next) => (query.value = next)}
        onKeyDown={(event) => (event.key === "Escape" ? (query.value = "") : onSearchKey(event))}
      />
      {query.value.trim() !== "" ? (
        <SearchResults query={query.value.trim()} onDone={() => (query.value = "")} />
      ) : (
        <>
          {(archivedCount > 0 || archived.value) && (
            <button type="button" class="archive-row" onClick={() => (archived.value = !archived.value)}>
              <Icon name={archived.value ? "back" : "archive"} />
              <span>{archived.value ? t("action.back") : plural("list.archived_count", archivedCount)}</span>
            </button>
          )}
          {shown.length === 0 ? (
            <EmptyList archived={archived.value} ready={session.caughtUp.value} />
          ) : (
            <VirtualList key={archived.value} conversations={shown} />
          )}
        </>
      )}
    </nav>
  );
}

function EmptyList({ archived, ready }: { archived: boolean; ready: boolean }) {
  if (archived) {
    return <p class="list-empty">{t("list.empty_archive")}</p>;
  }
  return (
    <div class="list-empty">
      <p>{ready ? t("list.empty") : t("list.loading")}</p>
      {ready && (
        <button type="button" class="button primary" onClick={() => showDialog({ type: "new_conversation" })}>
          {t("list.new")}
        </button>
      )}
    </div>
  );
}

/** Shows the active account and opens its menu. */
function AccountButton() {
  const session = useSession();
  const me = session.own.me.value;
  const others = accounts.list.value.filter((account) => account.id !== me.id);
  const items = (): MenuItem[] => [
    { label: t("account.settings"), icon: "settings", onSelect: () => showDialog({ type: "settings" }) },
    { label: t("account.devices"), icon: "device", onSelect: () => showDialog({ type: "devices" }) },
    { label: t("account.stars"), icon: "star", onSelect: () => showDialog({ type: "stars" }) },
    { label: t("account.scheduled"), icon: "clock", onSelect: () => showDialog({ type: "scheduled" }) },
    { label: t("account.join"), icon: "link", onSelect: () => showDialog({ type: "join" }) },
    {
      label: t("account.shortcuts"),
      icon: "keyboard",
      onSelect: () => showDialog({ type: "shortcuts" }),
    },
    ...others.map((account): MenuItem => ({
      label: t("account.switch", { name: `${isolated(account.name)} (@${account.handle})` }),
      icon: "person",
      onSelect: () => void accounts.switchTo(account.id),
    })),
    { label: t("account.add"), icon: "plus", onSelect: () => (accounts.adding.value = true) },
    { label: t("account.sign_out"), icon: "leave", danger: true, onSelect: confirmSignOut },
  ];
  return (
    <button
      type="button"
      class="account-button"
      aria-label={t("account.menu", { name: me.display_name })}
      aria-haspopup="menu"
      onClick={(event) => showMenu(event, t("account.menu", { name: me.display_name }), items())}
    >
      <Avatar id={me.id} name={me.display_name} size="small" />
    </button>
  );
}

function confirmSignOut(): void {
  showDialog({
    type: "confirm",
    title: t("account.sign_out"),
    text: t("account.sign_out_text"),
    action: t("account.sign_out"),
    onConfirm: () => void accounts.signOut(),
  });
}
