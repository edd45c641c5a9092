/** What the guide for authors of other clients says is what this client does. */

import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { CloseCode, mayReconnect } from "../../src/socket/closed.js";

/** What the table in `docs/guides/writing-a-client.md` says to do after each close code. */
function closeCodes(): Map<number, string> {
  const guide = readFileSync(new URL("../../../../docs/guides/writing-a-client.md", import.meta.url), "utf8");
  const rows = guide
    .slice(guide.indexOf("## Close codes"))
    .matchAll(/^\| ([\d, ]+) \| [^|]+ \| ([^|]+) \|$/gm);
  return new Map(
    [...rows].flatMap(([, codes = "", then = ""]) => codes.split(",").map((code) => [+code, then])),
  );
}

test("the guide says of every close code whether to connect again", () => {
  const table = closeCodes();
  expect([...table.keys()].sort()).toEqual(Object.values(CloseCode).sort());
  const comesBack = [...table].filter(([, then]) => /(?<!do not )reconnect/.test(then)).map(([code]) => code);
  const expected = [...table.keys()].filter((code) => mayReconnect({ by: "server", code, reason: "" }));
  expect(comesBack).toEqual(expected);
});
