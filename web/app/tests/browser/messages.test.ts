import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { together } from "./together.js";

const world = together();

it("forwards a message with the name of its author", async () => {
  const ada = await world.arrive("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  const eve = await world.arrive("eve", "Eve");
  await bob.startDirect("ada");
  await bob.say("High tide is at 14:20");
  await ada.startDirect("eve");
  await ada.say("hello Eve");
  await ada.open("Bob");
  await ada.choose("High tide", "Forward");
  await ada.dialog.getByRole("searchbox").fill("ev");
  await ada.dialog.getByRole("button", { name: "Eve" }).click();
  await ada.page.locator(".conversation-name", { hasText: "Eve" }).waitFor();
  await eve.open("Ada");
  await eve
    .message("High tide")
    .getByText(/Forwarded from .?Bob/)
    .waitFor();

  // A forward of a forward names the original author.
  await eve.startDirect("bob");
  await eve.open("Ada");
  await eve.choose("High tide", "Forward");
  await eve.dialog.getByRole("button", { name: "Bob" }).click();
  await bob.open("Eve");
  await bob
    .message("High tide")
    .getByText(/Forwarded from .?Bob/)
    .waitFor();
});

it("opens starred and pinned messages, however old", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await own.conversations.direct((await his.accounts.me()).id);
  await his.messages.send(direct.id, textMessage("the one to remember"));
  await ada.open("Bob Two");
  await ada.choose("the one to remember", "Star");
  await ada.message("the one to remember").locator(".icon-star").waitFor();
  await ada.choose("the one to remember", "Pin");
  await ada.page.locator(".notice", { hasText: "pinned" }).waitFor();
  await bob.open("Ada Two");
  await bob.page.locator(".pinned-line", { hasText: "the one to remember" }).waitFor();
  for (let index = 0; index < 100; index += 1) {
    await his.messages.send(direct.id, textMessage(`later ${index}.`));
  }
  await bob.message("later 99.").waitFor();

  await ada.page.reload();
  await ada.message("later 99.").waitFor();
  await ada.page.locator(".pinned-line").click();
  await ada.page.locator(".message.flashed", { hasText: "the one to remember" }).waitFor();

  // From another screen, while the conversation is not loaded.
  await ada.page.goto(`${ada.url}/#/`);
  await ada.page.reload();
  await ada.chooseForAccount("Starred messages");
  await ada.dialog.getByRole("button", { name: "the one to remember" }).click();
  await ada.page.locator(".message.flashed", { hasText: "the one to remember" }).waitFor();
  await ada.page.waitForFunction(() => document.activeElement?.textContent.includes("the one to remember"));

  await ada.choose("the one to remember", "Unpin");
  await ada.page.locator(".pinned-line").waitFor({ state: "detached" });
  await bob.page.locator(".pinned-line").waitFor({ state: "detached" });
  await ada.chooseForAccount("Starred messages");
  await ada.dialog.getByRole("button", { name: "Remove star" }).click();
  await ada.dialog.getByText("No starred messages yet").waitFor();
});

it("shows receipts, reactions and earlier versions of a message", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const bob = await world.arrive("bob3", "Bob Three");
  const eve = await world.arrive("eve3", "Eve Three");
  const [own, his, hers] = [await ada.api(), await bob.api(), await eve.api()];
  const members = [(await his.accounts.me()).id, (await hers.accounts.me()).id];
  await own.conversations.open({ kind: "group", name: "Birds", member_ids: members });
  await ada.open("Birds");
  await ada.say("a godwit");
  await bob.open("Birds");
  await bob.message("a godwit").waitFor();
  // Eve has received the message, but looks at another screen.
  await eve.page.locator(".row", { hasText: "a godwit" }).waitFor();

  await ada.choose("a godwit", "Message info");
  const part = (title: string) => ada.dialog.locator("section", { hasText: title });
  await part("Read by").getByText("Bob Three").waitFor();
  await part("Delivered to").getByText("Eve Three").waitFor();
  await eve.open("Birds");
  await part("Read by").getByText("Eve Three").waitFor();
  await ada.page.keyboard.press("Escape");
  await ada.progress("a godwit", "read");

  await bob.choose("a godwit", "React with ❤️");
  await eve.choose("a godwit", "React with ❤️");
  await ada.message("a godwit").getByRole("button", { name: "❤️, 2 reactions" }).waitFor();
  await eve.message("a godwit").getByRole("button", { name: "❤️, 2 reactions" }).click();
  await ada.message("a godwit").getByRole("button", { name: "❤️, 1 reaction" }).waitFor();
  await ada.choose("a godwit", "Reactions");
  await ada.dialog.getByText("Bob Three").waitFor();
  expect(await ada.dialog.getByText("Eve Three").count()).toBe(0);
  await ada.page.keyboard.press("Escape");

  await ada.choose("a godwit", "Edit");
  await ada.say("two godwits");
  await bob.message("two godwits").getByRole("button", { name: "edited" }).click();
  await bob.dialog.getByText("a godwit").waitFor();
  await bob.dialog.getByText("two godwits").waitFor();
  await bob.page.keyboard.press("Escape");

  await bob.choose("two godwits", "Delete for me");
  await bob.dialog.getByRole("button", { name: "Delete" }).click();
  await bob.message("two godwits").waitFor({ state: "detached" });
  await eve.message("two godwits").waitFor();
  await eve.message("two godwits").locator(".bubble").click({ button: "right" });
  expect(await eve.page.getByRole("menuitem", { name: "Delete for everyone" }).count()).toBe(0);
  await eve.page.keyboard.press("Escape");
  await ada.choose("two godwits", "Delete for everyone");
  await ada.dialog.getByRole("button", { name: "Delete" }).click();
  await eve.message("This message was deleted").waitFor();
  expect(await bob.messages.count()).toBe(0);
});

it("shows a line before the new messages each time a conversation is opened", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const bob = await world.arrive("bob4", "Bob Four");
  await ada.startDirect("bob4");
  await ada.say("the first");
  const his = await bob.api();
  const direct = await his.conversations.direct((await (await ada.api()).accounts.me()).id);
  await bob.open("Ada Four");
  await bob.page.locator(".unread-line + .message", { hasText: "the first" }).waitFor();
  await bob.page.goto(`${bob.url}/#/`);
  await ada.say("the second");
  await bob.page.locator(".row .badge", { hasText: "1" }).waitFor();
  await bob.open("Ada Four");
  await bob.page.locator(".unread-line + .message", { hasText: "the second" }).waitFor();
  expect(await bob.page.locator(".unread-line").count()).toBe(1);

  // A user who looks at older messages sees the number of new ones, and the page does not scroll.
  for (let index = 0; index < 40; index += 1) {
    await his.messages.send(direct.id, textMessage(`filling ${index}.`));
  }
  await bob.message("filling 39.").waitFor();
  await bob.page.locator(".history-scroller").evaluate((element) => (element.scrollTop = 0));
  const latest = bob.page.getByRole("button", { name: "Jump to the latest message" });
  await latest.waitFor();
  await ada.say("while you are up there");
  await ada.say("and one more");
  await latest.getByText("2", { exact: true }).waitFor();
  expect(await bob.page.locator(".history-scroller").evaluate((element) => element.scrollTop)).toBe(0);
  await latest.click();
  await latest.waitFor({ state: "detached" });
  await bob.page.waitForFunction(() => document.activeElement?.textContent.includes("and one more"));
  await ada.progress("and one more", "read");
});
