import type { Message } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { forward } from "../../model/actions.js";
import { maySend } from "../../model/inbox.js";
import { titleOf } from "../../model/session.js";
import { matchesSearch } from "../../text/index.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { SearchField } from "../search_field.js";
import { ConversationLine } from "./line.js";
import { closeDialog } from "./state.js";

const SHOWN_MAX = 50;

export function Forward({ message }: { message: Message }) {
  const session = useSession();
  const query = useSignal("");
  const offered = session.inbox.sorted.value
    .filter(maySend)
    .filter((conversation) => matchesSearch(titleOf(conversation), query.value.trim()))
    .slice(0, SHOWN_MAX);
  return (
    <Modal title={t("message.forward")} onClose={closeDialog}>
      <SearchField label="forward.search" value={query.value} onChange={(next) => (query.value = next)} />
      <ul class="lines">
        {offered.map((conversation) => (
          <ConversationLine
            key={conversation.id}
            conversation={conversation}
            onSelect={() => {
              closeDialog();
              void forward(session, message, conversation.id);
            }}
          />
        ))}
      </ul>
    </Modal>
  );
}
