/**
 * The words of the page.
 *
 * - here: which language, and filling in what varies
 * - `en`: the English texts, which say which keys there are; `es`: the Spanish ones
 * - `format`: times and days as people write them
 */

import type { ErrorCode } from "@godwit/sdk";
import { computed } from "@preact/signals";

import { languageChoice } from "../model/settings.js";
import { en } from "./en.js";
import { es } from "./es.js";

export type Key = keyof typeof en;
export type Catalogue = Record<Key, string>;
/** Texts that differ by number: `x.one` and `x.other`. */
type PluralKey = Key extends infer K ? (K extends `${infer P}.other` ? P : never) : never;
export type Values = Record<string, string | number>;

const CATALOGUES = { en, es };
export type Language = keyof typeof CATALOGUES;

export const language = computed<Language>(() => {
  if (languageChoice.value !== "system") {
    return languageChoice.value;
  }
  const wanted = navigator.languages.map((name) => name.slice(0, 2));
  return wanted.find((name): name is Language => name in CATALOGUES) ?? "en";
});

// Making these takes far longer than using them.
const pluralRules = computed(() => new Intl.PluralRules(language.value));
const numbers = computed(() => new Intl.NumberFormat(language.value));

/** Tracked: a component that uses it is shown again when the language changes. */
export function t(key: Key, values: Values = {}): string {
  return filled(CATALOGUES[language.value][key], values);
}

export function plural(key: PluralKey, count: number, values: Values = {}): string {
  const one = pluralRules.value.select(count) === "one";
  const name: Key = `${key}.${one ? "one" : "other"}`;
  return t(name, { count: numbers.value.format(count), ...values });
}

/** What a refusal means, where the page has words for it. */
export function knownError(code: ErrorCode | "unknown"): string | undefined {
  const key = `error.${code}`;
  return key in en ? t(key as Key) : undefined;
}

/** What a field has to be like, where the page has words for it and a refusal is about that. */
export function fieldRule(code: ErrorCode | "unknown", field: string | undefined): string | undefined {
  const key = `rule.${field}`;
  return code === "invalid_field" && key in en ? t(key as Key) : undefined;
}

function filled(text: string, values: Values): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
