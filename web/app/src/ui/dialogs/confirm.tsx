import { t } from "../../i18n/index.js";
import { Modal } from "../modal.js";
import { closeDialog, type Dialog } from "./state.js";

export function Confirm({ title, text, action, onConfirm }: Extract<Dialog, { type: "confirm" }>) {
  return (
    <Modal
      title={title}
      onClose={closeDialog}
      footer={
        <>
          <button type="button" class="button" onClick={closeDialog}>
            {t("action.cancel")}
          </button>
          <button
            type="button"
            class="button primary danger"
            onClick={() => {
              closeDialog();
              onConfirm();
            }}
          >
            {action}
          </button>
        </>
      }
    >
      <p dir="auto">{text}</p>
    </Modal>
  );
}
