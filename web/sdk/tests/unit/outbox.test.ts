/** The order of sends, without a connection. */

import { expect, test } from "vitest";

import { textMessage } from "../../src/index.js";
import { backoffMs } from "../../src/live/backoff.js";
import { Logs } from "../../src/live/logs.js";
import { Outbox } from "../../src/live/outbox.js";
import { C, D, entry, range } from "../fake/samples.js";

function outboxWith(...given: [conversation: string, clientId: string][]): Outbox {
  const outbox = new Outbox();
  for (const [conversation, clientId] of given) {
    outbox.push(conversation, textMessage("x", { clientId }));
  }
  return outbox;
}

function next(outbox: Outbox, now = 0): string | undefined {
  return outbox.next(now)?.message.client_id;
}

test("messages in flight are retried first after a disconnect, one per conversation", () => {
  const outbox = outboxWith([C, "c1"], [C, "c2"], [D, "d1"]);
  expect([next(outbox), next(outbox), next(outbox)]).toEqual(["c1", "d1", undefined]);
  outbox.disconnected();
  outbox.push("7", textMessage("x", { clientId: "e1" }));
  expect([next(outbox), next(outbox), next(outbox), next(outbox)]).toEqual(["c1", "d1", "e1", undefined]);
  outbox.settle(C);
  expect(next(outbox)).toBe("c2");
});

test("a failed message waits longer each time, and nothing overtakes it", () => {
  const outbox = outboxWith([C, "c1"], [C, "c2"]);
  next(outbox);
  outbox.retry(C, (failures) => 100 * failures);
  expect([next(outbox, 99), outbox.nextAt()]).toEqual([undefined, 100]);
  expect(next(outbox, 100)).toBe("c1");
  outbox.retry(C, (failures) => 100 * failures);
  expect(outbox.nextAt()).toBe(200);
});

test("the number of messages in flight is limited", () => {
  const outbox = outboxWith(...range(1, 40).map((id): [string, string] => [String(id), String(id)]));
  const going = range(1, 40).map(() => next(outbox));
  expect(going.filter((clientId) => clientId !== undefined)).toHaveLength(16);
});

test("a lane that was emptied by removal can be used again", () => {
  const outbox = outboxWith([C, "c1"]);
  expect(outbox.remove(C, "c1")).toBe(true);
  outbox.push(C, textMessage("x", { clientId: "c2" }));
  outbox.push(C, textMessage("x", { clientId: "c3" }));
  expect([next(outbox), next(outbox)]).toEqual(["c2", undefined]);
});

test("old entries take no room from early ones", () => {
  const logs = new Logs("beginning", { [C]: 2_000 }, true);
  const delivered: number[] = [];
  const offer = (seq: number) => logs.offer(C, entry(C, seq), ({ seq: next }) => delivered.push(next));
  range(1, 2_000).forEach(offer);
  [2_003, 2_002, 2_001].forEach(offer);
  expect(delivered).toEqual([2_001, 2_002, 2_003]);
});

test("the backoff doubles up to a limit and is randomized", () => {
  expect([1, 2, 3, 7, 1_000].map((failures) => backoffMs(failures, () => 1))).toEqual([
    500, 1_000, 2_000, 30_000, 30_000,
  ]);
  expect(backoffMs(3, () => 0)).toBe(1_000);
});
