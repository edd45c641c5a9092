import type { History, Message, MessagePage } from "@godwit/sdk";
import { describe, expect, it, vi } from "vitest";

import {
  KEPT_MESSAGES_MAX,
  PAGE_MESSAGES,
  STEP_MESSAGES,
  Timeline,
  WINDOW_MESSAGES_MAX,
} from "../../src/model/timeline.js";
import { conversation, message, messageEntry } from "./samples.js";

const ALL = 1_000;

/** A history of `ALL` messages. Each page waits until the test releases it. */
class Source {
  readonly asked: History[] = [];
  cachedMessages: Message[] = [];
  failing = false;
  hold: Promise<void> = Promise.resolve();

  readonly timeline = new Timeline({
    me: "ada",
    history: (asked, limit) => this.page(asked, limit),
    cached: () => Promise.resolve(this.cachedMessages),
    conversation: () => conversation(ALL),
    onNewest: () => undefined,
  });

  get seqs(): number[] {
    return this.timeline.messages.value.map((one) => one.seq);
  }

  private async page(asked: History, limit: number): Promise<MessagePage> {
    this.asked.push(asked);
    await this.hold;
    if (this.failing) {
      throw new Error("no connection");
    }
    const first = this.firstOf(asked, limit);
    const last = "before" in asked ? Number(asked.before) - 1 : Math.min(ALL, first + limit - 1);
    const messages = Array.from({ length: last - first + 1 }, (_, index) =>
      message(first + index, "bob", "hi"),
    );
    return { messages, more_before: first > 1, more_after: last < ALL };
  }

  private firstOf(asked: History, limit: number): number {
    if ("before" in asked) {
      return Math.max(1, Number(asked.before) - limit);
    }
    if ("after" in asked) {
      return Number(asked.after) + 1;
    }
    return "around" in asked ? Math.max(1, Number(asked.around) - limit / 2) : ALL - limit + 1;
  }
}

/** Waits until pending responses are processed. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

function expectNoGap(seqs: number[]): void {
  expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
}

describe("a timeline", () => {
  it("shows the cache first, and then the messages of the server", async () => {
    const source = new Source();
    source.cachedMessages = [message(3, "bob", "old")];
    let letGo: () => void = () => undefined;
    source.hold = new Promise((resolve) => (letGo = resolve));
    const opened = source.timeline.open(undefined, 0);
    await Promise.resolve();
    await Promise.resolve();
    expect(source.seqs).toEqual([3]);
    letGo();
    await opened;
    expect(source.seqs.at(-1)).toBe(ALL);
    expect(source.timeline.moreAfter.value).toBe(false);
  });

  it("opens at the first unread message if there are many", async () => {
    const source = new Source();
    await source.timeline.open(500, 500);
    expect(source.asked).toEqual([{ around: 500 }]);
    expect(source.timeline.moreAfter.value).toBe(true);
  });

  it("grows at both ends in small steps without a gap, and stays small", async () => {
    const source = new Source();
    const { timeline } = source;
    await timeline.open(undefined, 0);
    while (source.seqs[0] !== 1) {
      const { length } = source.seqs;
      timeline.showBefore();
      expectNoGap(source.seqs);
      expect(source.seqs.length).toBeLessThanOrEqual(Math.min(length + STEP_MESSAGES, WINDOW_MESSAGES_MAX));
      await settled();
    }
    expect(timeline.moreAfter.value).toBe(true);
    while (timeline.moreAfter.value) {
      const last = source.seqs.at(-1) ?? 0;
      timeline.showAfter();
      expectNoGap(source.seqs);
      expect(source.seqs.at(-1)).toBeLessThanOrEqual(last + STEP_MESSAGES);
      expect(source.seqs.length).toBeLessThanOrEqual(WINDOW_MESSAGES_MAX);
      await settled();
    }
    expect(source.seqs.at(-1)).toBe(ALL);
    // Each message is loaded at most once per direction.
    expect(source.asked.length).toBeLessThanOrEqual((2 * ALL) / PAGE_MESSAGES);
  });

  it("shows messages in memory without a request", async () => {
    const source = new Source();
    const { timeline } = source;
    await timeline.open(undefined, 0);
    timeline.showBefore();
    await settled();
    source.failing = true;
    for (let step = 0; step < 8; step += 1) {
      timeline.showBefore();
      await settled();
    }
    expect(source.seqs).toHaveLength(2 * PAGE_MESSAGES);
    expect(timeline.startShown.value).toBe(true);
    expect(timeline.failed.value).toBe("before");
    expect(await timeline.bring(`m${ALL}`)).toBe(true);
  });

  it("retries a failed load at the end, and stops at the beginning", async () => {
    const source = new Source();
    const { timeline } = source;
    await timeline.loadAround(1);
    source.failing = true;
    timeline.showAfter();
    await settled();
    expect(timeline.failed.value).toBe("after");
    source.failing = false;
    await timeline.retry();
    expect(timeline.failed.value).toBeUndefined();
    expect(source.seqs).toHaveLength(PAGE_MESSAGES + STEP_MESSAGES);
  });

  it("retries a failed load of the whole window", async () => {
    const source = new Source();
    const { timeline } = source;
    await timeline.loadAround(500);
    source.failing = true;
    await timeline.loadNewest();
    source.failing = false;
    await timeline.retry();
    expect(source.seqs.at(-1)).toBe(ALL);
  });

  it("moves to the end and to a message in memory outside of the window", async () => {
    const source = new Source();
    const { timeline } = source;
    await timeline.open(undefined, 0);
    while (!timeline.moreAfter.value) {
      timeline.showBefore();
      await settled();
    }
    source.failing = true;
    timeline.apply(messageEntry(message(ALL + 1, "bob", "new")));
    expect(source.seqs).not.toContain(ALL + 1);
    const [first] = source.seqs;
    await timeline.showNewest();
    expect(source.seqs.at(-1)).toBe(ALL + 1);
    expect(source.seqs).not.toContain(first);
    timeline.apply(messageEntry(message(ALL + 2, "bob", "newer")));
    expect(source.seqs.at(-1)).toBe(ALL + 2);
    expect(await timeline.bring(`m${first}`)).toBe(true);
    expect(source.seqs).toContain(first);
    expectNoGap(source.seqs);
  });

  it("stays small while many messages arrive", async () => {
    const source = new Source();
    const { timeline } = source;
    await timeline.open(undefined, 0);
    for (let seq = ALL + 1; seq <= ALL + 2 * KEPT_MESSAGES_MAX; seq += 1) {
      timeline.apply(messageEntry(message(seq, "bob", "new")));
    }
    expect(source.seqs).toHaveLength(WINDOW_MESSAGES_MAX);
    expect(source.seqs.at(-1)).toBe(ALL + 2 * KEPT_MESSAGES_MAX);
    expectNoGap(source.seqs);
  });

  it("appends new messages only at the end of the conversation", async () => {
    const source = new Source();
    await source.timeline.open(undefined, 0);
    source.timeline.apply(messageEntry(message(ALL + 1, "bob", "new")));
    expect(source.seqs.at(-1)).toBe(ALL + 1);
    await source.timeline.loadAround(100);
    source.timeline.apply(messageEntry(message(ALL + 2, "bob", "new")));
    expect(source.seqs.at(-1)).toBeLessThan(ALL);
  });

  it("applies entries that arrive during a load to the page", async () => {
    const source = new Source();
    let letGo: () => void = () => undefined;
    source.hold = new Promise((resolve) => (letGo = resolve));
    const loading = source.timeline.loadNewest();
    const at = "2026-03-01T13:00:00Z";
    source.timeline.apply({
      type: "edited",
      seq: ALL + 1,
      at,
      by: "bob",
      message_id: `m${ALL}`,
      message_seq: ALL,
      text: "ho",
    });
    source.timeline.apply(messageEntry(message(ALL + 2, "bob", "new")));
    letGo();
    await loading;
    expect(source.timeline.messages.value.slice(-2).map((one) => one.text)).toEqual(["ho", "new"]);
    expect(source.seqs).toHaveLength(PAGE_MESSAGES + 1);
  });

  it("keeps its messages when a load fails", async () => {
    const source = new Source();
    await source.timeline.open(undefined, 0);
    source.failing = true;
    await source.timeline.loadBefore();
    expect(source.timeline.failed.value).toBe("before");
    expect(source.seqs).toHaveLength(PAGE_MESSAGES);
    source.failing = false;
    await source.timeline.retry();
    expect(source.timeline.failed.value).toBeUndefined();
    expect(source.seqs).toHaveLength(PAGE_MESSAGES + STEP_MESSAGES);
  });

  it("counts each reply once, whether it is in the page or arrives after it", async () => {
    const source = new Source();
    await source.timeline.open(undefined, 0);
    const root = `m${ALL - 5}`;
    const reply = (seq: number) => messageEntry({ ...message(seq, "bob", "re"), thread_id: root });
    const count = () => source.timeline.messages.value.find((one) => one.id === root)?.replies ?? 0;
    source.timeline.apply(reply(ALL));
    expect(count()).toBe(0);
    source.timeline.apply(reply(ALL + 1));
    expect(count()).toBe(1);

    let letGo: () => void = () => undefined;
    source.hold = new Promise((resolve) => (letGo = resolve));
    const loading = source.timeline.loadBefore();
    source.timeline.apply(reply(ALL + 2));
    letGo();
    await loading;
    expect(count()).toBe(2);
  });

  it("follows a jump during the first load", async () => {
    const source = new Source();
    const opened = source.timeline.open(undefined, 0);
    const brought = source.timeline.bring("100");
    await Promise.all([opened, brought]);
    expect(source.asked).toEqual([{ around: "100" }]);
    expect(source.seqs).toContain(100);
  });

  it("stays unchanged when the target of a jump does not exist", async () => {
    const source = new Source();
    await source.timeline.open(undefined, 0);
    const before = source.seqs;
    source.failing = true;
    expect(await source.timeline.bring("100")).toBe(false);
    expect(source.seqs).toEqual(before);
    expect(source.timeline.failed.value).toBeUndefined();
  });

  it("has a new line before the new messages when it is opened again", async () => {
    const source = new Source();
    await source.timeline.open(ALL - 1, 1);
    source.timeline.reopen(undefined, 0);
    expect(source.timeline.unreadAfter.value).toBeUndefined();
    source.timeline.reopen(ALL, 1);
    expect(source.timeline.unreadAfter.value).toBe(ALL);
    expect(source.asked).toHaveLength(1);

    // A user who left the conversation far up sees its end again.
    await source.timeline.loadAround(100);
    source.timeline.reopen(undefined, 0);
    await vi.waitFor(() => expect(source.seqs.at(-1)).toBe(ALL));
  });

  it("does not bring back a message that the user deletes for themselves during a load", async () => {
    const source = new Source();
    let letGo: () => void = () => undefined;
    source.hold = new Promise((resolve) => (letGo = resolve));
    const loading = source.timeline.loadNewest();
    source.timeline.hide(`m${ALL - 1}`);
    letGo();
    await loading;
    expect(source.seqs.slice(-2)).toEqual([ALL - 2, ALL]);
  });
});
