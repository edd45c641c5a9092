/** Every entry exactly once and in order, whatever the network does. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { MemoryStorage, type ResumeState } from "../../src/index.js";
import { problem } from "../fake/http.js";
import { startLive, Taker } from "../fake/live.js";
import { C, conversation, D, logPage, PEER, range, syncPage } from "../fake/samples.js";
import { FakeServer, settle } from "../fake/socket.js";
import { stopTime } from "../fake/time.js";

beforeEach(stopTime);
afterEach(() => {
  vi.useRealTimers();
});

const BACKOFF_FIRST_MS = 500;

async function storageAt(state: ResumeState): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  await storage.checkpoint(state, {});
  return storage;
}

test("a gap is read from the log, and duplicates are dropped", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  peer.entries(C, [1, 2, 2, 1, 5, 6]);
  expect(await taker.seqs(C)).toEqual([1, 2]);
  const { id, body } = await peer.command("log");
  expect(body).toEqual({ conversation_id: C, after: 2, limit: 200 });
  // Early entries are held until the log was read.
  peer.entries(C, [7]);
  expect(await taker.seqs(C)).toEqual([1, 2]);
  peer.ok(id, "log", logPage(C, [3, 4, 5], 7));
  expect(await taker.seqs(C)).toEqual(range(1, 7));
  peer.entries(C, [7, 8]);
  expect(await taker.seqs(C)).toEqual(range(1, 8));
  expect(await peer.pending()).toEqual([]);
});

test("an entry that the server omits is read from the log", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  peer.entries(C, [1]);
  peer.event("entry_omitted", { conversation_id: C, seq: 2 });
  const { id, body } = await peer.command("log");
  expect(body).toEqual({ conversation_id: C, after: 1, limit: 200 });
  peer.ok(id, "log", logPage(C, [2], 2));
  expect(await taker.seqs(C)).toEqual([1, 2]);
  peer.event("entry_omitted", { conversation_id: C, seq: 2 });
  expect(await peer.pending()).toEqual([]);
});

test("a long log is read page by page", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const { peer, since } = await server.synced(syncPage("t1", { [C]: 450 }));
  expect(since).toBeUndefined();
  for (const after of [0, 200, 400]) {
    const { id, body } = await peer.command("log");
    expect(body.after).toBe(after);
    peer.ok(id, "log", logPage(C, range(after + 1, Math.min(after + 200, 450)), 450));
  }
  expect(await taker.seqs(C)).toEqual(range(1, 450));
  expect(await taker.kinds()).toContain("caught_up");
});

test("a disconnect in mid-stream is resumed in order", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const first = await server.synced(syncPage("t1"));
  await settle();
  first.peer.entries(C, [1, 2]);
  first.peer.drop();
  await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS);

  const second = await server.synced(syncPage("t2", { [C]: 4 }));
  expect(second.since).toBe("t1");
  const { id, body } = await second.peer.command("log");
  expect(body.after).toBe(2);
  // An event overtakes the page, and the page repeats it.
  second.peer.entries(C, [5]);
  second.peer.ok(id, "log", logPage(C, [3, 4, 5], 5));
  expect(await taker.seqs(C)).toEqual(range(1, 5));
});

test("a token is adopted only after its changes were delivered", async () => {
  const server = new FakeServer();
  const live = await startLive(server);
  const taker = new Taker(live);
  const first = await server.synced(syncPage("t1", { [C]: 3 }));
  await first.peer.command("log");
  first.peer.drop();
  await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS);
  // The log was not read: resuming from t1 would lose the entries.
  const second = await server.synced(syncPage("t2", { [C]: 3 }));
  expect(second.since).toBeUndefined();
  expect(live.state.token).toBeUndefined();
  const { id } = await second.peer.command("log");
  second.peer.ok(id, "log", logPage(C, [1, 2, 3], 3));
  expect(await taker.seqs(C)).toEqual([1, 2, 3]);
  expect(live.state).toEqual({ token: "t2", accountSeq: 0, seen: { [C]: 3 } });
});

test("a sync continues while there are more pages, and is retried after a failure", async () => {
  const server = new FakeServer();
  const taker = new Taker(
    await startLive(server, { storage: await storageAt({ token: "t0", accountSeq: 0, seen: {} }) }),
  );
  const peer = await server.signedIn();
  const unavailable = problem({ code: "unavailable", status: 503, temporary: true, retry_after: 7 });
  // The tokens of the round have expired. The client must not load everything again.
  const refused = problem({ code: "invalid_cursor", status: 400 });
  const answers = [
    { since: "t0", error: unavailable, waitMs: 7_000 },
    { since: "t0", page: syncPage("middle", {}, { more: true }), waitMs: 0 },
    { since: "middle", error: refused, waitMs: BACKOFF_FIRST_MS },
    { since: "t0", page: syncPage("t1"), waitMs: 0 },
  ];
  for (const { since, error, page, waitMs } of answers) {
    const { id, body } = await peer.command("sync");
    expect(body.since).toBe(since);
    if (error) {
      peer.error(id, error);
      await settle();
      await vi.advanceTimersByTimeAsync(waitMs - 1);
      expect(await peer.pending()).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
    } else {
      peer.ok(id, "sync", page);
    }
  }
  expect(await taker.kinds()).toEqual(["caught_up"]);
});

test("a truncated sync resets everything once", async () => {
  for (const refused of [false, true]) {
    const server = new FakeServer();
    const storage = await storageAt({ token: "old", accountSeq: 5, seen: { [C]: 10, [D]: 2 } });
    const live = await startLive(server, { storage, startAt: "head" });
    const taker = new Taker(live);
    const peer = await server.signedIn();
    const first = await peer.command("sync");
    expect(first.body.since).toBe("old");
    if (refused) {
      peer.error(first.id, problem({ code: "invalid_cursor", status: 400 }));
      await settle();
      await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS);
    } else {
      peer.ok(first.id, "sync", syncPage("t1", {}, { truncated: true }));
    }
    // The updates of a first start follow.
    const second = await peer.command("sync");
    expect(second.body.since).toBeUndefined();
    peer.ok(second.id, "sync", syncPage("t2", { [C]: 12 }));
    expect(await taker.kinds()).toEqual(["reset_all", "conversation", "caught_up"]);
    expect(live.state).toEqual({ token: "t2", accountSeq: 5, seen: { [C]: 12 } });
    peer.entries(C, [13]);
    expect(await taker.seqs(C)).toEqual([13]);
  }
});

test("a truncated log, or a server with fewer entries, resets one conversation", async () => {
  for (const [head, truncated] of [
    [9_000, true],
    [7, false],
  ] as const) {
    const server = new FakeServer();
    const storage = await storageAt({ token: "t0", accountSeq: 0, seen: { [C]: 10 } });
    const live = await startLive(server, { storage });
    const taker = new Taker(live);
    const { peer } = await server.synced(syncPage("t1", { [C]: head }));
    const { id } = await peer.command("log");
    if (truncated) {
      peer.ok(id, "log", logPage(C, [], head, { truncated }));
    } else {
      peer.error(id, problem({ code: "seq_ahead_of_log", status: 400 }));
    }
    expect(await taker.of("reset")).toEqual([{ type: "reset", conversationId: C, seq: head }]);
    peer.entries(C, [head + 1]);
    expect(await taker.seqs(C)).toEqual([head + 1]);
    expect(live.state.seen[C]).toBe(head + 1);
  }
});

test("a first start begins at the head, and later conversations at their first entry", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server, { startAt: "head" }));
  const peer = await server.signedIn();
  const { id } = await peer.command("sync");
  // Happens after the server has built the page, and arrives before it.
  peer.entries(C, [41]);
  peer.ok(id, "sync", syncPage("t1", { [C]: 40 }));
  const log = await peer.command("log");
  expect(log.body.after).toBe(40);
  peer.ok(log.id, "log", logPage(C, [41], 41));
  expect(await taker.seqs(C)).toEqual([41]);
  peer.entries(D, [1, 2]);
  expect(await taker.seqs(D)).toEqual([1, 2]);
});

test("a conversation begins at the first visible entry", async () => {
  const server = new FakeServer();
  const live = await startLive(server);
  const taker = new Taker(live);
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  peer.entries(C, [90]);
  const { id, body } = await peer.command("log");
  expect(body.after).toBe(0);
  peer.ok(id, "log", logPage(C, [89, 90], 90, { begins: 89 }));
  expect(await taker.seqs(C)).toEqual([89, 90]);
  expect(await taker.of("reset")).toEqual([]);
});

test("a gone conversation is reported and forgotten", async () => {
  const server = new FakeServer();
  const storage = await storageAt({ token: "t0", accountSeq: 3, seen: { [C]: 10, [D]: 2 } });
  const live = await startLive(server, { storage });
  const taker = new Taker(live);
  const at = "2026-11-15T08:30:00.125Z";
  const gone = { conversation_id: C, reason: "removed", at } as const;
  const { peer } = await server.synced(syncPage("t1", {}, { gone: [gone] }));
  expect(await taker.of("gone")).toHaveLength(1);
  peer.event("account", { seq: 4, at, type: "conversation_gone", conversation_id: D, reason: "deleted" });
  peer.event("account", { seq: 4, at, type: "conversation_gone", conversation_id: D, reason: "deleted" });
  expect(await taker.of("account")).toHaveLength(1);
  expect(live.state).toEqual({ token: "t1", accountSeq: 4, seen: {} });
});

test("account entries that arrive during a round are delivered after it", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const peer = await server.signedIn();
  const { id } = await peer.command("sync");
  const at = "2026-11-15T08:30:00.125Z";
  peer.event("account", { seq: 7, at, type: "user_blocked", user_id: PEER });
  const account = [
    { seq: 6, at, type: "profile_updated" } as const,
    { seq: 5, at, type: "device_added", device_id: "11" } as const,
  ];
  peer.ok(id, "sync", syncPage("t1", {}, { account }));
  expect((await taker.of("account")).map((update) => update.entry.seq)).toEqual([5, 6, 7]);
});

test("a departure during a round causes another round", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const peer = await server.signedIn();
  const first = await peer.command("sync");
  peer.event("account", {
    seq: 9,
    at: "2026-01-01T00:00:00Z",
    type: "conversation_gone",
    conversation_id: C,
    reason: "removed",
  });
  peer.ok(first.id, "sync", syncPage("t1", { [C]: 2 }));
  const second = await peer.command("sync");
  peer.ok(second.id, "sync", syncPage("t2", { [C]: 2 }));
  const { id } = await peer.command("log");
  peer.ok(id, "log", logPage(C, [1, 2], 2));
  expect(await taker.seqs(C)).toEqual([1, 2]);
});

test("a slow application gets every update", async () => {
  const server = new FakeServer();
  const live = await startLive(server, { updatesBufferedMax: 4 });
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  peer.entries(C, range(1, 20));
  expect(await peer.pending()).toEqual([]);
  const taker = new Taker(live);
  await settle();
  const { id, body } = await peer.command("log");
  expect(body.after).toBeLessThan(5);
  peer.ok(id, "log", logPage(C, range(body.after + 1, 20), 20));
  expect(await taker.seqs(C)).toEqual(range(1, 20));
});

test("a slow application that missed a renamed user gets another caught_up", async () => {
  const server = new FakeServer();
  const live = await startLive(server, { updatesBufferedMax: 4 });
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  for (const name of range(1, 20)) {
    peer.event("user_updated", { id: PEER, handle: "bob", display_name: `Bob ${name}` });
  }
  expect(await peer.pending()).toEqual([]);
  const taker = new Taker(live);
  const { id } = await peer.command("sync");
  expect((await taker.of("user_updated")).length).toBeLessThan(20);
  const before = (await taker.of("caught_up")).length;
  peer.ok(id, "sync", syncPage("t2"));
  expect(await taker.of("caught_up")).toHaveLength(before + 1);
  expect(await peer.pending()).toEqual([]);
});

test("a sync follows when the server reports lost events, and periodically", async () => {
  const server = new FakeServer();
  new Taker(await startLive(server));
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  peer.event("catch_up", { after_ms: 3_000 });
  await settle();
  await vi.advanceTimersByTimeAsync(2_999);
  expect(await peer.pending()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  const { id, body } = await peer.command("sync");
  expect(body.since).toBe("t1");
  peer.ok(id, "sync", syncPage("t2"));
  await settle();
  for (let minute = 0; minute < 15; minute += 1) {
    peer.event("presence", { user_id: PEER, online: true });
    await vi.advanceTimersByTimeAsync(60_000);
  }
  expect(await peer.pending()).toContain("sync");
});

test("an update that was taken but not processed is delivered again after a reload", async () => {
  const server = new FakeServer();
  const storage = new MemoryStorage();
  const live = await startLive(server, { storage });
  const { peer } = await server.synced(syncPage("t1", { [C]: 3 }));
  const { id } = await peer.command("log");
  peer.ok(id, "log", logPage(C, [1, 2, 3], 3));
  for (;;) {
    const update = await live.next();
    if (update?.type === "entry" && update.entry.seq === 2) {
      await live.checkpoint({ conversations: [conversation(C, 3)] });
    }
    if (update?.type === "entry" && update.entry.seq === 3) {
      break;
    }
  }
  // The page is reloaded while it processes the third.
  const again = await startLive(server, { storage });
  const taker = new Taker(again);
  expect(await storage.cachedConversations()).toHaveLength(1);
  const next = await server.synced(syncPage("t2", { [C]: 3 }));
  expect(next.since).toBeUndefined();
  const log = await next.peer.command("log");
  expect(log.body.after).toBe(2);
  next.peer.ok(log.id, "log", logPage(C, [3], 3));
  expect(await taker.seqs(C)).toEqual([3]);
});

test("unacknowledged entries are detected by the user's own cursor", async () => {
  const server = new FakeServer();
  const storage = await storageAt({ token: "t0", accountSeq: 0, seen: { [C]: 10 } });
  new Taker(await startLive(server, { storage }));
  const behind = conversation(C, 10);
  behind.me = { ...behind.me, delivered: 4, read: 4 };
  const { peer } = await server.synced(syncPage("t1", {}, { conversations: [behind] }));
  await settle();
  await vi.advanceTimersByTimeAsync(200);
  const { body } = await peer.command("cursor");
  expect(body).toEqual({ conversation_id: C, delivered: 10 });
});

test("cursors that moved in the meantime come with the sync", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  const cursor = { user_id: PEER, delivered: 3, read: 2 };
  await server.synced(syncPage("t1", {}, { cursors: [{ conversation_id: C, cursors: [cursor] }] }));
  expect(await taker.of("cursor")).toEqual([{ type: "cursor", cursor: { conversation_id: C, ...cursor } }]);
});

test("the page size shrinks after a page that was too large, down to one", async () => {
  const server = new FakeServer();
  const taker = new Taker(await startLive(server));
  for (const [failures, limit] of [200, 50, 12, 3, 1, 1].entries()) {
    const peer = await server.signedIn();
    const sync = await peer.command("sync");
    expect(sync.body.limit).toBe(limit);
    peer.ok(sync.id, "sync", syncPage("t1", { [C]: 1 }));
    expect((await peer.command("log")).body.limit).toBe(limit);
    peer.closeWith(4004, "the client reads too slowly");
    await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS * 2 ** failures);
  }
  const { peer } = await server.synced(syncPage("t1", { [C]: 1 }));
  const { id } = await peer.command("log");
  peer.ok(id, "log", logPage(C, [1], 1));
  expect(await taker.seqs(C)).toEqual([1]);
});
