/** A virtual list: renders only the visible rows. All rows have the same height. */

import type { Conversation, ConversationId } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { t } from "../../i18n/index.js";
import { place } from "../../model/place.js";
import { onListKey } from "./keys.js";
import { ListRow } from "./row.js";

/** The height of a row; must match the style sheet. */
const ROW_PX = 72;
/** Rows rendered beyond the edges, so that a fast scroll shows no blank area. */
const SPARE_ROWS = 8;

export function VirtualList({ conversations }: { conversations: readonly Conversation[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const first = useSignal(0);
  const visible = useSignal(20);
  const focused = useSignal<ConversationId | undefined>(undefined);

  const look = () => {
    const element = scroller.current;
    if (element) {
      first.value = Math.max(0, Math.floor(element.scrollTop / ROW_PX) - SPARE_ROWS);
      visible.value = Math.ceil(element.clientHeight / ROW_PX) + 2 * SPARE_ROWS;
    }
  };
  useLayoutEffect(() => {
    look();
    window.addEventListener("resize", look);
    return () => window.removeEventListener("resize", look);
  }, []);

  const here = place.value;
  const openId = here.screen === "conversation" ? here.id : undefined;
  const shown = conversations.slice(first.value, first.value + visible.value);
  const entrance = [focused.value, openId].find((id) => shown.some((one) => one.id === id)) ?? shown[0]?.id;
  return (
    <div class="list-scroller" ref={scroller} onScroll={look}>
      <ul
        class="list"
        aria-label={t("list.label")}
        style={{ height: `${conversations.length * ROW_PX}px` }}
        onKeyDown={onListKey}
      >
        {shown.map((conversation, index) => (
          <ListRow
            key={conversation.id}
            conversation={conversation}
            open={conversation.id === openId}
            tabbable={conversation.id === entrance}
            onFocus={() => (focused.value = conversation.id)}
            top={(first.value + index) * ROW_PX}
          />
        ))}
      </ul>
    </div>
  );
}
