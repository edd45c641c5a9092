/** Whether each word of the query is a prefix of a word in the name. Ignores case and accents. */
export function matchesSearch(name: string, query: string): boolean {
  const words = plain(name).split(/[\s._@-]+/u);
  return plain(query)
    .split(/\s+/u)
    .filter((part) => part !== "")
    .every((part) => words.some((word) => word.startsWith(part)) || plain(name).startsWith(part));
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
