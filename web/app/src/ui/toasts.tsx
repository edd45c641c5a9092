import { useEffect, useRef } from "preact/hooks";

import { t } from "../i18n/index.js";
import { dismiss, toasts } from "../model/tasks.js";
import { isOutdated } from "../model/version.js";
import { IconButton } from "./icon.js";

/** Toasts: errors, and the notice that a new version is available. */
export function Toasts() {
  const element = useRef<HTMLDivElement>(null);
  const count = toasts.value.length + Number(isOutdated.value);
  // Shown again for each toast, so that the toast is above a dialog that was opened before.
  useEffect(() => {
    if (count > 0) {
      element.current?.hidePopover();
      element.current?.showPopover();
    }
  }, [count]);
  return (
    <div class="toasts" role="status" popover="manual" ref={element}>
      {isOutdated.value && (
        <div class="toast">
          <span>{t("version.new")}</span>
          <button type="button" class="button" onClick={() => location.reload()}>
            {t("version.reload")}
          </button>
        </div>
      )}
      {toasts.value.map((toast) => (
        <div class="toast" key={toast.id}>
          <span dir="auto">{toast.text}</span>
          <IconButton icon="close" label={t("action.close")} onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
