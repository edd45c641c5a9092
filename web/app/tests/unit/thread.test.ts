import type { Message, ThreadPage } from "@godwit/sdk";
import { describe, expect, it } from "vitest";

import { Thread } from "../../src/model/thread.js";
import { message, messageEntry } from "./samples.js";

function reply(seq: number): Message {
  return { ...message(seq, "bob", `reply ${seq}`), thread_id: "m1" };
}

/** A thread that loads these pages one after the other. */
function threadOf(...pages: (Partial<ThreadPage> | Error)[]): Thread {
  return new Thread("m1", {
    me: "ada",
    page: () => {
      const page = pages.shift();
      return page instanceof Error
        ? Promise.reject(page)
        : Promise.resolve({ root: message(1, "ada", "root"), replies: [], ...page });
    },
  });
}

const texts = (thread: Thread) => thread.replies.value.map((one) => one.text);

describe("a thread", () => {
  it("appends new replies, and no other messages", async () => {
    const thread = threadOf({ replies: [reply(3)] });
    await thread.load();
    thread.apply(messageEntry(reply(3)));
    thread.apply(messageEntry(message(4, "bob", "something else")));
    thread.apply(messageEntry(reply(5)));
    expect(texts(thread)).toEqual(["reply 3", "reply 5"]);
  });

  it("omits new replies until all earlier pages are loaded", async () => {
    const thread = threadOf({ replies: [reply(2)], next: "more" }, { replies: [reply(3), reply(4)] });
    await thread.load();
    thread.apply(messageEntry(reply(4)));
    expect(texts(thread)).toEqual(["reply 2"]);
    await thread.load();
    thread.apply(messageEntry(reply(5)));
    expect(texts(thread)).toEqual(["reply 2", "reply 3", "reply 4", "reply 5"]);
  });

  it("includes replies that arrive during a load", async () => {
    const thread = threadOf({ replies: [reply(2)] });
    const loading = thread.load();
    thread.apply(messageEntry(reply(3)));
    await loading;
    expect(texts(thread)).toEqual(["reply 2", "reply 3"]);
  });

  it("shows no message that the user has deleted for themselves, also during a load, and no quote of it", async () => {
    const quote = { message_id: "m1", seq: 1, sender_id: "ada", kind: "text" as const, preview: "root" };
    const thread = threadOf({ replies: [{ ...reply(2), quote }, reply(3)] });
    const loading = thread.load();
    thread.hide("m3");
    await loading;
    thread.hide("m1");
    expect([thread.root.value, texts(thread)]).toEqual([undefined, ["reply 2"]]);
    expect(thread.replies.value[0]?.quote).toBeNull();
  });

  it("ignores a page from before a reload", async () => {
    const thread = threadOf({ replies: [reply(2)] }, { replies: [reply(2), reply(3)] });
    await Promise.all([thread.load(), thread.reload()]);
    expect(texts(thread)).toEqual(["reply 2", "reply 3"]);
    const failing = threadOf(new Error("no connection"), { replies: [reply(2)] });
    await Promise.all([failing.load(), failing.reload()]);
    expect([failing.failed.value, failing.loading.value]).toEqual([false, false]);
    expect(texts(failing)).toEqual(["reply 2"]);
  });

  it("survives the deletion of its root", async () => {
    const thread = threadOf({ replies: [reply(2)] });
    await thread.load();
    thread.apply({ type: "expired", seq: 9, at: "2026-03-01T13:00:00Z", message_ids: ["m1"] });
    expect(thread.root.value?.text).toBeNull();
    expect(texts(thread)).toEqual(["reply 2"]);
  });

  it("can be loaded again after a failure", async () => {
    const thread = threadOf(new Error("no connection"), { replies: [reply(2)] });
    await thread.load();
    expect(thread.failed.value).toBe(true);
    await thread.load();
    expect(thread.failed.value).toBe(false);
    expect(texts(thread)).toEqual(["reply 2"]);
  });
});
