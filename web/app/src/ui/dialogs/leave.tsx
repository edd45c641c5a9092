import type { ConversationId } from "@godwit/sdk";
import { useSignal } from "@preact/signals";

import { t } from "../../i18n/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Modal } from "../modal.js";
import { Check } from "./fields.js";
import { closeDialog } from "./state.js";

/** Leaves a group, optionally for good. */
export function Leave({ id }: { id: ConversationId }) {
  const { groups } = useSession().http;
  const forGood = useSignal(false);
  const leave = () => {
    closeDialog();
    void attempt(forGood.value ? groups.leaveForGood(id) : groups.leave(id));
  };
  return (
    <Modal
      title={t("info.leave")}
      onClose={closeDialog}
      footer={
        <>
          <button type="button" class="button" onClick={closeDialog}>
            {t("action.cancel")}
          </button>
          <button type="button" class="button primary danger" onClick={leave}>
            {t("info.leave")}
          </button>
        </>
      }
    >
      <p>{t("info.leave_text")}</p>
      <Check
        label={t("info.leave_for_good")}
        checked={forGood.value}
        onChange={(checked) => {
          forGood.value = checked;
          return true;
        }}
      />
      <p class="quiet-text">{t("info.leave_for_good_text")}</p>
    </Modal>
  );
}
