import { t } from "../i18n/index.js";
import type { Progress } from "../model/status.js";

/** One tick: sent. Two ticks: delivered to all. Coloured ticks: read by all. */
export function Marks({ progress }: { progress: Progress }) {
  const label = t(`progress.${progress}`);
  return (
    <span class={`marks marks-${progress}`} title={label}>
      <svg viewBox="0 0 20 14" aria-hidden="true" focusable="false">
        <path d={PATHS[progress]} />
      </svg>
      <span class="for-screen-readers">{label}</span>
    </span>
  );
}

const TICK = "M2 7.5 6 11.5 14 2.5";
const TICKS = `${TICK}M9.5 11 10.2 11.5 18.5 2.5`;
const PATHS: Record<Progress, string> = {
  sending: "M10 2a5 5 0 1 0 0 10 5 5 0 0 0 0-10ZM10 4.5V7l1.8 1.2",
  sent: TICK,
  delivered: TICKS,
  read: TICKS,
  refused: "M10 2v6M10 11.4v.2",
};
