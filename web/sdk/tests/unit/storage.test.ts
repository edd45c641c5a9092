/** The contract of all storages, and the specifics of IndexedDB. */

import "fake-indexeddb/auto";

import { deleteDB, openDB } from "idb";
import { describe, expect, test } from "vitest";

import {
  type ClientStorage,
  IndexedDbStorage,
  MemoryStorage,
  MESSAGES_CACHED_MAX,
  ProcessLocks,
  Tab,
  textMessage,
} from "../../src/index.js";
import { C, conversation, D, ME, message, PEER, range } from "../fake/samples.js";

let accounts = 0;
const STORAGES: Record<string, () => Promise<ClientStorage>> = {
  memory: () => Promise.resolve(new MemoryStorage()),
  IndexedDB: () => IndexedDbStorage.open(`${ME}${(accounts += 1)}`),
};

const STATE = { token: "t1", accountSeq: 4, seen: { [C]: 9 } };

describe.each(Object.entries(STORAGES))("a storage in %s", (_name, open) => {
  test("is empty at first, and returns stored data", async () => {
    const storage = await open();
    expect(await storage.resumeState()).toBeUndefined();
    expect(await storage.cachedConversations()).toEqual([]);
    const messages = [message(C, 2), message(C, 1), message(D, 5)];
    await storage.checkpoint(STATE, { conversations: [conversation(C, 2), conversation(D, 5)], messages });
    expect(await storage.resumeState()).toEqual(STATE);
    expect((await storage.cachedConversations()).map(({ id }) => id)).toEqual([C, D]);
    expect((await storage.cachedMessages(C)).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(await storage.cachedMessages(D)).toEqual([message(D, 5)]);
  });

  test("keeps the newest messages of a conversation", async () => {
    const storage = await open();
    const seqs = range(1, MESSAGES_CACHED_MAX + 7);
    await storage.checkpoint(STATE, { messages: seqs.map((seq) => message(C, seq)) });
    await storage.checkpoint(STATE, { messages: [message(C, 3)] });
    const kept = (await storage.cachedMessages(C)).map(({ seq }) => seq);
    expect(kept).toEqual(range(8, MESSAGES_CACHED_MAX + 7));
  });

  test("deletes gone and reset conversations before it stores new data", async () => {
    const storage = await open();
    const conversations = [conversation(C, 2), conversation(D, 5)];
    const messages = [message(C, 1), message(D, 5)];
    await storage.checkpoint(STATE, { conversations, messages });
    await storage.checkpoint(STATE, { gone: [C], reset: [D], messages: [message(D, 9)] });
    expect(await storage.cachedConversations()).toEqual([conversation(D, 5)]);
    expect(await storage.cachedMessages(C)).toEqual([]);
    expect(await storage.cachedMessages(D)).toEqual([message(D, 9)]);
    await storage.checkpoint(STATE, { resetAll: true, conversations: [conversation(C, 3)] });
    expect(await storage.cachedConversations()).toEqual([conversation(C, 3)]);
    expect(await storage.cachedMessages(D)).toEqual([]);
  });

  test("keeps the outbox in order, and moves it as a whole", async () => {
    const storage = await open();
    const rows = [];
    for (const [owner, clientId] of [
      ["one", "a"],
      ["two", "b"],
      ["one", "c"],
    ] as const) {
      const row = { owner, conversationId: C, message: textMessage("x", { clientId }) };
      rows.push(await storage.addOutboxRow(row));
    }
    expect(await storage.outboxOwners()).toEqual(["one", "two"]);
    const adopted = await storage.adoptOutboxRows("one", "three");
    expect(adopted.map((row) => [row.owner, row.message.client_id])).toEqual([
      ["three", "a"],
      ["three", "c"],
    ]);
    expect((await storage.outboxOwners()).sort()).toEqual(["three", "two"]);
    expect(await storage.adoptOutboxRows("one", "four")).toEqual([]);
  });

  test("updates and removes rows of the outbox, and does not recreate them", async () => {
    const storage = await open();
    const row = await storage.addOutboxRow({ owner: "one", conversationId: C, message: textMessage("x") });
    const refusal = { code: "blocked", title: "blocked", status: 403, temporary: false } as const;
    await storage.updateOutboxRow({ ...row, refusal });
    expect(await storage.adoptOutboxRows("one", "two")).toEqual([{ ...row, owner: "two", refusal }]);
    await storage.removeOutboxRow(row.key);
    await storage.updateOutboxRow(row);
    expect(await storage.outboxOwners()).toEqual([]);
    const next = await storage.addOutboxRow({ owner: "one", conversationId: C, message: textMessage("y") });
    expect(next.key).toBeGreaterThan(row.key);
  });

  test("only the rows of closed tabs are adopted, and only once", async () => {
    const storage = await open();
    const locks = new ProcessLocks();
    const [gone, one, other] = [new Tab(storage, locks), new Tab(storage, locks), new Tab(storage, locks)];
    await Promise.all([gone.enter(), one.enter(), other.enter()]);
    for (const [tab, clientId] of [
      [gone, "a"],
      [one, "b"],
      [gone, "c"],
    ] as const) {
      await storage.addOutboxRow({
        owner: tab.id,
        conversationId: C,
        message: textMessage("x", { clientId }),
      });
    }
    expect(await other.adopt()).toEqual([]);
    gone.leave();
    await Promise.resolve();
    const adopted = await Promise.all([one.adopt(), other.adopt()]);
    expect(adopted.flat().map((row) => row.message.client_id)).toEqual(["a", "c"]);
  });
});

test("accounts do not see each other's data, and it can be deleted", async () => {
  const mine = await IndexedDbStorage.open(ME);
  const theirs = await IndexedDbStorage.open(PEER);
  await mine.checkpoint(STATE, {});
  expect(await theirs.resumeState()).toBeUndefined();
  mine.close();
  expect(await (await IndexedDbStorage.open(ME)).resumeState()).toEqual(STATE);
  await IndexedDbStorage.delete(ME);
  expect(await (await IndexedDbStorage.open(ME)).resumeState()).toBeUndefined();
});

test("a tab with a newer version of the database is not blocked", async () => {
  const account = `${ME}9999`;
  await IndexedDbStorage.open(account);
  const newer = await openDB(`godwit:${account}`, 1_000);
  expect([...newer.objectStoreNames]).toContain("outbox");
  newer.close();
  await deleteDB(`godwit:${account}`);
});
