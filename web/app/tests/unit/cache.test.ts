import { type CacheChanges, type LogEntry, MemoryStorage } from "@godwit/sdk";
import { beforeEach, expect, it } from "vitest";

import { Cache } from "../../src/model/cache.js";
import { conversation, message, messageEntry } from "./samples.js";

const AT = "2026-03-01T12:00:00Z";
let storage: MemoryStorage;
let cache: Cache;

beforeEach(() => {
  storage = new MemoryStorage();
  const checkpoint = (changes: CacheChanges = {}) => storage.checkpoint({ accountSeq: 0, seen: {} }, changes);
  cache = new Cache("ada", storage, { checkpoint }, () => conversation(9));
});

function edited(seq: number, messageId: string, text: string): LogEntry {
  return { type: "edited", seq, at: AT, by: "bob", message_id: messageId, message_seq: 1, text };
}

async function texts(): Promise<(string | null | undefined)[]> {
  return (await storage.cachedMessages("c")).map((one) => one.text);
}

it("writes messages and later changes to them", async () => {
  cache.apply("c", messageEntry(message(1, "bob", "helo")));
  await cache.write();
  cache.apply("c", edited(2, "m1", "hello"));
  await cache.write();
  expect(await texts()).toEqual(["hello"]);
});

it("keeps a change that is newer than a page", async () => {
  cache.apply("c", edited(3, "m1", "hello"));
  cache.newest("c", [message(1, "bob", "helo"), message(2, "bob", "there")]);
  await cache.write();
  expect(await texts()).toEqual(["hello", "there"]);
});

it("drops cached messages before the newest page", async () => {
  cache.apply("c", messageEntry(message(1, "bob", "long ago")));
  await cache.write();
  cache.apply("c", edited(8, "m1", "very long ago"));
  cache.newest("c", [message(6, "bob", "now")]);
  await cache.write();
  expect(await texts()).toEqual(["now"]);
});

it("keeps a message that came while an older page was on its way", async () => {
  cache.apply("c", messageEntry(message(7, "bob", "just now")));
  await cache.write();
  cache.newest("c", [message(6, "bob", "before")]);
  await cache.write();
  expect(await texts()).toEqual(["before", "just now"]);
});

it("keeps a message that came before the first page of an empty conversation", async () => {
  cache.apply("c", messageEntry(message(2, "bob", "just now")));
  await cache.write();
  cache.newest("c", []);
  await cache.write();
  expect(await texts()).toEqual(["just now"]);
});

it("deletes a conversation that is gone", async () => {
  cache.apply("c", messageEntry(message(1, "bob", "a secret")));
  await cache.write();
  cache.apply("c", edited(2, "m1", "another secret"));
  cache.apply("c", messageEntry(message(3, "bob", "a third")));
  cache.forget("c");
  await cache.write();
  expect(await texts()).toEqual([]);
});

it("deletes the text of an expired message", async () => {
  cache.apply("c", messageEntry(message(1, "bob", "a secret")));
  await cache.write();
  cache.apply("c", { type: "expired", seq: 2, at: AT, message_ids: ["m1"] });
  await cache.write();
  expect(await texts()).toEqual([null]);
});

it("deletes a message that the user has deleted for themselves, and quotes of it", async () => {
  const quote = { message_id: "m1", seq: 1, sender_id: "bob", kind: "text" as const, preview: "a secret" };
  cache.apply("c", messageEntry(message(1, "bob", "a secret")));
  cache.apply("c", messageEntry({ ...message(2, "ada", "what?"), quote }));
  await cache.write();
  cache.apply("c", messageEntry(message(3, "bob", "nothing")));
  cache.hide("c", "m1");
  await cache.write();
  expect(await texts()).toEqual(["what?", "nothing"]);
  expect(JSON.stringify(await storage.cachedMessages("c"))).not.toContain("secret");
});
