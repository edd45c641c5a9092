import { full } from "../../i18n/format.js";
import { t } from "../../i18n/index.js";
import { star } from "../../model/actions.js";
import { useSession } from "../context.js";
import { jumpTo } from "../conversation/state.js";
import { IconButton } from "../icon.js";
import { Modal } from "../modal.js";
import { lineOf, nameOf } from "../names.js";
import { useLoaded } from "./loaded.js";
import { closeDialog } from "./state.js";

const SHOWN_MAX = 200;

/** The starred messages. */
export function Stars() {
  const session = useSession();
  const list = useLoaded(
    () => session.http.personal.stars({ limit: SHOWN_MAX }),
    [session.own.starred.value],
  );
  return (
    <Modal title={t("account.stars")} onClose={closeDialog}>
      {list.value?.messages.length === 0 && <p class="quiet-text">{t("stars.empty")}</p>}
      <ul class="lines">
        {list.value?.messages.map((message) => (
          <li class="line" key={message.id}>
            <button
              type="button"
              class="line-main line-button"
              onClick={() => {
                closeDialog();
                jumpTo(message.conversation_id, message.id);
              }}
            >
              <span class="quiet-text">
                <bdi>{nameOf(session, message.sender_id)}</bdi> · {full(message.created_at)}
              </span>
              <span dir="auto">{lineOf(message)}</span>
            </button>
            <IconButton
              icon="trash"
              label={t("message.unstar")}
              onClick={() => void star(session, message)}
            />
          </li>
        ))}
      </ul>
    </Modal>
  );
}
