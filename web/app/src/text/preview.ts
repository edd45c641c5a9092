/** As long as the previews that the server makes. */
export const PREVIEW_CHARS_MAX = 100;

/** The beginning of a text, on one line. */
export function onOneLine(text: string, charsMax = PREVIEW_CHARS_MAX): string {
  // Cutting first keeps a long text from being walked through for the sake of its first line.
  const line = text
    .slice(0, charsMax * 8)
    .replace(/\s+/gu, " ")
    .trim();
  return Array.from(line).slice(0, charsMax).join("");
}
