/** Splits a text into plain parts, links and mentions. All parts are rendered as text; only `href` of a link is not. */

export type Segment =
  | { type: "text"; text: string }
  | { type: "link"; text: string; href: string }
  /** `handle` is in lower case, without the `@`. */
  | { type: "mention"; text: string; handle: string };

/** A text with more emoji than this is shown in normal size. */
const LARGE_EMOJI_MAX = 3;

/** A bidirectional control character ends a link, because it could make the link look like another one. */
const TOKEN =
  /(?<link>\b(?:https?:\/\/|www\.)[^\s<>"\u202a-\u202e\u2066-\u2069]+)|(?<![\w@./])@(?<handle>[a-z0-9_.]{3,32})/giu;
/** Punctuation that ends a sentence rather than a link. */
const TRAILING = /[.,;:!?'"»”’…]+$/u;
const ONLY_EMOJI =
  /^(?:\p{RI}\p{RI}|\p{Emoji}(?:\p{Emoji_Modifier}|\uFE0F\u20E3?)?(?:\u200D\p{Emoji}(?:\p{Emoji_Modifier}|\uFE0F)?)*|\s)+$/u;

export function segmentsOf(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const segment = match.groups?.link !== undefined ? linkOf(match[0]) : mentionOf(match[0]);
    if (!segment) {
      continue;
    }
    if (match.index > end) {
      segments.push({ type: "text", text: text.slice(end, match.index) });
    }
    segments.push(segment);
    end = match.index + segment.text.length;
  }
  if (end < text.length) {
    segments.push({ type: "text", text: text.slice(end) });
  }
  return segments;
}

/** Whether the text is a few emoji and nothing else. Excludes digits, which Unicode classifies as emoji. */
export function isOnlyEmoji(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > LARGE_EMOJI_MAX * 16 || /[0-9#*]/.test(trimmed)) {
    return false;
  }
  const count = [...new Intl.Segmenter().segment(trimmed.replace(/\s/gu, ""))].length;
  return count <= LARGE_EMOJI_MAX && ONLY_EMOJI.test(trimmed);
}

function linkOf(found: string): Segment | undefined {
  const text = withoutTrailing(found);
  const href = /^www\./i.test(text) ? `https://${text}` : text;
  return URL.canParse(href) ? { type: "link", text, href } : undefined;
}

function mentionOf(found: string): Segment | undefined {
  const text = found.replace(/\.+$/, "");
  return text.length > 3 ? { type: "mention", text, handle: text.slice(1).toLowerCase() } : undefined;
}

/** A closing bracket belongs to the link only if the link has the opening one. */
function withoutTrailing(link: string): string {
  let text = link.replace(TRAILING, "");
  while (text.endsWith(")") && count(text, ")") > count(text, "(")) {
    text = text.slice(0, -1).replace(TRAILING, "");
  }
  return text;
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}
