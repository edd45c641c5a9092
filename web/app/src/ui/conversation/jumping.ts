/** Jumps to a message from a quote, a pin or a star. */

import type { MessageId } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { type MutableRef, useEffect } from "preact/hooks";

import { t } from "../../i18n/index.js";
import { toast } from "../../model/tasks.js";
import type { Timeline } from "../../model/timeline.js";
import type { Scrolling } from "./scrolling.js";
import { jump } from "./state.js";

/** How long the target of a jump is highlighted. */
const FLASH_MS = 1_600;

/** The highlighted message. */
export function useJump(
  target: MessageId | undefined,
  timeline: Timeline,
  scrolling: MutableRef<Scrolling | undefined>,
): MessageId {
  const flashed = useSignal("");
  useEffect(() => {
    if (target === undefined) {
      return;
    }
    const bring = async () => {
      if (!(await timeline.bring(target))) {
        jump.value = undefined;
        toast(t("error.message_gone"));
        return;
      }
      // The rows are rendered in the next frame.
      requestAnimationFrame(() => {
        scrolling.current?.toMessage(target);
        jump.value = undefined;
        flashed.value = target;
        setTimeout(() => (flashed.value = ""), FLASH_MS);
      });
    };
    void bring();
  }, [target]);
  return flashed.value;
}
