/** Requests, refusals, timeouts. */

import { afterEach, describe, expect, test, vi } from "vitest";

import {
  ApiError,
  Http,
  MemoryDeviceProofs,
  MemoryTokenStore,
  ProtocolError,
  TimeoutError,
  TransportError,
  WebDeviceProofs,
} from "../../src/index.js";
import { FakeHttp, type Handler, json, refusal } from "../fake/http.js";
import { C, PEER, tokens } from "../fake/samples.js";

afterEach(() => {
  vi.useRealTimers();
});

function client(handler: Handler) {
  const server = new FakeHttp(handler);
  const http = new Http({
    baseUrl: "http://chat.test/",
    fetch: server.fetch,
    tokens: new MemoryTokenStore(tokens(1)),
  });
  return { http, server };
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a request has the path, the query, the body and the token", async () => {
  const { http, server } = client(() => json({ receipts: [] }));
  await http.messages.receipts("7/8", { limit: 3 });
  await http.conversations.updateMembership(C, { pinned: true, draft: null });
  expect(server.requests).toEqual([
    {
      method: "GET",
      path: "/v1/messages/7%2F8/receipts",
      query: "?limit=3",
      authorization: "Bearer access-1",
      body: undefined,
    },
    {
      method: "PATCH",
      path: `/v1/conversations/${C}/me`,
      query: "",
      authorization: "Bearer access-1",
      body: { pinned: true, draft: null },
    },
  ]);
});

test("ids above 2^53 stay strings, and positions are numbers below", async () => {
  const { http, server } = client(() =>
    json({ messages: [{ id: C, sender_id: PEER }], more_before: false, more_after: false }),
  );
  const page = await http.messages.history(C, { around: C }, 5);
  expect(page.messages[0]).toMatchObject({ id: "118059912994951171", sender_id: "118059912994951169" });
  await http.messages.history(C, { before: 41 });
  expect(server.requests.map((request) => request.query)).toEqual([`?around=${C}&limit=5`, "?before=41"]);
});

test("created and existing values are distinguished", async () => {
  let status = 201;
  const { http } = client(() => json({ id: C }, status));
  expect(await http.conversations.open({ kind: "direct", user_id: PEER })).toMatchObject({ isNew: true });
  status = 200;
  expect(await http.conversations.open({ kind: "direct", user_id: PEER })).toMatchObject({ isNew: false });
});

test("a refusal contains the problem of the server", async () => {
  const { http } = client(() =>
    refusal({ code: "invalid_field", status: 400, field: "name", detail: "must not be empty" }),
  );
  const error = await failure(http.conversations.update(C, { name: "" }));
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    code: "invalid_field",
    status: 400,
    field: "name",
    detail: "must not be empty",
    temporary: false,
  });
});

test("a refusal by a proxy is an error too, and its Retry-After header is honoured", async () => {
  const { http } = client(() => new Response(null, { status: 503, headers: { "retry-after": "5" } }));
  const error = await failure(http.accounts.me());
  expect(error).toMatchObject({ code: "unknown", status: 503, temporary: true, retryAfterMs: 5_000 });
});

test("a response without JSON is a protocol error, and no response is a transport error", async () => {
  const broken = client(() => new Response("{", { headers: { "content-type": "application/json" } }));
  expect(await failure(broken.http.accounts.me())).toBeInstanceOf(ProtocolError);
  const down = client(() => Promise.reject(new TypeError("fetch failed")));
  expect(await failure(down.http.accounts.me())).toBeInstanceOf(TransportError);
});

/** Never answers, and rejects when it is aborted, as `fetch` does. */
const silence: Handler = (_request, signal) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(new DOMException("", "AbortError"))),
  );

test("a request without a response times out", async () => {
  vi.useFakeTimers();
  const { http } = client(silence);
  const failed = failure(http.accounts.me());
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await failed).toBeInstanceOf(TimeoutError);
});

test("a request can be aborted before and while it runs", async () => {
  const { http, server } = client(silence);
  const controller = new AbortController();
  const failed = failure(http.accounts.me({ signal: controller.signal }));
  controller.abort();
  expect(await failed).toMatchObject({ name: "AbortError" });
  expect(await failure(http.accounts.me({ signal: controller.signal }))).toMatchObject({
    name: "AbortError",
  });
  expect(server.requests).toHaveLength(1);
});

test("the device proof is sent with the next sign-in, even after a sign-out", async () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  let proofs = 0;
  const server = new FakeHttp(({ path }) =>
    path === "/v1/sessions"
      ? json(
          { user: { handle: "ada" }, device: {}, tokens: tokens(1), device_proof: `proof-${++proofs}` },
          201,
        )
      : json({}),
  );
  const open = () =>
    new Http({
      baseUrl: "http://chat.test",
      fetch: server.fetch,
      deviceProofs: new WebDeviceProofs(storage, "devices"),
    });
  const http = open();
  await http.auth.signIn({ handle: "Ada", password: "secret words" });
  await http.auth.signOut();
  await open().auth.signIn({ handle: "ADA", password: "secret words" });
  await open().auth.signIn({ handle: "bob", password: "secret words" });
  const sent = server.requests.filter((request) => request.path === "/v1/sessions");
  expect(sent.map((request) => (request.body as { device_proof: unknown }).device_proof)).toEqual([
    null,
    "proof-1",
    null,
  ]);
});

test("the device proof of a renamed user is kept", async () => {
  const signedIn = { user: { handle: "ada" }, device: {}, tokens: tokens(1), device_proof: "proof-1" };
  let handle = "ada";
  const server = new FakeHttp(({ path, method }) => {
    if (path === "/v1/sessions") {
      return json(signedIn, 201);
    }
    if (method === "PATCH") {
      handle = "lovelace";
    }
    return json({ handle });
  });
  const deviceProofs = new MemoryDeviceProofs();
  const http = new Http({ baseUrl: "http://chat.test", fetch: server.fetch, deviceProofs });
  await http.auth.signIn({ handle: "ada", password: "secret words" });
  await http.accounts.updateMe({ handle: "lovelace" });
  expect(deviceProofs.get("lovelace")).toBe("proof-1");
});

describe("device proofs", () => {
  const web = (stored: string | null) => {
    const storage = {
      getItem: () => stored,
      setItem: (_key: string, value: string) => void (stored = value),
    };
    return new WebDeviceProofs(storage, "devices");
  };

  test.each(["{", "null", "7", '["ada"]', '{"ada":{}}'])(
    "a stored %s is invalid and is replaced",
    (broken) => {
      const proofs = web(broken);
      expect(proofs.get("ada")).toBeUndefined();
      proofs.set("ada", "proof-1");
      expect(proofs.get("Ada")).toBe("proof-1");
    },
  );

  test.each(["__proto__", "constructor"])("%s is an ordinary handle", (handle) => {
    for (const proofs of [web(null), new MemoryDeviceProofs()]) {
      expect(proofs.get(handle)).toBeUndefined();
      proofs.set(handle, "proof-1");
      proofs.set("ada", "proof-2");
      expect(proofs.get(handle)).toBe("proof-1");
    }
  });

  test("sign-in works if the storage is full or not allowed", async () => {
    const closed = (): never => {
      throw new Error("QuotaExceededError");
    };
    const signedIn = { user: { handle: "ada" }, device: {}, tokens: tokens(1), device_proof: "proof-1" };
    const http = new Http({
      baseUrl: "http://chat.test",
      fetch: new FakeHttp(() => json(signedIn, 201)).fetch,
      deviceProofs: new WebDeviceProofs({ getItem: closed, setItem: closed }, "devices"),
    });
    await http.auth.signIn({ handle: "ada", password: "secret words" });
    expect(http.auth.accessToken).toBe("access-1");
  });

  test("the proofs of the latest sign-ins are kept", () => {
    const proofs = web(null);
    for (let number = 0; number < 17; number++) {
      proofs.set(`ada${number}`, `proof-${number}`);
    }
    expect(proofs.get("ada0")).toBeUndefined();
    expect(proofs.get("ada1")).toBe("proof-1");
  });
});
