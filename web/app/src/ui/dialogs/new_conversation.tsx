import type { User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { openDirect } from "../../model/actions.js";
import { go } from "../../model/place.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { tellRefused } from "./members.js";
import { PickPeople } from "./pick_people.js";
import { closeDialog } from "./state.js";

const NAME_CHARS_MAX = 100;

/** Starts a direct conversation with one person, or creates a group with a name and the chosen people. */
export function NewConversation() {
  const session = useSession();
  const chosen = useSignal<readonly User[]>([]);
  const name = useSignal("");
  const asGroup = useSignal(false);
  const one = chosen.value.length === 1 ? chosen.value[0] : undefined;

  const begin = async () => {
    if (!asGroup.value && one) {
      closeDialog();
      await openDirect(session, one.id);
      return;
    }
    const member_ids = chosen.value.map((user) => user.id);
    const made = await attempt(
      session.http.conversations.open({
        kind: "group",
        name: name.value.trim(),
        member_ids,
        client_id: crypto.randomUUID(),
      }),
    );
    if (made) {
      closeDialog();
      session.learn(made.value.value);
      tellRefused(made.value.value.refused ?? []);
      go({ screen: "conversation", id: made.value.value.id });
    }
  };

  return (
    <Modal
      title={t("list.new")}
      onClose={closeDialog}
      footer={
        <button
          type="button"
          class="button primary"
          disabled={asGroup.value ? name.value.trim() === "" : !one}
          onClick={() => void begin()}
        >
          {asGroup.value ? t("new.create_group") : t("new.start")}
        </button>
      }
    >
      <div class="tabs" role="group" aria-label={t("list.new")}>
        <button type="button" aria-pressed={!asGroup.value} onClick={() => (asGroup.value = false)}>
          {t("new.direct")}
        </button>
        <button type="button" aria-pressed={asGroup.value} onClick={() => (asGroup.value = true)}>
          {t("new.group")}
        </button>
      </div>
      {asGroup.value && (
        <label class="field">
          <span>{t("new.group_name")}</span>
          <input
            value={name.value}
            maxLength={NAME_CHARS_MAX}
            dir="auto"
            onInput={(event) => (name.value = event.currentTarget.value)}
          />
        </label>
      )}
      <PickPeople
        chosen={chosen.value}
        onChange={(next) => (chosen.value = asGroup.value ? next : next.slice(-1))}
      />
    </Modal>
  );
}
