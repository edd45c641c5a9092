/** The details of a message: receipts, reactions and earlier versions. */

import type { Message } from "@godwit/sdk";

import { full } from "../../i18n/format.js";
import { t } from "../../i18n/index.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { useLoaded } from "./loaded.js";
import { Person } from "./person.js";
import { closeDialog } from "./state.js";

const PEOPLE_SHOWN = 200;

export function Receipts({ message }: { message: Message }) {
  const session = useSession();
  const conversation = session.inbox.watch(message.conversation_id);
  const list = useLoaded(
    () => session.http.messages.receipts(message.id, { limit: PEOPLE_SHOWN }),
    // Loads again when a member has read further.
    [message.id, conversation?.cursors],
  );
  const all = list.value?.receipts ?? [];
  const read = all.filter((receipt) => receipt.status === "READ");
  const delivered = all.filter((receipt) => receipt.status === "DELIVERED");
  const waiting = all.filter((receipt) => receipt.status === "SENT");
  const groups = [
    { title: t("receipts.read"), receipts: read },
    { title: t("receipts.delivered"), receipts: delivered },
    { title: t("receipts.waiting"), receipts: waiting },
  ];
  return (
    <Modal title={t("message.info")} onClose={closeDialog}>
      <p class="quiet-text">{t("receipts.sent", { when: full(message.created_at) })}</p>
      {groups.map(
        ({ title, receipts }) =>
          receipts.length > 0 && (
            <section key={title}>
              <h3>{title}</h3>
              <ul class="lines">
                {receipts.map((receipt) => {
                  const at = receipt.read_at ?? receipt.delivered_at;
                  return (
                    <Person key={receipt.user_id} id={receipt.user_id} detail={at ? full(at) : undefined} />
                  );
                })}
              </ul>
            </section>
          ),
      )}
    </Modal>
  );
}

export function ReactionsOf({ message }: { message: Message }) {
  const session = useSession();
  const list = useLoaded(
    () => session.http.messages.reactions(message.id, { limit: PEOPLE_SHOWN }),
    [message.id],
  );
  return (
    <Modal title={t("message.who_reacted")} onClose={closeDialog}>
      <ul class="lines">
        {list.value?.reactions.map(({ user_id, reaction, at }) => (
          <Person key={user_id} id={user_id} detail={full(at)}>
            <span class="line-emoji">{reaction}</span>
          </Person>
        ))}
      </ul>
    </Modal>
  );
}

export function Edits({ message }: { message: Message }) {
  const session = useSession();
  const list = useLoaded(() => session.http.messages.edits(message.id), [message.id]);
  return (
    <Modal title={t("message.edits")} onClose={closeDialog}>
      <ol class="versions">
        {list.value?.versions.map((version) => (
          <li key={version.at}>
            <time class="quiet-text" dateTime={version.at}>
              {full(version.at)}
            </time>
            <p dir="auto">{version.text}</p>
          </li>
        ))}
      </ol>
    </Modal>
  );
}
