import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { together } from "./together.js";

const MESSAGES = 260;
const world = together();

it("loads a long history in both directions without jumps, and jumps to a quoted message", async () => {
  const ada = await world.arrive("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await own.conversations.direct((await his.accounts.me()).id);
  const first = await own.messages.send(direct.id, textMessage("the very first"));
  for (let index = 2; index < MESSAGES; index += 1) {
    await own.messages.send(direct.id, textMessage(`number ${index}.`));
  }
  await own.messages.send(direct.id, textMessage("the very last", { replyTo: first.value.id }));

  // With this many unread messages, the history opens at the first of them.
  await bob.open("Ada");
  const scroller = bob.page.locator(".history-scroller");
  await bob.message("the very first").waitFor();
  await bob.page.locator(".unread-line").waitFor();
  await bob.page.getByRole("button", { name: "Jump to the latest message" }).click();
  await bob.message("the very last").waitFor();
  await bob.page.waitForFunction(() => !document.title.startsWith("("));

  /** The `seq` of the first visible row. */
  const topSeq = () =>
    scroller.evaluate((element) => {
      const top = element.getBoundingClientRect().top;
      const rows = [...element.querySelectorAll<HTMLElement>("[data-seq]")];
      return Number(rows.find((one) => one.getBoundingClientRect().bottom > top)?.dataset.seq);
    });
  /** The distance of a row from the upper edge, in pixels. */
  const offsetOf = (seq: number) =>
    scroller.evaluate((element, wanted) => {
      const row = element.querySelector(`[data-seq="${wanted}"]`);
      return row === null ? NaN : row.getBoundingClientRect().top - element.getBoundingClientRect().top;
    }, seq);
  // A page that is loaded without scrolling must not move the visible rows.
  const before = await scroller.evaluate((element) => {
    element.scrollTop = 700;
    return element.querySelectorAll("[data-seq]").length;
  });
  const seen = await topSeq();
  const offset = await offsetOf(seen);
  await bob.page.waitForFunction((count) => document.querySelectorAll("[data-seq]").length > count, before);
  expect(Math.abs((await offsetOf(seen)) - offset)).toBeLessThan(1);

  await bob.page.getByRole("button", { name: "Jump to the latest message" }).click();
  await bob.message("the very last").locator(".quote").click();
  await bob.message("the very first").waitFor();
  await bob.page.locator(".message.flashed").waitFor();
  expect(await topSeq()).toBeLessThan(10);

  await bob.say("and an answer from up here");
  await bob.progress("and an answer from up here", "sent");
  const messages = await bob.messages.allTextContents();
  expect(messages.slice(-2)).toEqual(["the very last", "and an answer from up here"]);
});
