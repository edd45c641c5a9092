import type { Http } from "@godwit/sdk";
import { describe, expect, it } from "vitest";

import { Histories } from "../../src/model/histories.js";
import { conversation } from "./samples.js";

describe("histories", () => {
  it("report each time a conversation is opened, even if its messages are in memory", () => {
    const opened: string[] = [];
    const history = () => Promise.resolve({ messages: [], more_before: false, more_after: false });
    const histories = new Histories({
      me: "ada",
      http: { messages: { history } } as unknown as Http,
      cached: () => Promise.resolve([]),
      conversation: () => conversation(5),
      onOpen: (id) => opened.push(id),
      onNewest: () => undefined,
    });
    histories.reopen("c");
    histories.timeline("c");
    histories.reopen("d");
    histories.reopen("c");
    expect(opened).toEqual(["c", "d", "c"]);
  });
});
