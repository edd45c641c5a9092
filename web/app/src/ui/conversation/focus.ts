/**
 * Going through messages with the keyboard.
 *
 * A list of messages is one stop of the tabulator key: the message that had the focus last, or the newest one. The arrows
 * go from message to message, and what is inside a message can be reached from it alone. What else a key does, the
 * message that has the focus knows.
 */

import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface MessageFocus {
  list: RefObject<HTMLOListElement>;
  /** The message that the tabulator key gets to. */
  reachable: string | undefined;
  onFocusIn: (event: FocusEvent) => void;
  onKeyDown: (event: KeyboardEvent) => void;
  focusLast: () => void;
}

/** @param keys those of the messages, as the rows carry them, from top to bottom */
export function useMessageFocus(keys: readonly string[]): MessageFocus {
  const list = useRef<HTMLOListElement>(null);
  const last = useSignal<string | undefined>(undefined);
  const before = useRef<readonly string[]>([]);

  // A message that is gone takes the focus with it, which then belongs to the one in its place.
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
