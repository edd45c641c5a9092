import type { User } from "@godwit/sdk";
import { signal } from "@preact/signals";
import { describe, expect, it, vi } from "vitest";

import { Inbox } from "../../src/model/inbox.js";
import { People } from "../../src/model/people.js";
import { Presence } from "../../src/model/presence.js";
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

  it("show neither presence nor marks across a block, and show them again after it", () => {
    const watched: string[][] = [];
    const presence = new Presence((users) => watched.push(users));
    const inbox = new Inbox("ada");
    const peer: User = { id: "bob", handle: "bob", display_name: "Bob" };
    inbox.put({ ...conversation(7), id: "c", peer });
    presence.watch(["bob", "eve"]);
    presence.noted({ user_id: "bob", online: true });
    const refreshed: string[] = [];
    const blocked: boolean[] = [];
    const stores = {
      blocks: { noted: (_: string, now: boolean) => blocked.push(now) },
      inbox,
      presence,
      refresh: (id: string) => Promise.resolve(void refreshed.push(id)),
    };
    const updates = new Updates(stores as unknown as Stores);
    const change = (type: "user_blocked" | "user_unblocked", seq: number) =>
      updates.take({ type: "account", entry: { type, seq, at: "2026-01-01T10:00:00.000Z", user_id: "bob" } });
    change("user_blocked", 1);
    expect(presence.of("bob")).toBeUndefined();
    expect([blocked, refreshed, watched.length]).toEqual([[true], ["c"], 1]);
    change("user_unblocked", 2);
    expect([blocked, refreshed]).toEqual([
      [true, false],
      ["c", "c"],
    ]);
    expect(watched[1]).toEqual(["bob", "eve"]);
  });

  it("load a conversation again, once, after messages of it were deleted for the user alone", async () => {
    const [hidden, cached, refreshed]: [string[], string[], string[]] = [[], [], []];
    const inbox = new Inbox("ada");
    inbox.put({ ...conversation(7), id: "c" });
    const stores = {
      cache: { hide: (id: string, message: string) => cached.push(`${id} ${message}`) },
      histories: { hide: (message: string) => hidden.push(message) },
      inbox,
      refresh: (id: string) => Promise.resolve(void refreshed.push(id)),
    };
    const updates = new Updates(stores as unknown as Stores);
    for (const [seq, conversation_id, message_id] of [
      [1, "c", "m1"],
      [2, "c", "m2"],
      [3, "unknown", "m3"],
    ] as const) {
      const at = "2026-01-01T10:00:00.000Z";
      const entry = { type: "message_hidden" as const, seq, at, conversation_id, message_id };
      updates.take({ type: "account", entry });
    }
    expect([hidden, cached]).toEqual([
      ["m1", "m2", "m3"],
      ["c m1", "c m2", "unknown m3"],
    ]);
    await vi.waitFor(() => expect(refreshed).toEqual(["c"]));
  });
});
