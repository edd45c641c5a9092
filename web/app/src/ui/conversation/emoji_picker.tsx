import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { t } from "../../i18n/index.js";
import { EMOJI } from "../../text/index.js";

interface EmojiPickerProps {
  onPick: (emoji: string) => void;
  onClose: () => void;
}

/** Emoji per row; must match the style sheet. */
const COLUMNS = 8;

export function EmojiPicker({ onPick, onClose }: EmojiPickerProps) {
  const shown = useSignal(EMOJI[0]?.id);
  const grid = useRef<HTMLDivElement>(null);
  useEffect(() => grid.current?.querySelector("button")?.focus(), []);
  const emoji = EMOJI.find((category) => category.id === shown.value)?.emoji ?? [];
  return (
    <div
      class="emoji-picker"
      role="group"
      aria-label={t("composer.emoji")}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          onClose();
        } else {
          onGridKey(event);
        }
      }}
    >
      <div class="emoji-categories">
        {EMOJI.map((category) => (
          <button
            key={category.id}
            type="button"
            aria-pressed={category.id === shown.value}
            aria-label={t(`emoji.${category.id}`)}
            title={t(`emoji.${category.id}`)}
            onClick={() => (shown.value = category.id)}
          >
            {category.emoji[0]}
          </button>
        ))}
      </div>
      <div class="emoji-grid" ref={grid}>
        {emoji.map((one) => (
          <button key={one} type="button" class="emoji" onClick={() => onPick(one)}>
            {one}
          </button>
        ))}
      </div>
    </div>
  );
}

function onGridKey(event: KeyboardEvent): void {
  const steps: Record<string, number> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: COLUMNS,
    ArrowUp: -COLUMNS,
  };
  const step = steps[event.key];
  if (step === undefined || !(event.currentTarget instanceof HTMLElement)) {
    return;
  }
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>(".emoji")];
  const index = all.findIndex((one) => one === document.activeElement);
  if (index >= 0) {
    event.preventDefault();
    all[index + step]?.focus();
  }
}
