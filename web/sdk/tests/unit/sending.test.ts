/** Messages arrive once and in order, whatever happens to the connection and to the page. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { MemoryStorage, ProcessLocks, textMessage } from "../../src/index.js";
import { problem } from "../fake/http.js";
import { startLive, Taker } from "../fake/live.js";
import { C, D, entry, ME, syncPage } from "../fake/samples.js";
import { FakeServer, settle } from "../fake/socket.js";
import { stopTime } from "../fake/time.js";

beforeEach(stopTime);
afterEach(() => {
  vi.useRealTimers();
});

const BACKOFF_FIRST_MS = 500;

function text(clientId: string) {
  return textMessage(`text of ${clientId}`, { clientId });
}

async function online(config: Parameters<typeof startLive>[1] = {}) {
  const server = new FakeServer();
  const live = await startLive(server, config);
  const taker = new Taker(live);
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  return { server, live, taker, peer };
}

test("a message is sent with its client id, and the caller gets the result", async () => {
  const { live, taker, peer } = await online();
  const sent = live.send(C, text("a"));
  const { id, body } = await peer.command("send");
  expect(body).toEqual({ conversation_id: C, client_id: "a", kind: "text", text: "text of a" });
  peer.ok(id, "send", { ...message(1, "a") });
  await expect(sent).resolves.toMatchObject({ seq: 1 });
  expect(await taker.kinds()).toEqual(["caught_up", "sending", "sent"]);
  expect(live.unsent()).toEqual([]);
});

test("each conversation has one message in flight, independently of others", async () => {
  const { live, taker, peer } = await online();
  for (const [conversation, clientId] of [
    [C, "c1"],
    [C, "c2"],
    [D, "d1"],
  ] as const) {
    await live.enqueue(conversation, text(clientId));
  }
  const c1 = await peer.command("send");
  const d1 = await peer.command("send");
  expect([c1.body.client_id, d1.body.client_id]).toEqual(["c1", "d1"]);
  expect(await peer.pending()).toEqual([]);
  peer.ok(d1.id, "send", message(1, "d1"));
  // The entry overtakes the acknowledgement.
  peer.event("entry", { conversation_id: C, ...entry(C, 1, { sender_id: ME, client_id: "c1" }) });
  peer.ok(c1.id, "send", message(1, "c1"));
  expect(await peer.acknowledge(2)).toBe("c2");
  expect((await taker.of("sent")).map((update) => update.clientId)).toEqual(["d1", "c1", "c2"]);
  expect(await taker.seqs(C)).toEqual([1]);
});

test("the application can set the send timeout", async () => {
  const { live, peer } = await online({ sendTimeoutMs: 60_000 });
  void live.send(C, text("a"));
  await peer.command("send");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await peer.pending()).toEqual([]);
});

test("a message whose acknowledgement was lost is sent again, and nothing overtakes it", async () => {
  const { server, live, peer } = await online();
  const sent = ["a", "b", "c"].map((clientId) => live.send(C, text(clientId)));
  expect(await peer.acknowledge(1)).toBe("a");
  // The server receives the message, and dies before it replies.
  const lost = await peer.command("send");
  expect(lost.body.client_id).toBe("b");
  peer.drop();
  await settle();
  await vi.advanceTimersByTimeAsync(BACKOFF_FIRST_MS);
  const next = await server.synced(syncPage("t2"));
  // At once, because a lost connection does not count as a failure of the message.
  const again = await next.peer.command("send");
  expect(again.body).toEqual(lost.body);
  next.peer.ok(again.id, "send", message(2, "b"));
  expect(await next.peer.acknowledge(3)).toBe("c");
  expect((await Promise.all(sent)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test("a message without a reply is sent again after the timeout", async () => {
  const { live, peer } = await online();
  const sent = live.send(C, text("a"));
  const first = await peer.command("send");
  await vi.advanceTimersByTimeAsync(4_999);
  expect(await peer.pending()).toEqual([]);
  peer.event("catch_up", { after_ms: 600_000 });
  await vi.advanceTimersByTimeAsync(1 + BACKOFF_FIRST_MS);
  const second = await peer.command("send");
  expect(second.body).toEqual(first.body);
  // A late reply to the first attempt must not settle the message: the next one would overtake the second attempt.
  await live.enqueue(C, text("b"));
  peer.ok(first.id, "send", message(1, "a"));
  expect(await peer.pending()).toEqual([]);
  peer.ok(second.id, "send", message(1, "a"));
  await expect(sent).resolves.toMatchObject({ seq: 1 });
});

test("the client waits as long as an overloaded server asks, and preserves the order", async () => {
  const { live, peer } = await online();
  await live.enqueue(C, text("a"));
  await live.enqueue(C, text("b"));
  const { id } = await peer.command("send");
  peer.error(id, problem({ code: "rate_limited", status: 429, temporary: true, retry_after: 9 }));
  await settle();
  await vi.advanceTimersByTimeAsync(8_999);
  expect(await peer.pending()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await peer.acknowledge(1)).toBe("a");
  expect(await peer.acknowledge(2)).toBe("b");
});

test("a refused message is reported and kept, and the next one is sent", async () => {
  const { live, taker, peer } = await online();
  const refused = live.send(C, text("a"));
  const outcome = expect(refused).rejects.toMatchObject({ name: "ApiError", code: "blocked" });
  await live.enqueue(C, text("b"));
  const { id } = await peer.command("send");
  peer.error(id, problem({ code: "blocked", status: 403 }));
  await outcome;
  expect(await peer.acknowledge(1)).toBe("b");
  expect(await taker.of("refused")).toMatchObject([
    { unsent: { clientId: "a", refusal: { code: "blocked" } } },
  ]);

  const name = { conversationId: C, clientId: "a" };
  expect(await live.retry(name)).toBe(true);
  expect(await live.retry(name)).toBe(false);
  expect(await peer.acknowledge(2)).toBe("a");
  expect(await taker.of("sent")).toHaveLength(2);
  expect(live.unsent()).toEqual([]);
});

test("a refused or queued message can be dropped, one in flight cannot", async () => {
  const { live, peer } = await online();
  for (const clientId of ["a", "b", "c"]) {
    await live.enqueue(C, text(clientId));
  }
  const { id } = await peer.command("send");
  expect(live.drop({ conversationId: C, clientId: "a" })).toBe(false);
  expect(live.drop({ conversationId: C, clientId: "b" })).toBe(true);
  peer.error(id, problem({ code: "forbidden", status: 403 }));
  expect(await peer.acknowledge(1)).toBe("c");
  await settle();
  expect(live.drop({ conversationId: C, clientId: "a" })).toBe(true);
  expect(live.drop({ conversationId: C, clientId: "a" })).toBe(false);
  expect(live.unsent()).toEqual([]);
});

test("a message that is too large for the server fails without a request", async () => {
  const { live, taker, peer } = await online();
  await live.enqueue(C, textMessage("x".repeat(70_000), { clientId: "a" }));
  expect(await taker.of("refused")).toMatchObject([{ unsent: { refusal: { code: "too_large" } } }]);
  expect(await peer.pending()).toEqual([]);
});

test("a repeated client id is one message, and both callers get the result", async () => {
  const { live, peer } = await online();
  const both = [live.send(C, text("a")), live.send(C, text("a"))];
  expect(await peer.acknowledge(1)).toBe("a");
  expect((await Promise.all(both)).map(({ seq }) => seq)).toEqual([1, 1]);
  expect(await peer.pending()).toEqual([]);
});

test("unsent messages survive a reload, in order and before later ones", async () => {
  const storage = new MemoryStorage();
  const { live, peer } = await online({ storage });
  for (const clientId of ["a", "b", "c"]) {
    await live.enqueue(C, text(clientId));
  }
  expect(await peer.acknowledge(1)).toBe("a");
  const { id } = await peer.command("send");
  peer.error(id, problem({ code: "forbidden", status: 403 }));
  await peer.command("send");

  // Separate locks, because the previous page is closed.
  const server = new FakeServer();
  const again = await startLive(server, { storage });
  const taker = new Taker(again);
  await again.enqueue(C, text("d"));
  const next = await server.synced(syncPage("t2"));
  expect(await next.peer.acknowledge(2)).toBe("c");
  expect(await next.peer.acknowledge(3)).toBe("d");
  expect(await taker.of("refused")).toMatchObject([
    { unsent: { clientId: "b", refusal: { code: "forbidden" } } },
  ]);
  expect(again.unsent()).toMatchObject([{ clientId: "b" }]);
});

test("a tab adopts the messages of another tab only when that tab is closed", async () => {
  const storage = new MemoryStorage();
  const locks = new ProcessLocks();
  const one = await online({ storage, locks });
  const two = await online({ storage, locks });
  await one.live.enqueue(C, text("a"));
  const { body } = await one.peer.command("send");
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await two.peer.pending()).toEqual([]);

  const closed = one.live.close();
  await vi.advanceTimersByTimeAsync(2_000);
  await closed;
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await two.peer.command("send")).body).toEqual(body);
  expect(await two.taker.of("sending")).toHaveLength(1);
});

test("closing waits for messages in flight, and fails the queued ones", async () => {
  const { live, taker, peer } = await online();
  const [going, waiting] = [live.send(C, text("a")), live.send(C, text("b"))];
  const stopped = expect(waiting).rejects.toMatchObject({
    name: "StoppedError",
    reason: { by: "application" },
  });
  const { id } = await peer.command("send");
  const closed = live.close();
  await settle();
  expect(peer.left).toBe(false);
  peer.ok(id, "send", message(1, "a"));
  await expect(going).resolves.toMatchObject({ seq: 1 });
  await closed;
  await stopped;
  expect(peer.left).toBe(true);
  expect((await taker.of("connection")).at(-1)).toMatchObject({ connection: { state: "stopped" } });
  await expect(live.enqueue(C, text("c"))).rejects.toMatchObject({ name: "StoppedError" });
});

function message(seq: number, clientId: string) {
  const sent = entry(C, seq, { sender_id: ME, client_id: clientId });
  if (sent.type !== "message") {
    throw new Error("the sample entry must be a message");
  }
  return sent.message;
}
