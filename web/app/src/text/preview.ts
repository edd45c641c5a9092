import type { Message } from "@godwit/sdk";

import { withoutDirections } from "./isolated.js";

/** The length of the server's previews. */
export const PREVIEW_CHARS_MAX = 100;

/** The beginning of a text, on one line and without bidirectional control characters: cut off before their end, they would
 * change the direction of whatever is next to it. */
export function onOneLine(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  // Truncates first, so that a long text is not scanned completely.
  const line = withoutDirections(text.slice(0, charsMax * 8))
    .replace(/\s+/gu, " ")
    .trim();
  return Array.from(line).slice(0, charsMax).join("");
}

/** The beginning of a message, or the name of its file, as in the server's previews. Empty if it has neither. */
export function messagePreview({ text, media }: Pick<Message, "text" | "media">): string {
  return onOneLine(text ?? media?.name ?? "");
}
