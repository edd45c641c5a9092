/** Scheduled, disappearing and refused messages. */

import { expect, it } from "vitest";

import { together } from "./together.js";

const world = together();

it("schedules a message, changes it, sends it now, and cancels another one", async () => {
  const ada = await world.arrive("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  const later = ada.page.getByRole("button", { name: "Send later" });
  await ada.startDirect("bob");
  await ada.composer.fill("good morning");
  await later.click();
  await ada.dialog.getByRole("button", { name: "Send later" }).click();
  await ada.page.getByText("Will be sent").waitFor();
  await expect.poll(() => ada.composer.inputValue()).toBe("");
  await ada.composer.fill("never mind");
  await later.click();
  await ada.dialog.getByRole("button", { name: "Send later" }).click();
  await ada.dialog.waitFor({ state: "detached" });

  await ada.chooseForAccount("Scheduled messages");
  const line = (text: string) => ada.dialog.locator(".line", { hasText: text });
  await line("good morning").getByRole("button", { name: "Edit" }).click();
  await ada.dialog.getByRole("textbox", { name: "Message" }).fill("good evening");
  await ada.dialog.getByRole("button", { name: "Save" }).click();
  await line("never mind").getByRole("button", { name: "Cancel message" }).click();
  await line("never mind").waitFor({ state: "detached" });
  await line("good evening").getByRole("button", { name: "Send now" }).click();
  await ada.dialog.getByText("No scheduled messages").waitFor();
  await bob.open("Ada");
  await bob.message("good evening").waitFor();
  expect(await bob.messages.count()).toBe(1);
});

it("sends a scheduled message at its time", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  await ada.startDirect("bob2");
  const own = await ada.api();
  const direct = await own.conversations.direct((await (await bob.api()).accounts.me()).id);
  await own.personal.schedule({
    conversation_id: direct.id,
    message: { client_id: "one", kind: "text", text: "in a moment" },
    send_at: new Date(Date.now() + 4_000).toISOString(),
  });
  await ada.chooseForAccount("Scheduled messages");
  await ada.dialog.getByText("in a moment").waitFor();
  await ada.dialog.getByText("No scheduled messages").waitFor();
  await ada.page.keyboard.press("Escape");
  await ada.message("in a moment").waitFor();
});

it("makes messages disappear on both sides, and shows the timer", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const bob = await world.arrive("bob3", "Bob Three");
  await ada.startDirect("bob3");
  await ada.say("this one stays");
  await bob.open("Ada Three");
  await ada.page.locator(".conversation-title").click();
  await ada.dialog.getByLabel("Messages disappear after").selectOption({ label: "1 hour" });
  await bob.page.locator(".timer-mark", { hasText: "1 hour" }).waitFor();
  await bob.page.locator(".notice", { hasText: "set messages to disappear after 1 hour" }).waitFor();
  await ada.page.keyboard.press("Escape");

  const own = await ada.api();
  const direct = await own.conversations.direct((await (await bob.api()).accounts.me()).id);
  await own.conversations.update(direct.id, { message_ttl_secs: 5 });
  await ada.page.locator(".timer-mark", { hasText: "5 seconds" }).waitFor();
  await ada.say("this one goes");
  await bob.message("this one goes").locator(".icon-clock").waitFor();
  await Promise.all([ada, bob].map((one) => one.message("this one goes").waitFor({ state: "detached" })));
  await ada.page.locator(".row", { hasText: "this one goes" }).waitFor({ state: "detached" });
  expect(await bob.messages.allTextContents()).toEqual(["this one stays"]);

  await own.conversations.update(direct.id, { message_ttl_secs: null });
  await bob.page.locator(".timer-mark").waitFor({ state: "detached" });
});

it("shows why a message was refused, and sends it again when this is possible", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const bob = await world.arrive("bob4", "Bob Four");
  await ada.startDirect("bob4");
  await ada.say("hello");
  await bob.open("Ada Four");
  await bob.page.locator(".conversation-title").click();
  await bob.dialog.getByRole("button", { name: "Block" }).click();
  await bob.dialog.getByText("You will no longer be able to message each other").waitFor();
  await bob.dialog.getByRole("button", { name: "Block" }).click();
  await bob.page.getByText("You have blocked this person.").waitFor();
  await ada.say("are you there?");
  const refused = ada.message("are you there?").getByRole("alert");
  await refused.getByText("You cannot message this person").waitFor();
  await ada.page.reload();
  await refused.waitFor();
  await bob.page.getByRole("button", { name: "Unblock" }).click();
  await bob.composer.waitFor();
  await refused.getByRole("button", { name: "Try again" }).click();
  await bob.message("are you there?").waitFor();
  await refused.waitFor({ state: "detached" });

  // A message that is too long can be edited.
  await ada.say(`too long${"!".repeat(8_000)}`);
  await ada.message("too long").getByRole("button", { name: "Edit" }).click();
  expect((await ada.composer.inputValue()).length).toBe(8_008);
  await ada.page.locator(".refused").waitFor({ state: "detached" });
  await ada.say("short enough");
  await bob.message("short enough").waitFor();
});
