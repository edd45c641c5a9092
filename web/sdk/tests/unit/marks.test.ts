/** Cursors, typing and presence: what is sent, and how rarely. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { problem } from "../fake/http.js";
import { startLive, Taker } from "../fake/live.js";
import { C, entry, ME, PEER, range, syncPage } from "../fake/samples.js";
import { FakeServer, settle } from "../fake/socket.js";
import { stopTime } from "../fake/time.js";

beforeEach(stopTime);
afterEach(() => {
  vi.useRealTimers();
});

const ACKNOWLEDGE_AFTER_MS = 200;
const BACKOFF_FIRST_MS = 500;
/** Cursors of others that wait for a slow application. */
const MARKS_KEPT_MAX = 1_000;

async function online() {
  const server = new FakeServer();
  const live = await startLive(server);
  const taker = new Taker(live);
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  return { server, live, taker, peer };
}

test("taken entries are acknowledged together after a delay, and only forward", async () => {
  const { live, peer } = await online();
  peer.entries(C, [1, 2, 3]);
  live.read(C, 2);
  live.read(C, 1);
  await settle();
  expect(await peer.pending()).toEqual([]);
  await vi.advanceTimersByTimeAsync(ACKNOWLEDGE_AFTER_MS);
  const { id, body } = await peer.command("cursor");
  expect(body).toEqual({ conversation_id: C, delivered: 3, read: 2 });
  // The same move is not sent again, neither in flight nor after its reply.
  live.read(C, 2);
  peer.ok(id, "cursor", { user_id: ME, delivered: 3, read: 2 });
  await settle();
  live.read(C, 1);
  await vi.advanceTimersByTimeAsync(ACKNOWLEDGE_AFTER_MS);
  expect(await peer.pending()).toEqual([]);
  live.read(C, 3);
  await settle();
  await vi.advanceTimersByTimeAsync(ACKNOWLEDGE_AFTER_MS);
  expect((await peer.command("cursor")).body).toEqual({ conversation_id: C, read: 3 });
});

test("own messages need no acknowledgement", async () => {
  const { peer } = await online();
  peer.event("entry", { conversation_id: C, ...entry(C, 1, { sender_id: ME }) });
  await settle();
  await vi.advanceTimersByTimeAsync(ACKNOWLEDGE_AFTER_MS);
  expect(await peer.pending()).toEqual([]);
});

test("a lost cursor move is sent again, merged with later ones", async () => {
  const { server, live, peer } = await online();
  live.read(C, 3);
  await settle();
  await vi.advanceTimersByTimeAsync(ACKNOWLEDGE_AFTER_MS);
  await peer.command("cursor");
  peer.drop();
  live.read(C, 5);
  await settle();
  await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS);
  const next = await server.synced(syncPage("t2"));
  const { id, body } = await next.peer.command("cursor");
  expect(body).toEqual({ conversation_id: C, read: 5 });
  next.peer.error(id, problem({ code: "unavailable", status: 503, temporary: true, retry_after: 2 }));
  await settle();
  await vi.advanceTimersByTimeAsync(2_000);
  const again = await next.peer.command("cursor");
  next.peer.error(again.id, problem({ code: "not_found", status: 404 }));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await next.peer.pending()).not.toContain("cursor");
});

test("cursors of others that a slow application missed are synced again", async () => {
  const server = new FakeServer();
  const live = await startLive(server, { updatesBufferedMax: 4 });
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  const members = range(1, MARKS_KEPT_MAX + 10).map((member) => `${member}`);
  for (const user_id of members) {
    peer.event("cursor", { conversation_id: C, user_id, delivered: 7, read: 7 });
  }
  expect(await peer.pending()).toEqual([]);
  const taker = new Taker(live);
  const { id, body } = await peer.command("sync");
  expect(body.since).toBe("t1");
  const cursors = members.map((user_id) => ({ user_id, delivered: 7, read: 7 }));
  peer.ok(id, "sync", syncPage("t2", {}, { cursors: [{ conversation_id: C, cursors }] }));
  const told = (await taker.of("cursor")).map(({ cursor }) => cursor.user_id);
  expect(new Set(told)).toEqual(new Set(members));
});

test("typing notices are throttled", async () => {
  const { live, peer } = await online();
  const told = async () => (await peer.pending()).length;
  live.typing(C, false);
  expect(await told()).toBe(0);
  live.typing(C, true);
  live.typing(C, true);
  expect((await peer.command("typing")).body).toEqual({ conversation_id: C, typing: true });
  expect(await told()).toBe(0);
  await vi.advanceTimersByTimeAsync(3_000);
  live.typing(C, true);
  await peer.command("typing");
  live.typing(C, false);
  live.typing(C, false);
  expect((await peer.command("typing")).body.typing).toBe(false);
  expect(await told()).toBe(0);
});

test("presence is watched again after a disconnect", async () => {
  const { server, live, taker, peer } = await online();
  live.watchPresence([PEER]);
  const { id, body } = await peer.command("watch_presence");
  expect(body).toEqual({ user_ids: [PEER] });
  peer.ok(id, "watch_presence", { presence: [{ user_id: PEER, online: true }] });
  peer.event("presence", { user_id: PEER, online: false });
  expect((await taker.of("presence")).map(({ presence }) => presence.online)).toEqual([true, false]);
  peer.drop();
  await settle();
  await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS);
  const next = await server.synced(syncPage("t2"));
  expect((await next.peer.command("watch_presence")).body).toEqual({ user_ids: [PEER] });
  expect(() => live.watchPresence(Array.from({ length: 201 }, () => PEER))).toThrow(RangeError);
});
