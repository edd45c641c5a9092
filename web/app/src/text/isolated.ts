const ISOLATE = "\u2068";
const END_ISOLATE = "\u2069";
/** Bidirectional control characters. One that ends an isolate would let the rest of the name escape it. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/gu;

/** Isolates the text direction of a name, so that it does not affect the words around it. */
export function isolated(name: string): string {
  return ISOLATE + withoutDirections(name) + END_ISOLATE;
}

/** Removes embeddings, overrides and isolates, and the characters that end them. */
export function withoutDirections(text: string): string {
  return text.replace(DIRECTIONS, "");
}
