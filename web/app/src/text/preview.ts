/** The length of the server's previews. */
export const PREVIEW_CHARS_MAX = 100;

/** The beginning of a text, on one line. */
export function onOneLine(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  // Truncates first, so that a long text is not scanned completely.
  const line = text
    .slice(0, charsMax * 8)
    .replace(/\s+/gu, " ")
    .trim();
  return Array.from(line).slice(0, charsMax).join("");
}
