/** One connection: commands and replies, heartbeats, closing. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type Closed, Socket, type SocketEvent } from "../../src/index.js";
import { problem } from "../fake/http.js";
import { C } from "../fake/samples.js";
import { FakeServer, HEARTBEAT_MS, settle } from "../fake/socket.js";
import { stopTime } from "../fake/time.js";

beforeEach(stopTime);
afterEach(() => {
  vi.useRealTimers();
});

async function connect() {
  const server = new FakeServer();
  const events: SocketEvent[] = [];
  const ends: Closed[] = [];
  const connecting = Socket.connect({
    baseUrl: "https://chat.test/",
    webSocket: server.webSocket,
    onEvent: (event) => events.push(event),
    onClose: (closed) => ends.push(closed),
  });
  const peer = await server.connection();
  const socket = await connecting;
  return { socket, peer, events, ends };
}

test("a socket connects to the right URL, and returns the hello of the server", async () => {
  const { socket, peer } = await connect();
  expect(peer.url).toBe("wss://chat.test/v1/ws");
  expect(socket.hello.heartbeat_ms).toBe(HEARTBEAT_MS);
});

test("connecting times out, and reports a refusal", async () => {
  const server = new FakeServer();
  const silent = Socket.connect({ baseUrl: "http://chat.test", webSocket: server.webSocket });
  const failed = expect(silent).rejects.toMatchObject({ name: "TimeoutError" });
  await vi.advanceTimersByTimeAsync(10_000);
  await failed;
  server.down = true;
  const refused = Socket.connect({ baseUrl: "http://chat.test", webSocket: server.webSocket });
  await expect(refused).rejects.toMatchObject({ name: "SocketClosedError", closed: { by: "network" } });
});

test("replies are matched with commands in any order", async () => {
  const { socket, peer } = await connect();
  const one = socket.command("log", { conversation_id: C, after: 1 });
  const two = socket.command("typing", { conversation_id: C, typing: true });
  const [first, second] = [await peer.command("log"), await peer.command("typing")];
  peer.error(second.id, problem({ code: "forbidden", status: 403 }));
  peer.ok(first.id, "log", {
    conversation_id: C,
    entries: [],
    begins: 1,
    head: 1,
    more: false,
    truncated: false,
  });
  await expect(two).rejects.toMatchObject({ name: "ApiError", code: "forbidden" });
  await expect(one).resolves.toMatchObject({ head: 1 });
});

test("the number of commands in flight is limited, and the others follow in order", async () => {
  const { socket, peer } = await connect();
  const all = Array.from({ length: 70 }, () => socket.command("ping", {}));
  expect(await peer.pending()).toHaveLength(64);
  const { id } = await peer.command("ping");
  peer.ok(id, "ping", {});
  await all[0];
  expect(await peer.pending()).toHaveLength(64);
  const refusals = Array.from({ length: 1_100 }, () => socket.command("ping", {}));
  const outcomes = Promise.allSettled(refusals);
  peer.drop();
  const names = (await outcomes).map((outcome) =>
    outcome.status === "rejected" ? (outcome.reason as Error).name : "",
  );
  expect(names.filter((name) => name === "BusyError").length).toBeGreaterThan(0);
  await Promise.allSettled(all);
});

test("a command that times out fails alone", async () => {
  const { socket, peer } = await connect();
  const unanswered = expect(socket.command("sync", {})).rejects.toMatchObject({ name: "TimeoutError" });
  const { id } = await peer.command("sync");
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS - 1);
  peer.event("catch_up", { after_ms: 0 });
  await vi.advanceTimersByTimeAsync(1);
  await unanswered;
  // A late reply is ignored.
  peer.ok(id, "sync", {
    conversations: [],
    cursors: [],
    gone: [],
    account: [],
    token: "t",
    more: false,
    truncated: false,
  });
  expect(socket.closed).toBeUndefined();
});

test("a frame that is too large is not sent", async () => {
  const { socket, peer } = await connect();
  const text = "ö".repeat(40_000);
  const send = socket.command("send", { conversation_id: C, client_id: "a", kind: "text", text });
  await expect(send).rejects.toMatchObject({ code: "too_large", temporary: false });
  expect(await peer.pending()).toEqual([]);
});

test("events are emitted in order, and unknown ones are skipped", async () => {
  const { peer, events } = await connect();
  peer.frame({ from_the_future: {} });
  peer.onmessage?.({ data: "not JSON" });
  peer.entries(C, [7]);
  expect(events.map((event) => event.type)).toEqual(["entry"]);
  const [event] = events;
  // Ids are above 2^53, so numbers would lose precision.
  expect(event?.type === "entry" && event.data.conversation_id).toBe("118059912994951171");
});

test("a silent server is pinged, and the socket closes without an answer", async () => {
  const { socket, peer, ends } = await connect();
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
  const { id } = await peer.command("ping");
  peer.ok(id, "ping", {});
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
  expect(socket.closed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
  expect(await peer.pending()).toEqual(["ping"]);
  const waiting = expect(socket.command("sync", {})).rejects.toMatchObject({ closed: { by: "silence" } });
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS - 1);
  expect(socket.closed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  expect(ends).toEqual([{ by: "silence" }]);
  expect(peer.left).toBe(true);
});

test("a probed connection without an answer closes soon", async () => {
  const { socket, peer } = await connect();
  socket.probe();
  const { id } = await peer.command("ping");
  peer.ok(id, "ping", {});
  await vi.advanceTimersByTimeAsync(5_000);
  expect(socket.closed).toBeUndefined();
  socket.probe();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(socket.closed).toEqual({ by: "silence" });
});

test("the end is reported once, with the reason of the server", async () => {
  const { socket, peer, ends } = await connect();
  const waiting = expect(socket.command("sync", {})).rejects.toMatchObject({ name: "SocketClosedError" });
  peer.closeWith(4004, "the client reads too slowly");
  peer.drop();
  socket.close();
  await settle();
  await waiting;
  expect(ends).toEqual([{ by: "server", code: 4004, reason: "the client reads too slowly" }]);
});
