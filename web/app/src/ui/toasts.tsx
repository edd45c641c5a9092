import { useEffect, useRef } from "preact/hooks";

import { t } from "../i18n/index.js";
import { dismiss, toasts } from "../model/tasks.js";
import { IconButton } from "./icon.js";

/** What went wrong, at the edge of the page. */
export function Toasts() {
  const element = useRef<HTMLDivElement>(null);
  const count = toasts.value.length;
  // Shown anew for each, so that it is above a dialog that was opened before.
  useEffect(() => {
    if (count > 0) {
      element.current?.hidePopover();
      element.current?.showPopover();
    }
  }, [count]);
  return (
    <div class="toasts" role="status" popover="manual" ref={element}>
      {toasts.value.map((toast) => (
        <div class="toast" key={toast.id}>
          <span dir="auto">{toast.text}</span>
          <IconButton icon="close" label={t("action.close")} onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
