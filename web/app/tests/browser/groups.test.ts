import { expect, it } from "vitest";

import { PASSWORD } from "./person.js";
import { together } from "./together.js";

const world = together();

it("brings people together by a link, and lets them go", async () => {
  const ada = await world.arrive("ada", "Ada Lovelace");
  const bob = await world.arrive("bob", "Bob Hopper");
  const dialog = ada.page.getByRole("dialog");
  await ada.page.getByRole("button", { name: "New conversation" }).first().click();
  await dialog.getByRole("button", { name: "Group" }).click();
  await dialog.getByLabel("Name of the group").fill("Waders");
  await dialog.getByRole("button", { name: "Create group" }).click();
  await ada.page.locator(".conversation-title").click();
  await dialog.getByRole("button", { name: "New link" }).click();
  const link = await dialog.getByRole("textbox", { name: "Invite link" }).inputValue();

  await bob.page.goto(link);
  await bob.page.getByRole("dialog").getByRole("button", { name: "Join" }).click();
  await bob.say("hello everybody");
  await dialog.getByText("Bob Hopper").waitFor();
  await dialog.getByRole("button", { name: "What to do with Bob Hopper" }).click();
  await ada.page.getByRole("menuitem", { name: "Make admin" }).click();
  await ada.page.keyboard.press("Escape");
  await ada.message("hello everybody").waitFor();
  await bob.page.locator(".notice", { hasText: "admin" }).waitFor();

  await ada.page.locator(".conversation-title").click();
  await dialog.getByRole("button", { name: "What to do with Bob Hopper" }).click();
  await ada.page.getByRole("menuitem", { name: "Remove from group" }).click();
  await bob.page.getByText("No conversations yet").waitFor();
});

it("keeps several accounts, switches between them, and signs out", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const { page } = ada;
  await ada.chooseForAccount("Add an account");
  await page.getByRole("button", { name: "Create an account" }).click();
  await page.getByLabel("Username").fill("ada3");
  await page.getByLabel("Name", { exact: true }).fill("Ada Three");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account", exact: true }).click();
  await page.getByRole("button", { name: "Account of Ada Three" }).waitFor();
  await ada.chooseForAccount("Switch to ⁨Ada Two");
  await page.getByRole("button", { name: "Account of Ada Two" }).waitFor();
  await ada.chooseForAccount("Sign out");
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Account of Ada Three" }).waitFor();
  await ada.chooseForAccount("Sign out");
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Godwit" }).waitFor();
  const left = await page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes("tokens")));
  expect(left).toEqual([]);
});

it("signs a device out from another one", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const elsewhere = await ada.api();
  await ada.page.getByRole("button", { name: "Account of" }).click();
  await ada.page.getByRole("menuitem", { name: "Devices" }).click();
  await ada.page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await ada.page.getByRole("dialog").getByRole("button", { name: "Sign out" }).waitFor({ state: "detached" });
  await expect(elsewhere.accounts.me()).rejects.toThrow();
});
