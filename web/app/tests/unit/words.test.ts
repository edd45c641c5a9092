import { describe, expect, it } from "vitest";

import { en } from "../../src/i18n/en.js";
import { es } from "../../src/i18n/es.js";

const blanks = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

describe("the texts", () => {
  it("leave the same blanks to be filled in, in every language", () => {
    for (const key of Object.keys(en) as (keyof typeof en)[]) {
      expect(new Set(blanks(es[key])), key).toEqual(new Set(blanks(en[key])));
    }
  });
});
