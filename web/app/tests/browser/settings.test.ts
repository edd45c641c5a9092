import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { PASSWORD, type Person } from "./person.js";
import { together } from "./together.js";

const world = together();

async function showSettings(person: Person): Promise<void> {
  await person.chooseForAccount("Settings");
  await person.dialog.getByRole("heading", { name: "Settings" }).waitFor();
}

/** The data that this browser has stored. */
async function stored(person: Person): Promise<string[]> {
  return person.page.evaluate(async () => [
    ...Object.keys(localStorage).filter((key) => /tokens|drafts/.test(key)),
    ...(await indexedDB.databases()).map(({ name }) => name ?? ""),
  ]);
}

it("changes the profile on all devices", async () => {
  const ada = await world.arrive("ada", "Ada Lovelace");
  const bob = await world.arrive("bob", "Bob Hopper");
  const phone = await world.visit("ada", { width: 390, height: 780 });
  await phone.signIn();
  await showSettings(ada);
  const save = ada.dialog.getByRole("button", { name: "Save" });
  await ada.dialog.getByLabel("Name", { exact: true }).fill("Ada \u202EKing");
  await save.click();
  await ada.dialog.getByText("A name has 1 to 64 characters, none of them invisible.").waitFor();
  await ada.dialog.getByLabel("Name", { exact: true }).fill("Ada King");
  await ada.dialog.getByLabel("Username").fill("bob");
  await save.click();
  await ada.dialog.getByText("This username is taken.").waitFor();
  await ada.dialog.getByLabel("Username").fill("countess");
  await save.click();
  await phone.page.getByRole("button", { name: "Account: Ada King" }).waitFor();
  await ada.page.keyboard.press("Escape");
  await bob.startDirect("countess");
  await bob.page.locator(".conversation-name", { hasText: "Ada King" }).waitFor();
});

it("changes the password, and signs out all other devices", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const phone = await world.visit("ada2", { width: 390, height: 780 });
  await phone.signIn();
  await phone.page.getByRole("button", { name: "Account: Ada Two" }).waitFor();
  await showSettings(ada);
  const change = async (current: string, next: string) => {
    await ada.dialog.getByLabel("Current password").fill(current);
    await ada.dialog.getByLabel("New password").fill(next);
    await ada.dialog.getByRole("button", { name: "Change password" }).click();
  };
  await change("not the password", "another horse battery");
  await ada.dialog.getByText("The current password is wrong.").waitFor();
  await change(PASSWORD, "another horse battery");
  await ada.page.getByText("Saved").waitFor();

  await phone.page.getByText("You were signed out of @ada2.").waitFor();
  await expect.poll(() => phone.page.getByLabel("Username").inputValue()).toBe("ada2");
  await expect.poll(() => stored(phone)).toEqual([]);
  await phone.signIn(PASSWORD);
  await phone.page.getByText("Wrong username or password.").waitFor();
  await phone.signIn("another horse battery");
  await phone.page.getByRole("button", { name: "Account: Ada Two" }).waitFor();
});

it("signs out another device, which deletes its data", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const bob = await world.arrive("bob3", "Bob Three");
  await ada.startDirect("bob3");
  await ada.say("a secret");
  const phone = await world.visit("ada3", { width: 390, height: 780 });
  await phone.signIn();
  await phone.open("Bob Three");
  await phone.composer.fill("an unfinished secret");
  await phone.page.getByRole("button", { name: "Back" }).click();
  await phone.chooseForAccount("Devices");
  await phone.dialog.getByText("This device").waitFor();
  await ada.chooseForAccount("Devices");
  await ada.dialog.getByText("This device").waitFor();
  await ada.dialog.getByRole("button", { name: "Sign out" }).click();
  await ada.dialog.getByRole("button", { name: "Sign out" }).waitFor({ state: "detached" });
  await phone.page.getByText("You were signed out of @ada3.").waitFor();
  expect(await phone.page.getByRole("dialog").count()).toBe(0);
  await expect.poll(() => stored(phone)).toEqual([]);
  await phone.page.reload();
  await phone.page.getByText("You were signed out of @ada3.").waitFor();
  await phone.page.getByRole("button", { name: "Remove @ada3" }).click();
  await phone.page.getByText("You were signed out").waitFor({ state: "detached" });
  await expect.poll(() => phone.page.getByLabel("Username").inputValue()).toBe("");
  await bob.context.close();
});

it("switches between several accounts, and signs out", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const { page } = ada;
  await ada.chooseForAccount("Add an account");
  await page.getByRole("button", { name: "Create an account" }).click();
  await page.getByLabel("Username").fill("ada5");
  await page.getByLabel("Name", { exact: true }).fill("Ada Five");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account", exact: true }).click();
  await page.getByRole("button", { name: "Account: Ada Five" }).waitFor();
  await ada.chooseForAccount("Switch to ⁨Ada Four");
  await page.getByRole("button", { name: "Account: Ada Four" }).waitFor();

  // Another device signs the active account out; the other account stays.
  const elsewhere = await ada.api();
  const { devices } = await elsewhere.accounts.devices();
  const here = devices.find((device) => !device.current);
  await elsewhere.accounts.revokeDevice(here?.id ?? "");
  await page.getByText("You were signed out of @ada4.").waitFor();
  await page.getByRole("button", { name: "Switch to ⁨Ada Five" }).click();
  await page.getByRole("button", { name: "Account: Ada Five" }).waitFor();

  const tab = await ada.context.newPage();
  await tab.goto(ada.url);
  await tab.getByRole("button", { name: "Account: Ada Five" }).waitFor();
  await ada.chooseForAccount("Sign out");
  await ada.dialog.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You were signed out of @ada4.").waitFor();
  await tab.getByText("You were signed out of @ada4.").waitFor();
  await page.getByRole("button", { name: "Remove @ada4" }).click();
  await expect.poll(() => stored(ada)).toEqual([]);
  const accounts = await page.evaluate(() => localStorage.getItem("godwit.accounts"));
  expect(accounts).toBe("[]");
  // All tabs follow.
  await tab.getByText("You were signed out").waitFor({ state: "detached" });
  await ada.signIn();
  await tab.getByRole("button", { name: "Account: Ada Four" }).waitFor();
});

it("hides presence and read receipts from others when switched off", async () => {
  const ada = await world.arrive("ada6", "Ada Six");
  const bob = await world.arrive("bob6", "Bob Six");
  await bob.startDirect("ada6");
  await bob.page.locator(".conversation-state", { hasText: "Online" }).waitFor();
  await showSettings(ada);
  await ada.dialog.getByLabel("Show others when I am online").click();
  await bob.page.locator(".conversation-state", { hasText: "@ada6" }).waitFor();
  await ada.dialog.getByLabel("Show others what I have read").click();
  await expect.poll(async () => (await (await ada.api()).accounts.me()).read_receipts).toBe(false);
  await ada.page.keyboard.press("Escape");
  await bob.say("did you read this?");
  await ada.open("Bob Six");
  await ada.message("did you read this?").waitFor();
  const own = await ada.api();
  await expect.poll(async () => (await own.conversations.list()).conversations[0]?.unread).toBe(0);
  await bob.say("and this?");
  await bob.progress("and this?", "delivered");
  await bob.progress("did you read this?", "delivered");
});

it("blocks a user, and both see the effect", async () => {
  const ada = await world.arrive("ada7", "Ada Seven");
  const bob = await world.arrive("bob7", "Bob Seven");
  await ada.startDirect("bob7");
  await ada.say("hello");
  await bob.open("Ada Seven");
  await bob.page.locator(".conversation-state", { hasText: "Online" }).waitFor();
  await ada.page.locator(".conversation-title").click();
  await ada.dialog.getByRole("button", { name: "Block" }).click();
  await ada.dialog.getByText("You will no longer be able to message each other").waitFor();
  await ada.dialog.getByRole("button", { name: "Block" }).click();
  await ada.page.getByText("You have blocked this person.").waitFor();
  await bob.say("are you there?");
  await bob.page.locator(".refused", { hasText: "You cannot message this person." }).waitFor();

  await ada.page.reload();
  await ada.page.getByText("You have blocked this person.").waitFor();
  await showSettings(ada);
  await ada.dialog
    .locator(".line", { hasText: "Bob Seven" })
    .getByRole("button", { name: "Unblock" })
    .click();
  await ada.dialog.getByText("You have not blocked anyone.").waitFor();
  await ada.page.keyboard.press("Escape");
  await ada.composer.waitFor();
  const his = await bob.api();
  const me = await (await ada.api()).accounts.me();
  const direct = await his.conversations.direct(me.id);
  await his.messages.send(direct.id, textMessage("there you are"));
  await ada.message("there you are").waitFor();
});

it("uses the chosen language and theme", async () => {
  const ada = await world.arrive("ada8", "Ada Eight");
  await showSettings(ada);
  const paper = () => ada.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await ada.dialog.getByLabel("Theme").selectOption("Dark");
  expect(await paper()).not.toBe(light);
  await ada.page.emulateMedia({ colorScheme: "dark" });
  const dark = await paper();
  await ada.dialog.getByLabel("Theme").selectOption("Light");
  expect(await paper()).toBe(light);
  await ada.dialog.getByLabel("Theme").selectOption("System default");
  expect(await paper()).toBe(dark);

  await ada.dialog.getByLabel("Language").selectOption("Español");
  await ada.dialog.getByRole("heading", { name: "Ajustes" }).waitFor();
  await ada.page.reload();
  await ada.page.getByRole("navigation", { name: "Conversaciones" }).waitFor();
  expect(await ada.page.evaluate(() => document.documentElement.lang)).toBe("es");
});

it("turns notifications off in this browser", async () => {
  const ada = await world.arrive("ada10", "Ada Ten");
  await ada.context.grantPermissions(["notifications"]);
  await ada.page.reload();
  await showSettings(ada);
  const notify = ada.dialog.getByLabel("Show notifications");
  expect(await notify.isChecked()).toBe(true);
  await notify.click();
  await ada.page.reload();
  await showSettings(ada);
  expect(await notify.isChecked()).toBe(false);
});

it("shows why a sign-in failed", async () => {
  await world.arrive("ada9", "Ada Nine");
  const bob = await world.visit("ada9");
  const { page } = bob;
  await bob.signIn("not the password");
  await page.getByText("Wrong username or password.").waitFor();
  await page.getByRole("button", { name: "Create an account" }).click();
  expect(await page.getByText("Wrong username or password.").count()).toBe(0);
  await page.getByRole("button", { name: "Create account", exact: true }).click();
  await page.getByText("This username is taken.").waitFor();
  await page.getByRole("button", { name: "I have an account" }).click();

  const again = Array.from({ length: 20 }, () =>
    bob.api().then(
      () => 0,
      () => 0,
    ),
  );
  await Promise.all(again);
  await bob.signIn("not the password");
  await page.getByText("Too many attempts.").waitFor();
  await world.site.killServer();
  await bob.signIn();
  await page.getByText("Cannot reach the server.").waitFor();
  await world.site.startServer();
  await bob.signIn();
  await page.getByRole("button", { name: "Account: Ada Nine" }).waitFor();
});
