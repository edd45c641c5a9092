import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { t } from "../i18n/index.js";
import { IconButton } from "./icon.js";
import { Menu } from "./menu.js";

interface ModalProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  /** Stays visible while the rest scrolls. */
  footer?: ComponentChildren;
}

/** A modal dialog. The browser traps the focus, closes the dialog with Escape, and restores the focus. */
export function Modal({ title, onClose, children, footer }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement) {
        opener.focus();
      }
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="modal"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div class="modal-box">
        <header class="modal-header">
          <h2 id={titleId} dir="auto">
            {title}
          </h2>
          <IconButton icon="close" label={t("action.close")} onClick={onClose} />
        </header>
        <div class="modal-body">{children}</div>
        {footer && <footer class="modal-footer">{footer}</footer>}
      </div>
      {/* What is outside of an open dialog cannot be reached. */}
      <Menu />
    </dialog>
  );
}
