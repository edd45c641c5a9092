/** The behaviour of a visible history: loads the next page, follows new messages, and reports what was read. */

import type { Conversation } from "@godwit/sdk";
import { type Signal, useSignal } from "@preact/signals";
import { type MutableRef, useEffect, useLayoutEffect, useRef } from "preact/hooks";

import type { Timeline } from "../../model/timeline.js";
import { useSession } from "../context.js";
import { Scrolling } from "./scrolling.js";

interface Following {
  scroller: MutableRef<HTMLDivElement | null>;
  scrolling: MutableRef<Scrolling | undefined>;
  /** Whether there are messages below the visible ones. */
  away: Signal<boolean>;
  onScroll: () => void;
  toLatest: () => Promise<void>;
}

/**
 * @param unsent the number of unsent messages
 * @param jumping a jump to a message is in progress, so the history must not scroll elsewhere
 */
export function useFollowing(
  conversation: Conversation,
  timeline: Timeline,
  unsent: number,
  jumping: boolean,
): Following {
  const session = useSession();
  const scroller = useRef<HTMLDivElement>(null);
  const scrolling = useRef<Scrolling | undefined>(undefined);
  /** Whether the initial position was restored. */
  const begun = useRef(false);
  const unsentBefore = useRef(0);
  const away = useSignal(false);
  const growing = useRef(0);

  const look = () => {
    const view = scrolling.current;
    if (!view) {
      return;
    }
    away.value = !view.atEnd || timeline.moreAfter.value;
    if (timeline.loaded.value) {
      // Each frame renders a few more rows until there are enough.
      growing.current ||= requestAnimationFrame(() => {
        growing.current = 0;
        if (view.nearStart) {
          timeline.showBefore();
        } else if (view.nearEnd) {
          timeline.showAfter();
        }
      });
    }
    const seen = view.lastSeenSeq();
    const looking = document.visibilityState === "visible" && document.hasFocus();
    if (begun.current && seen !== undefined && looking) {
      session.read(conversation.id, seen);
    }
  };

  const toLatest = async () => {
    if (timeline.moreAfter.value) {
      await timeline.showNewest();
    }
    scrolling.current?.toEnd();
  };

  useLayoutEffect(() => {
    if (!scroller.current) {
      return;
    }
    scrolling.current ??= new Scrolling(scroller.current);
    const view = scrolling.current;
    const reachesEnd = !timeline.moreAfter.value;
    if (jumping) {
      begun.current ||= timeline.loaded.value;
      return;
    }
    if (!begun.current) {
      // Cached messages are shown at their end. After the server has answered, the first unread message is scrolled into view.
      begun.current = timeline.loaded.value;
      if (!view.toRow("unread")) {
        view.toEnd();
      }
      view.note();
    } else if (unsent > unsentBefore.current && reachesEnd) {
      view.toEnd();
    }
    unsentBefore.current = unsent;
    view.restore(reachesEnd);
    look();
  });

  // Fonts, the on-screen keyboard and the composer change the height without a new message.
  useEffect(() => {
    const observer = new ResizeObserver(() => scrolling.current?.restore(!timeline.moreAfter.value));
    if (scroller.current) {
      observer.observe(scroller.current);
    }
    window.addEventListener("focus", look);
    document.addEventListener("visibilitychange", look);
    return () => {
      cancelAnimationFrame(growing.current);
      observer.disconnect();
      window.removeEventListener("focus", look);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);

  // Scrolls to the end when the user sends a message.
  useEffect(() => {
    if (unsent > 0 && timeline.moreAfter.value) {
      void toLatest();
    }
  }, [unsent]);

  const onScroll = () => {
    scrolling.current?.note();
    look();
  };
  return { scroller, scrolling, away, onScroll, toLatest };
}
