import { expect, it } from "vitest";

import { createGroup } from "./groups.js";
import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

async function showSettings(person: Person): Promise<void> {
  await person.chooseForAccount("Settings");
  await person.dialog.getByRole("heading", { name: "Settings" }).waitFor();
}

it("adds only users who allow it, and suggests an invite link for others", async () => {
  const ada = await world.arrive("ada1", "Ada One");
  const bob = await world.arrive("bob1", "Bob One");
  await showSettings(bob);
  const choice = bob.dialog.getByLabel("Who can add me to groups");
  expect(await choice.locator("option:checked").textContent()).toBe("Everyone");
  await choice.selectOption("Nobody");
  const own = await bob.api();
  await expect.poll(async () => (await own.accounts.me()).may_be_added_by).toBe("nobody");
  await bob.page.keyboard.press("Escape");
  await createGroup(ada, "Waders", "bob1");
  await ada.page.getByText("1 person does not let you add them. Send them an invite link.").waitFor();
});

it("lets a user leave a group for good and blocks the member who added them", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  await createGroup(ada, "Waders", "bob2");
  await bob.open("Waders");
  await bob.page.locator(".conversation-title").click();
  await bob.dialog.getByRole("button", { name: "Leave group" }).click();
  await bob.dialog.getByLabel(/Block the person who added me/).check();
  await bob.dialog.getByRole("button", { name: "Leave group" }).click();
  await bob.page.getByText("No conversations yet").waitFor();
  await showSettings(bob);
  await bob.dialog.locator(".line", { hasText: "Ada Two" }).waitFor();
  const own = await bob.api();
  expect((await own.groups.refusedGroups()).conversation_ids).toHaveLength(1);
});

it("shows a new name at once, and after a disconnect", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const { person: bob, wire } = await world.arriveByWire("bob3", "Bob Three");
  await ada.startDirect("bob3");
  await ada.say("hello");
  await bob.open("Ada Three");
  const hers = await ada.api();
  await hers.accounts.updateMe({ display_name: "Countess" });
  await bob.row("Countess").waitFor();
  await bob.page.locator(".conversation-title", { hasText: "Countess" }).waitFor();
  wire.cut();
  await hers.accounts.updateMe({ display_name: "Lovelace" });
  wire.mend();
  await bob.row("Lovelace").waitFor();
});

it("refuses a password that is easy to guess", async () => {
  const { page } = await world.visit("ada4");
  await page.getByRole("button", { name: "Create an account" }).click();
  await page.getByLabel("Username").fill("ada4");
  await page.getByLabel("Password").fill("12345678");
  await page.getByRole("button", { name: "Create account", exact: true }).click();
  await page.getByText("Choose another password").waitFor();
});
