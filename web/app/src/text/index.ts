/**
 * Pure functions on texts, independent of the server and of the components.
 *
 * - `segments`: splits a text into plain parts, links and mentions; detects texts of only emoji
 * - `mention`: the mention that is being typed, and its completion
 * - `rows`: the rows of a history: days, the line before new messages, notices, grouped messages
 * - `preview`: the beginning of a text or message on one line
 * - `initials`: the initials of a user without a picture
 * - `isolated`: isolates the text direction of a name in a sentence
 * - `emoji`: the emoji of the picker, by category
 * - `search`: whether a name matches a query
 */

export { EMOJI, type EmojiCategory, QUICK_REACTIONS } from "./emoji.js";
export { hueOf, initialsOf } from "./initials.js";
export { isolated } from "./isolated.js";
export { completedMention, type MentionQuery, mentionAt } from "./mention.js";
export { messagePreview, onOneLine, PREVIEW_CHARS_MAX } from "./preview.js";
export { GROUP_GAP_MS, type Row, rowsOf } from "./rows.js";
export { matchesSearch } from "./search.js";
export { isOnlyEmoji, type Segment, segmentsOf } from "./segments.js";
