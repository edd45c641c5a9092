import type { Conversation, Message } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { t } from "../../i18n/index.js";
import type { Timeline } from "../../model/timeline.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { lineOf } from "../names.js";
import { jumpTo } from "./state.js";

interface PinnedLineProps {
  conversation: Conversation;
  timeline: Timeline;
}

/** The latest pinned message. Each click goes to the previous one. */
export function PinnedLine({ conversation, timeline }: PinnedLineProps) {
  const session = useSession();
  const pins = useSignal<readonly Message[]>([]);
  const index = useSignal(0);
  const ids = conversation.pinned_message_ids.join();

  useEffect(() => {
    index.value = 0;
    if (ids === "") {
      pins.value = [];
      return;
    }
    session.http.messages
      .pins(conversation.id)
      .then((list) => (pins.value = list.pins.map((pin) => pin.message)))
      // Optional: the next change loads it again.
      .catch(() => undefined);
  }, [ids]);

  // A pin may be gone before the others are loaded again.
  const shown = pins.value.filter(({ id }) => conversation.pinned_message_ids.includes(id));
  const loaded = shown[index.value % Math.max(1, shown.length)];
  if (!loaded) {
    return null;
  }
  // The message may have been edited since.
  const pin = timeline.messages.value.find((message) => message.id === loaded.id) ?? loaded;
  return (
    <button
      type="button"
      class="pinned-line"
      onClick={() => {
        jumpTo(conversation.id, pin.id);
        index.value += 1;
      }}
    >
      <Icon name="pin" />
      <span class="pinned-label">{t("conversation.pinned")}</span>
      <bdi class="pinned-text">{pin.deleted_at ? t("message.deleted") : lineOf(pin)}</bdi>
      {shown.length > 1 && (
        <span class="pinned-count">
          {(index.value % shown.length) + 1}/{shown.length}
        </span>
      )}
    </button>
  );
}
