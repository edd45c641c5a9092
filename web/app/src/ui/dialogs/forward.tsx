import type { Message } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { forward } from "../../model/actions.js";
import { maySend } from "../../model/inbox.js";
import { titleOf } from "../../model/session.js";
import { matchesSearch } from "../../text/index.js";
import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { Modal } from "../modal.js";
import { closeDialog } from "./state.js";

const SHOWN_MAX = 50;

export function Forward({ message }: { message: Message }) {
  const session = useSession();
  const query = useSignal("");
  const offered = session.inbox.sorted.value
    .filter(maySend)
    .filter((conversation) => matchesSearch(titleOf(conversation), query.value))
    .slice(0, SHOWN_MAX);
  return (
    <Modal title={t("message.forward")} onClose={closeDialog}>
      <div class="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder={t("forward.search")}
          aria-label={t("forward.search")}
          onInput={(event) => (query.value = event.currentTarget.value.trim())}
        />
      </div>
      <ul class="lines">
        {offered.map((conversation) => (
          <li key={conversation.id}>
            <button
              type="button"
              class="line line-button"
              onClick={() => {
                closeDialog();
                void forward(session, message, conversation.id);
              }}
            >
              <Avatar
                id={conversation.peer?.id ?? conversation.id}
                name={titleOf(conversation)}
                group={conversation.kind !== "direct"}
                size="small"
              />
              <bdi class="line-main">{titleOf(conversation)}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </Modal>
  );
}
