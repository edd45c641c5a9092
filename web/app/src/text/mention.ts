/** The mention that is being typed in the composer. */

export interface MentionQuery {
  /** The index of the `@`. */
  start: number;
  /** The text between the `@` and the caret. */
  query: string;
}

const TYPED = /(?:^|[\s(])@([a-z0-9_.]{0,32})$/iu;

/** The mention before the caret, if there is one. */
export function mentionAt(text: string, caret: number): MentionQuery | undefined {
  const match = TYPED.exec(text.slice(0, caret));
  const query = match?.[1];
  return query === undefined ? undefined : { start: caret - query.length - 1, query };
}

/** The text with the completed mention, and the new position of the caret. */
export function completedMention(
  text: string,
  mention: MentionQuery,
  handle: string,
): { text: string; caret: number } {
  const before = text.slice(0, mention.start);
  const after = text.slice(mention.start + 1 + mention.query.length);
  const filled = `@${handle}${after.startsWith(" ") ? "" : " "}`;
  return { text: before + filled + after, caret: before.length + handle.length + 2 };
}
