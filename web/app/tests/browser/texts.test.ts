/** Texts that try to overflow or disrupt their message. */

import { forwardMessage, textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import type { Person } from "./person.js";
import { together } from "./together.js";

const ZALGO = "Z\u0338\u0335\u0321\u0344\u0346\u035ba\u0337\u0327\u0313l\u0336g\u0337o";
const TEXTS = [
  "w".repeat(8_000),
  ZALGO.repeat(60),
  "before \u202Egnp.tseb\u202C after, and one that is never closed \u202Eabc",
  "مرحبا @ada https://example.org/ بالعالم",
  "👩‍👩‍👧‍👦",
  `https://example.org/${"path".repeat(200)}`,
  "one\n\n\n\tline   after another",
];
const world = together();

/** Messages that overflow their bubble, and bubbles that overflow the page. */
function escaped(person: Person): Promise<string[]> {
  return person.page.locator(".history-scroller").evaluateAll((scrollers) =>
    scrollers.flatMap((scroller) => {
      const room = scroller.getBoundingClientRect();
      return [...scroller.querySelectorAll(".bubble")].flatMap((bubble) => {
        const box = bubble.getBoundingClientRect();
        const outside = [...bubble.querySelectorAll("*:not(.for-screen-readers)")].filter((part) => {
          const { left, right } = part.getBoundingClientRect();
          return left < box.left - 1 || right > box.right + 1;
        });
        const out = box.left < room.left || box.right > room.right ? [`bubble ${bubble.textContent}`] : [];
        return [...out, ...outside.map((part) => `${part.className}: ${part.textContent}`)];
      });
    }),
  );
}

it("contains long texts, stacked marks and bidirectional texts on wide and narrow screens", async () => {
  const name = `${ZALGO} ${"Long".repeat(12)}`;
  const ada = await world.arrive("ada", "Ada");
  const bob = await world.arrive("bob", name);
  const [own, his] = [await ada.api(), await bob.api()];
  const members = [(await his.accounts.me()).id];
  const group = (await own.conversations.open({ kind: "group", name: "ص".repeat(60), member_ids: members }))
    .value;
  let last = "";
  for (const text of TEXTS) {
    const sent = await his.messages.send(group.id, textMessage(text, last === "" ? {} : { replyTo: last }));
    last = sent.value.id;
  }
  await own.messages.react(last, "تفاعل-طويل-جداً-a-long-one");
  await own.messages.pin(last);
  await own.messages.send(group.id, forwardMessage(last));
  await own.conversations.update(group.id, { message_ttl_secs: 3_600 });

  await ada.page.goto(`${ada.url}/#/c/${group.id}/${last}`);
  await ada.thread.locator(".message").first().waitFor();
  await ada.message("never closed").waitFor();
  await ada.page.locator(".timer-mark").waitFor();
  for (const width of [1_280, 820, 360]) {
    await ada.page.setViewportSize({ width, height: 740 });
    for (const dir of ["ltr", "rtl"]) {
      await ada.page.evaluate((value) => (document.documentElement.dir = value), dir);
      expect(await escaped(ada), `${width} ${dir}`).toEqual([]);
      const beyond = await ada.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(beyond).toBeLessThanOrEqual(0);
    }
  }
  // A name or a link in a text of the other direction stays in one piece.
  await ada.page.setViewportSize({ width: 1_280, height: 740 });
  await ada.page.evaluate(() => (document.documentElement.dir = "ltr"));
  const pieces = await ada
    .message("مرحبا")
    .locator(".message-text > :is(a, .mention)")
    .evaluateAll((parts) => parts.map((part) => part.getClientRects().length));
  expect(pieces).toEqual([1, 1]);

  // The direction of the text does not affect the time below it.
  const time = ada.message("never closed").locator("time");
  await expect.poll(() => time.textContent()).toMatch(/^\d{1,2}:\d\d$/);
});
