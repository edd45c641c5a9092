import { type Key, t } from "../../i18n/index.js";
import { Modal } from "../modal.js";
import { closeDialog } from "./state.js";

const KEYS: readonly [string, Key][] = [
  ["Ctrl K", "shortcuts.search"],
  ["Alt ↑ / ↓", "shortcuts.neighbour"],
  ["Enter", "shortcuts.send"],
  ["Shift Enter", "shortcuts.break"],
  ["↑", "shortcuts.edit_last"],
  ["Esc", "shortcuts.cancel"],
  ["↑ / ↓", "shortcuts.messages"],
  ["Enter", "shortcuts.menu"],
  ["Esc", "shortcuts.leave"],
  ["R", "shortcuts.reply"],
  ["T", "shortcuts.thread"],
  ["+", "shortcuts.react"],
  ["E", "shortcuts.edit"],
  ["Del", "shortcuts.delete"],
  ["Ctrl /", "shortcuts.help"],
];

export function Shortcuts() {
  return (
    <Modal title={t("account.shortcuts")} onClose={closeDialog}>
      <dl class="shortcuts">
        {KEYS.map(([keys, key]) => (
          <div key={key}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{t(key)}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
