/** The guide for authors of other clients matches this client. */

import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { CloseCode, mayReconnect } from "../../src/socket/closed.js";

/** The table of close codes in `docs/guides/writing-a-client.md`. */
function closeCodes(): Map<number, string> {
  const guide = readFileSync(new URL("../../../../docs/guides/writing-a-client.md", import.meta.url), "utf8");
  const rows = guide
    .slice(guide.indexOf("## Close codes"))
    .matchAll(/^\| ([\d, ]+) \| [^|]+ \| ([^|]+) \|$/gm);
  return new Map(
    [...rows].flatMap(([, codes = "", then = ""]) => codes.split(",").map((code) => [+code, then])),
  );
}

test("the guide documents for every close code whether to reconnect", () => {
  const table = closeCodes();
  expect([...table.keys()].sort()).toEqual(Object.values(CloseCode).sort());
  const comesBack = [...table].filter(([, then]) => /(?<!do not )reconnect/.test(then)).map(([code]) => code);
  const expected = [...table.keys()].filter((code) => mayReconnect({ by: "server", code, reason: "" }));
  expect(comesBack).toEqual(expected);
});
