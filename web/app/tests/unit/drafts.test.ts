import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Drafts } from "../../src/model/drafts.js";
import { conversation } from "./samples.js";

const LATER_MS = 10_000;

class Server {
  readonly saved: unknown[] = [];
  failing = false;
  hold: Promise<void> = Promise.resolve();

  async save(update: unknown): Promise<void> {
    await this.hold;
    if (this.failing) {
      throw new Error("no connection");
    }
    this.saved.push(update);
  }
}

function setting(stored = "{}", storage = new Map([["drafts", stored]])) {
  const server = new Server();
  const drafts = new Drafts(
    {
      getItem: (key) => storage.get(key) ?? null,
      setItem: (key, value) => storage.set(key, value),
    },
    "drafts",
    (_, update) => server.save(update),
  );
  return { server, drafts, stored: () => JSON.parse(storage.get("drafts") ?? "") as unknown };
}

function withDraft(text: string) {
  const known = conversation(1);
  return { ...known, me: { ...known.me, draft: saved(text) } };
}

function saved(text: string) {
  return { text, updated_at: "2026-03-01T12:00:00Z" };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a draft for a thread", () => {
  it("survives a reload until it is sent, and is then deleted", () => {
    const storage = new Map<string, string>();
    const { drafts, server } = setting("{}", storage);
    drafts.changeInThread("m1", "hi");
    drafts.changeInThread("m2", "ho");
    drafts.changeInThread("m2", "");
    const after = setting("{}", storage).drafts;
    expect([after.inThread("m1"), after.inThread("m2")]).toEqual(["hi", ""]);
    expect(server.saved).toEqual([]);

    Drafts.forget({ removeItem: (key) => storage.delete(key) }, "drafts");
    expect([...storage.keys()]).toEqual([]);
  });
});

describe("a draft", () => {
  it("is stored locally at once, and saved once after the last keystroke", async () => {
    const { server, drafts, stored } = setting();
    drafts.change("c", { text: "h" });
    drafts.change("c", { text: "hi", replyTo: "m1" });
    expect(stored()).toEqual({ c: { text: "hi", replyTo: "m1" } });
    expect(server.saved).toEqual([]);
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(server.saved).toEqual([{ draft: { text: "hi", reply_to: "m1" } }]);
    expect(stored()).toEqual({});
  });

  it("stays as typed until the server's event arrives", async () => {
    const { drafts } = setting();
    drafts.change("c", { text: "newer" });
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(drafts.of(withDraft("older")).text).toBe("newer");
    drafts.heard("c", { draft: saved("newer") });
    expect(drafts.of(withDraft("older")).text).toBe("newer");
  });

  it("is replaced by that of another device, unless the user has typed since", async () => {
    const { drafts } = setting();
    drafts.change("c", { text: "mine" });
    drafts.heard("c", { draft: saved("from elsewhere") });
    expect(drafts.of(withDraft("from elsewhere")).text).toBe("mine");
    await vi.advanceTimersByTimeAsync(LATER_MS);
    drafts.heard("c", { draft: saved("later, from elsewhere") });
    expect(drafts.of(withDraft("later, from elsewhere")).text).toBe("later, from elsewhere");
  });

  it("is saved again if the user types during a save", async () => {
    const { server, drafts, stored } = setting();
    let letGo: () => void = () => undefined;
    server.hold = new Promise((resolve) => (letGo = resolve));
    drafts.change("c", { text: "one" });
    await vi.advanceTimersByTimeAsync(LATER_MS);
    drafts.change("c", { text: "one two" });
    letGo();
    await vi.advanceTimersByTimeAsync(0);
    expect(stored()).toEqual({ c: { text: "one two" } });
  });

  it("is saved when the connection is back, even after a reload", async () => {
    const { server, drafts, stored } = setting('{"c":{"text":"from before"}}');
    expect(drafts.of(conversation(1)).text).toBe("from before");
    server.failing = true;
    drafts.saveAll();
    await vi.advanceTimersByTimeAsync(0);
    expect(stored()).toEqual({ c: { text: "from before" } });
    server.failing = false;
    drafts.saveAll();
    await vi.advanceTimersByTimeAsync(0);
    expect(server.saved).toEqual([{ draft: { text: "from before", reply_to: null } }]);
    expect(stored()).toEqual({});
  });

  it("is removed on the server when it is empty", async () => {
    const { server, drafts } = setting();
    drafts.change("c", { text: "" });
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(server.saved).toEqual([{ draft: null }]);
    expect(drafts.of(withDraft("sent meanwhile")).text).toBe("");
  });
});
