/** Single-flight refresh, because refresh tokens are valid for one use. */

import { expect, test } from "vitest";

import { Http, MemoryTokenStore, ProcessLocks, type TokenStore } from "../../src/index.js";
import { FakeHttp, json, refusal } from "../fake/http.js";
import { tokens } from "../fake/samples.js";

/** Accepts one generation of tokens, and ends the session when a refresh token is reused, as the server does. */
class TokenServer {
  generation = 1;
  ended = false;
  refreshes = 0;
  /** Whether the next refresh fails temporarily. */
  unavailable = false;

  readonly http = new FakeHttp(({ path, authorization, body }) => {
    if (path === "/v1/sessions/refresh") {
      return this.refresh((body as { refresh_token: string }).refresh_token);
    }
    if (this.ended) {
      return refusal({ code: "unauthenticated", status: 401 });
    }
    if (authorization !== `Bearer access-${this.generation}`) {
      return refusal({ code: "token_expired", status: 401 });
    }
    if (path === "/v1/me/password") {
      this.generation += 1;
      return json({ tokens: tokens(this.generation) });
    }
    return json({ id: "1" });
  });

  /** Expires all access tokens. */
  expire(): void {
    this.generation += 1;
  }

  private refresh(token: string): Response {
    this.refreshes += 1;
    if (this.unavailable) {
      this.unavailable = false;
      return refusal({ code: "unavailable", status: 503, temporary: true, retry_after: 1 });
    }
    if (this.ended || token !== `refresh-${this.generation - 1}`) {
      this.ended = true;
      return refusal({ code: "refresh_reused", status: 401 });
    }
    return json(tokens(this.generation));
  }
}

function tab(server: TokenServer, store: TokenStore, locks: ProcessLocks): Http {
  return new Http({ baseUrl: "http://chat.test", fetch: server.http.fetch, tokens: store, locks });
}

function world() {
  const server = new TokenServer();
  const store = new MemoryTokenStore(tokens(1));
  const locks = new ProcessLocks();
  return { server, store, tabs: [tab(server, store, locks), tab(server, store, locks)] as const };
}

test("all requests of all tabs share one refresh", async () => {
  const { server, store, tabs } = world();
  server.expire();
  const requests = [1, 2, 3].flatMap(() => tabs.map((http) => http.accounts.me()));
  expect(await Promise.all(requests)).toHaveLength(6);
  expect(server.refreshes).toBe(1);
  expect(store.get()).toEqual(tokens(2));
});

test("a password change replaces the tokens without a concurrent refresh", async () => {
  const { server, store, tabs } = world();
  const change = { current_password: "old", new_password: "new" };
  await tabs[0].accounts.changePassword(change);
  expect(store.get()).toEqual(tokens(2));
  server.expire();
  await Promise.all([
    tabs[1].accounts.me(),
    tabs[0].accounts.changePassword(change),
    tabs[1].auth.renew("access-2"),
  ]);
  expect(server.ended).toBe(false);
  expect(store.get()).toEqual(tokens(4));
});

test("a request with a replaced token does not refresh again", async () => {
  const { server, tabs } = world();
  server.expire();
  expect(await tabs[0].auth.renew("access-1")).toBe("access-2");
  expect(await tabs[1].auth.renew("access-1")).toBe("access-2");
  expect(server.refreshes).toBe(1);
});

test("when the session ends, all callers fail and the token is not reused", async () => {
  const { server, tabs } = world();
  server.expire();
  server.ended = true;
  const stale = "access-1";
  const outcomes = await Promise.allSettled([tabs[0].auth.renew(stale), tabs[0].auth.renew(stale)]);
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "refresh_reused" } });
  }
  expect(server.refreshes).toBe(1);
  expect(tabs[1].auth.tokens).toBeUndefined();
});

test("a refresh that failed temporarily is repeated with the same token", async () => {
  const { server, tabs } = world();
  server.expire();
  server.unavailable = true;
  await expect(tabs[0].accounts.me()).rejects.toMatchObject({ code: "unavailable", retryAfterMs: 1_000 });
  await expect(tabs[0].accounts.me()).resolves.toBeDefined();
});

test("aborting a request does not abort the refresh", async () => {
  const { server, store, tabs } = world();
  server.expire();
  const controller = new AbortController();
  const request = tabs[0].accounts.me({ signal: controller.signal });
  const calledOff = expect(request).rejects.toMatchObject({ name: "AbortError" });
  // Between the refusal and the response to the refresh.
  while (server.refreshes === 0) {
    await Promise.resolve();
  }
  controller.abort();
  await calledOff;
  expect(store.get()).toEqual(tokens(2));
});

test("a refresh does not overwrite the tokens of a later sign-in", async () => {
  const { server, store, tabs } = world();
  server.expire();
  const renewal = tabs[0].auth.renew("access-1");
  while (server.refreshes === 0) {
    await Promise.resolve();
  }
  store.set(tokens(9));
  await renewal;
  expect(store.get()).toEqual(tokens(9));
});
