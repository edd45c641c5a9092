import type { User } from "@godwit/sdk";
import { signal } from "@preact/signals";
import { describe, expect, it, vi } from "vitest";

import { People } from "../../src/model/people.js";
import { type Stores, Updates } from "../../src/model/updates.js";
import { conversation } from "./samples.js";

// These modules need a page.
vi.mock("../../src/model/place.js", () => ({
  go: () => undefined,
  place: { value: { screen: "conversation", id: "c" } },
}));
vi.mock("../../src/model/notifications.js", () => ({}));

describe("updates", () => {
  it("reload known users when changes may have been missed", async () => {
    const bob: User = { id: "bob", handle: "bob", display_name: "Bob" };
    const people = new People(() => Promise.resolve([{ ...bob, display_name: "Robert" }]));
    people.learn(bob);
    const cache = { write: () => Promise.resolve() };
    const updates = new Updates({ people, cache, caughtUp: signal(false) } as unknown as Stores);
    updates.take({ type: "caught_up" });
    await vi.waitFor(() => expect(people.user("bob")?.display_name).toBe("Robert"));
  });

  it("load the cursors of an open conversation that changed while this client was away", () => {
    const completed: string[] = [];
    const stores = {
      cache: { changed: () => undefined },
      learn: () => undefined,
      completeCursors: (id: string) => completed.push(id),
    };
    const updates = new Updates(stores as unknown as Stores);
    updates.take({ type: "conversation", conversation: { ...conversation(7), id: "c" } });
    updates.take({ type: "conversation", conversation: { ...conversation(7), id: "d" } });
    expect(completed).toEqual(["c"]);
  });
});
