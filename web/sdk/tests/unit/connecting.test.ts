/** Reconnecting: when, with which tokens, and when not. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { CloseCode, Http, MemoryTokenStore, ProcessLocks, type Signal } from "../../src/index.js";
import { FakeHttp, json, problem, refusal } from "../fake/http.js";
import { startLive, Taker } from "../fake/live.js";
import { C, syncPage, tokens } from "../fake/samples.js";
import { FakeServer, settle, signedIn } from "../fake/socket.js";
import { stopTime } from "../fake/time.js";

beforeEach(stopTime);
afterEach(() => {
  vi.useRealTimers();
});

/** A page whose network and visibility the test controls. */
class FakeEnvironment {
  private listener: (signal: Signal) => void = () => undefined;

  subscribe(listener: (signal: Signal) => void): () => void {
    this.listener = listener;
    return () => (this.listener = () => undefined);
  }

  signal(signal: Signal): void {
    this.listener(signal);
  }
}

function httpWith(handler: ConstructorParameters<typeof FakeHttp>[0]) {
  const web = new FakeHttp(handler);
  const store = new MemoryTokenStore(tokens(1));
  return {
    web,
    http: new Http({
      baseUrl: "http://chat.test",
      fetch: web.fetch,
      tokens: store,
      locks: new ProcessLocks(),
    }),
  };
}

test("the backoff doubles up to a limit, and resets after a stable connection", async () => {
  const server = new FakeServer();
  server.down = true;
  const taker = new Taker(await startLive(server));
  await settle();
  for (const waitMs of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    const attempts = server.attempts;
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(server.attempts).toBe(attempts);
    await vi.advanceTimersByTimeAsync(1);
    await settle();
    expect(server.attempts).toBe(attempts + 1);
  }
  server.down = false;
  await vi.advanceTimersByTimeAsync(30_000);
  const { peer } = await server.synced(syncPage("t1"));
  await vi.advanceTimersByTimeAsync(10_000);
  peer.drop();
  await settle();
  expect((await taker.of("connection")).at(-1)).toMatchObject({
    connection: { state: "offline", retryInMs: 500 },
  });
});

test("the backoff is randomized", async () => {
  const server = new FakeServer();
  server.down = true;
  const live = await startLive(server, { random: () => 0 });
  await settle();
  expect(live.connection).toMatchObject({ state: "offline", retryInMs: 250 });
});

test("the client waits as long as an overloaded server asks", async () => {
  const server = new FakeServer();
  const environment = new FakeEnvironment();
  await startLive(server, { environment });
  const peer = await server.connection();
  const { id } = await peer.command("sign_in");
  peer.error(id, problem({ code: "unavailable", status: 503, temporary: true, retry_after: 8 }));
  await settle();
  // Even a restored network does not shorten this wait.
  environment.signal("online");
  await vi.advanceTimersByTimeAsync(7_999);
  await server.nobodyConnects();
  await vi.advanceTimersByTimeAsync(1);
  await server.connection();
});

test("a restart announces when to reconnect, and does not count as a failure", async () => {
  const server = new FakeServer();
  const live = await startLive(server);
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  peer.event("reconnect", { after_ms: 3_000 });
  await settle();
  expect(peer.left).toBe(true);
  expect(live.connection).toMatchObject({ state: "offline", retryInMs: 3_000 });
  await vi.advanceTimersByTimeAsync(2_999);
  await server.nobodyConnects();
  await vi.advanceTimersByTimeAsync(1);
  expect((await server.synced(syncPage("t2"))).since).toBe("t1");
});

test("close codes decide whether the client reconnects", async () => {
  const comesBack = [
    1006,
    CloseCode.SERVICE_RESTART,
    CloseCode.TOO_SLOW,
    CloseCode.TOKEN_EXPIRED,
    CloseCode.SIGN_IN_TIMEOUT,
  ];
  for (const code of comesBack) {
    const server = new FakeServer();
    await startLive(server);
    const { peer } = await server.synced(syncPage("t1"));
    peer.closeWith(code);
    await settle();
    await vi.advanceTimersByTimeAsync(500);
    await server.connection();
  }
  const reasons = [
    [CloseCode.SIGNED_OUT, { by: "sign_out" }],
    [CloseCode.FLOOD, { by: "server", closeCode: 4006 }],
    [CloseCode.REPLACED, { by: "server", closeCode: 4007 }],
  ] as const;
  for (const [code, reason] of reasons) {
    const server = new FakeServer();
    const live = await startLive(server);
    const { peer } = await server.synced(syncPage("t1"));
    peer.closeWith(code);
    await settle();
    expect(live.connection).toMatchObject({ state: "stopped", reason });
    await expect(live.online()).rejects.toMatchObject({ name: "StoppedError" });
    await vi.advanceTimersByTimeAsync(60_000);
    await server.nobodyConnects();
  }
});

test("an expired token is refreshed before the sign-in, and an ended session stops", async () => {
  for (const over of [false, true]) {
    const server = new FakeServer();
    const { http } = httpWith(() =>
      over ? refusal({ code: "refresh_reused", status: 401 }) : json(tokens(2)),
    );
    const live = await startLive(server, { http });
    const peer = await server.connection();
    const first = await peer.command("sign_in");
    expect(first.body.access_token).toBe("access-1");
    peer.error(first.id, problem({ code: "token_expired", status: 401 }));
    if (over) {
      await settle();
      expect(live.connection).toEqual({
        state: "stopped",
        reason: { by: "sign_out", code: "refresh_reused" },
      });
    } else {
      const second = await peer.command("sign_in");
      expect(second.body.access_token).toBe("access-2");
    }
  }
});

test("the lifetime of tokens is measured by the server's clock", async () => {
  for (const clock of ["1999-01-01T00:00:00Z", "2077-01-01T00:00:00Z"]) {
    vi.setSystemTime(clock);
    const server = new FakeServer();
    const { http, web } = httpWith(() => json(tokens(2)));
    const taker = new Taker(await startLive(server, { http }));
    const peer = await server.connection({ heartbeat_ms: 0 });
    const { id } = await peer.command("sign_in");
    // Fifteen minutes after the server's hello.
    peer.ok(id, "sign_in", signedIn("2026-11-15T08:45:00.000Z"));
    const sync = await peer.command("sync");
    peer.ok(sync.id, "sync", syncPage("t1"));
    await settle();
    await vi.advanceTimersByTimeAsync(14 * 60_000 - 1);
    expect(web.requests).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    const again = await peer.command("sign_in");
    expect(again.body.access_token).toBe("access-2");
    peer.ok(again.id, "sign_in", signedIn("2026-11-15T08:59:00.000Z"));
    peer.entries(C, [1, 2]);
    expect(await taker.seqs(C)).toEqual([1, 2]);
  }
});

test("a restored network ends the backoff, and a doubtful connection is probed", async () => {
  const server = new FakeServer();
  const environment = new FakeEnvironment();
  const live = await startLive(server, { environment });
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  environment.signal("offline");
  await peer.command("ping");
  await vi.advanceTimersByTimeAsync(5_000);
  await settle();
  expect(live.connection).toMatchObject({ state: "offline" });
  environment.signal("online");
  await server.synced(syncPage("t2"));
  await settle();
  expect(live.connection).toEqual({ state: "online" });
});

test("cursor moves are sent before the page is frozen", async () => {
  const server = new FakeServer();
  const environment = new FakeEnvironment();
  const live = await startLive(server, { environment });
  const { peer } = await server.synced(syncPage("t1"));
  await settle();
  live.read(C, 7);
  expect(await peer.pending()).toEqual([]);
  environment.signal("hidden");
  expect((await peer.command("cursor")).body).toEqual({ conversation_id: C, read: 7 });
});

test("closing while there is no connection stops at once", async () => {
  const server = new FakeServer();
  server.down = true;
  const live = await startLive(server);
  await settle();
  await live.close();
  expect(live.connection).toEqual({ state: "stopped", reason: { by: "application" } });
});
