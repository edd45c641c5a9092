/**
 * What is known about texts without knowing a server or a page. Pure functions only.
 *
 * - `segments`: a text as plain parts, links and mentions; whether it is nothing but emoji
 * - `mention`: which mention is being typed, and completing it
 * - `rows`: messages as what a history shows: days, the line before new messages, notices, groups
 * - `preview`: the beginning of a text on one line
 * - `initials`: what stands for a person who has no picture
 * - `isolated`: a name as part of a sentence
 * - `emoji`: the emoji that can be picked, by category
 * - `search`: whether a name matches what somebody types
 */

export { EMOJI, type EmojiCategory, QUICK_REACTIONS } from "./emoji.js";
export { hueOf, initialsOf } from "./initials.js";
export { isolated } from "./isolated.js";
export { completedMention, type MentionQuery, mentionAt } from "./mention.js";
export { onOneLine, PREVIEW_CHARS_MAX } from "./preview.js";
export { GROUP_GAP_MS, type Row, rowsOf } from "./rows.js";
export { matchesSearch } from "./search.js";
export { isOnlyEmoji, type Segment, segmentsOf } from "./segments.js";
