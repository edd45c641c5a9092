/**
 * Keyboard navigation through messages (roving tabindex).
 *
 * A list of messages is one tab stop: the message that had the focus last, or the newest one. The arrow keys move between
 * messages. Elements inside a message are reachable only from that message, which also handles all other keys.
 */

import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface MessageFocus {
  list: RefObject<HTMLOListElement>;
  /** The message that is the tab stop. */
  reachable: string | undefined;
  onFocusIn: (event: FocusEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  focusLast: () => void;
}

/** @param keys the keys of the message rows, from top to bottom */
export function useMessageFocus(keys: readonly string[]): MessageFocus {
  const list = useRef<HTMLOListElement>(null);
  const last = useSignal<string | undefined>(undefined);
  const before = useRef<readonly string[]>([]);

  // If the focused message is removed, the message in its place gets the focus.
  useLayoutEffect(() => {
    const index = last.value === undefined ? -1 : before.current.indexOf(last.value);
    before.current = keys;
    const lost = index >= 0 && !keys.includes(last.value ?? "") && document.activeElement === document.body;
    if (lost) {
      messagesOf(list.current)[Math.min(index, keys.length - 1)]?.focus({ preventScroll: true });
    }
  });

  return {
    list,
    reachable: last.value !== undefined && keys.includes(last.value) ? last.value : keys.at(-1),
    onFocusIn: (event) => {
      const message = event.target instanceof Element ? event.target.closest<HTMLElement>(".message") : null;
      if (message) {
        last.value = message.dataset.key;
      }
    },
    onKeyDown: (event) => onListKey(list.current, event),
    focusLast: () => messagesOf(list.current).at(-1)?.focus({ preventScroll: true }),
  };
}

function onListKey(list: HTMLElement | null, event: KeyboardEvent): void {
  const messages = messagesOf(list);
  const index = messages.findIndex((message) => message === document.activeElement);
  const steps: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowUp: index - 1,
    Home: 0,
    End: messages.length - 1,
  };
  const next = messages[steps[event.key] ?? -1];
  if (index >= 0 && next && !event.altKey && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
}

function messagesOf(list: HTMLElement | null): HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>(".message") ?? [])];
}
