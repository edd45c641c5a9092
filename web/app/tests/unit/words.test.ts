import { describe, expect, it } from "vitest";

import { en } from "../../src/i18n/en.js";
import { es } from "../../src/i18n/es.js";

const blanks = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe("the texts", () => {
  it("have the same placeholders in every language", () => {
    for (const key of Object.keys(en) as (keyof typeof en)[]) {
      expect(new Set(blanks(es[key])), key).toEqual(new Set(blanks(en[key])));
    }
  });
});
