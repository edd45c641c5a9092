/** Initials and colour of a user or a group without a picture. */

/** The number of colours; must match the style sheet. */
const HUES = 8;

/** The first letters of the first two words; an emoji counts as a letter. */
export function initialsOf(name: string): string {
  const words = name.split(/[\s._-]+/u).filter((word) => /[\p{L}\p{N}\p{Extended_Pictographic}]/u.test(word));
  return words.slice(0, 2).map(firstLetter).join("").toLocaleUpperCase();
}

/** The colour for an id. It never changes. */
export function hueOf(id: string): number {
  let sum = 0;
  for (const character of id) {
    sum = (sum * 31 + character.charCodeAt(0)) % 9973;
  }
  return sum % HUES;
}

/** Strips combining marks, of which some names have hundreds. */
function firstLetter(word: string): string {
  const letter = /[\p{L}\p{N}\p{Extended_Pictographic}]/u.exec(word.normalize("NFC"));
  return letter?.[0] ?? "";
}
