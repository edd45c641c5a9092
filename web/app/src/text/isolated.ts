const ISOLATE = "\u2068";
const END_ISOLATE = "\u2069";
/** Those that begin or end a run in another direction. One that ends an isolate would let the rest of a name out of it. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/gu;

/** A name as part of a sentence: its direction does not change that of the words around it. */
export function isolated(name: string): string {
  return ISOLATE + name.replace(DIRECTIONS, "") + END_ISOLATE;
}
