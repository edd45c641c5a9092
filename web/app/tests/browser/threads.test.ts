import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { together } from "./together.js";

const world = together();

it("shows the replies to a message in a thread", async () => {
  const ada = await world.arrive("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  await ada.startDirect("bob");
  await ada.say("Who comes to the estuary?");
  await bob.open("Ada");
  await bob.choose("Who comes", "Reply in thread");
  await bob.thread.getByText("Who comes to the estuary?").waitFor();
  await bob.sayInThread("I do");
  await bob.thread.locator(".message", { hasText: "I do" }).waitFor();

  // The root shows the number of replies, on both sides and without a reload.
  const count = (person: typeof ada) => person.message("Who comes").getByRole("button", { name: /repl/ });
  await count(bob).filter({ hasText: "1 reply" }).waitFor();
  await count(ada).filter({ hasText: "1 reply" }).click();
  await ada.sayInThread("See you there");
  await bob.thread.locator(".message", { hasText: "See you there" }).waitFor();
  await count(bob).filter({ hasText: "2 replies" }).waitFor();
  await count(ada).filter({ hasText: "2 replies" }).waitFor();

  // A reply is an ordinary message: it can be edited, and it is in the conversation too.
  await ada.composerOfThread.press("ArrowUp");
  await ada.composerOfThread.fill("See you there at noon");
  await ada.composerOfThread.press("Enter");
  await bob.thread.locator(".message", { hasText: "at noon" }).waitFor();
  await bob.message("at noon").locator(".quote", { hasText: "Who comes" }).waitFor();
  expect(await bob.thread.locator(".quote").count()).toBe(0);

  await ada.composerOfThread.fill("And the scope");
  await ada.page.reload();
  await ada.thread.locator(".message", { hasText: "at noon" }).waitFor();
  expect(await ada.composerOfThread.inputValue()).toBe("And the scope");
  await count(ada).filter({ hasText: "2 replies" }).waitFor();
  await ada.composerOfThread.press("Escape");
  await ada.thread.waitFor({ state: "detached" });
});

it("shows the rest of a thread that is longer than a page", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await own.conversations.direct((await his.accounts.me()).id);
  const root = (await own.messages.send(direct.id, textMessage("the root"))).value;
  for (let index = 1; index <= 201; index += 1) {
    await own.messages.send(direct.id, textMessage(`reply ${index}.`, { replyTo: root.id }));
  }
  await bob.page.goto(`${bob.url}/#/c/${direct.id}/${root.id}`);
  await bob.thread.getByText("reply 200.").waitFor();
  expect(await bob.thread.getByText("reply 201.").count()).toBe(0);
  await bob.thread.getByRole("button", { name: "More replies" }).click();
  await bob.thread.getByText("reply 201.").waitFor();
  await own.messages.send(direct.id, textMessage("reply 202.", { replyTo: root.id }));
  await bob.thread.getByText("reply 202.").waitFor();
});

it("replaces the conversation on a phone until the thread is closed", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  await world.arrive("bob3", "Bob Three");
  await ada.startDirect("bob3");
  await ada.say("a small question");
  await ada.progress("a small question", "sent");
  await ada.page.setViewportSize({ width: 390, height: 780 });
  await ada.choose("a small question", "Reply in thread");
  await ada.sayInThread("a small answer");
  await ada.thread.locator(".message", { hasText: "a small answer" }).waitFor();
  expect(await ada.composer.isVisible()).toBe(false);
  await ada.page.goBack();
  await ada.thread.waitFor({ state: "detached" });
  await ada.message("a small answer").waitFor();
  expect(await ada.composer.isVisible()).toBe(true);
});
