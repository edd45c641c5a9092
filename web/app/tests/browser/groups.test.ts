import { expect, it } from "vitest";

import { createGroup } from "./groups.js";
import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

async function showDetails(person: Person): Promise<void> {
  await person.page.locator(".conversation-title").click();
  await person.dialog.getByRole("heading", { name: "Details", exact: true }).waitFor();
}

/** Chooses an item from the menu of a member. */
async function choose(person: Person, member: string, item: string): Promise<void> {
  await person.dialog.getByRole("button", { name: `Options for ${member}` }).click();
  await person.chooseItem(item);
}

/** The items in the menu of a member. */
async function offered(person: Person, member: string): Promise<string[]> {
  await person.dialog.getByRole("button", { name: `Options for ${member}` }).click();
  const items = await person.page.getByRole("menuitem").allTextContents();
  await person.page.keyboard.press("Escape");
  return items;
}

/** Waits for a notice in the history. */
function notice(person: Person, text: string): Promise<void> {
  return person.page.locator(".notice", { hasText: text }).last().waitFor();
}

it("creates, renames and describes a group, and all members see it", async () => {
  const ada = await world.arrive("ada", "Ada Lovelace");
  const bob = await world.arrive("bob", "Bob Hopper");
  const cleo = await world.arrive("cleo", "Cleo Lamarr");
  await createGroup(ada, "Waders", "bob", "cleo");
  await notice(ada, "You created the group");
  await bob.open("Waders");
  await notice(bob, "⁨Ada Lovelace⁩ created the group “⁨Waders⁩”");
  await cleo.open("Waders");

  await showDetails(ada);
  await ada.dialog.getByLabel("Group name").fill("Shore birds");
  await ada.dialog.getByRole("button", { name: "Save" }).click();
  await bob.row("Shore birds").waitFor();
  await notice(cleo, "⁨Ada Lovelace⁩ changed the name to “⁨Shore birds⁩”");
  await ada.dialog.getByRole("textbox", { name: "Description" }).fill("Only those with long legs");
  await ada.dialog.getByRole("button", { name: "Save" }).click();
  await notice(bob, "⁨Ada Lovelace⁩ changed the description");
  await showDetails(bob);
  await bob.dialog.getByText("Only those with long legs").waitFor();
  expect(await offered(bob, "Cleo Lamarr")).toEqual(["Send a message"]);
});

it("lets members do what their role allows", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  const cleo = await world.arrive("cleo2", "Cleo Two");
  await world.arrive("dan2", "Dan Two");
  await createGroup(ada, "Waders", "bob2", "cleo2");
  await bob.open("Waders");
  await showDetails(ada);
  await choose(ada, "Bob Two", "Make admin");
  await notice(bob, "⁨Ada Two⁩ changed your role to admin");

  await showDetails(bob);
  expect(await offered(bob, "Ada Two")).toEqual(["Send a message"]);
  expect(await offered(bob, "Cleo Two")).toEqual(["Send a message", "Remove from group", "Remove and ban"]);
  await bob.dialog.getByRole("button", { name: "Add members" }).click();
  await bob.dialog.getByRole("searchbox").fill("dan2");
  await bob.dialog.getByRole("button", { name: "@dan2" }).click();
  await bob.dialog.getByRole("button", { name: "Add members" }).click();
  await bob.dialog.getByRole("button", { name: "Options for Dan Two" }).waitFor();
  await notice(ada, "⁨Bob Two⁩ added ⁨Dan Two⁩");
  await cleo.open("Waders");
  await showDetails(cleo);
  await choose(bob, "Cleo Two", "Remove from group");
  await cleo.page.getByText("No conversations yet").waitFor();
  // The dialog of the group is closed, and the page still works.
  await cleo.chooseForAccount("Settings");
  await cleo.dialog.getByRole("heading", { name: "Settings" }).waitFor();
  await notice(ada, "⁨Bob Two⁩ removed ⁨Cleo Two⁩");
});

it("bans users, who cannot return until the ban is lifted", async () => {
  const ada = await world.arrive("ada8", "Ada Eight");
  const bob = await world.arrive("bob8", "Bob Eight");
  await createGroup(ada, "Waders", "bob8");
  await bob.open("Waders");
  await showDetails(ada);
  await choose(ada, "Bob Eight", "Remove and ban");
  await ada.dialog.getByText("⁨Bob Eight⁩ will be removed, and cannot join").waitFor();
  await ada.dialog.getByRole("button", { name: "Remove and ban" }).click();
  await bob.page.getByText("No conversations yet").waitFor();
  await ada.dialog.getByRole("heading", { name: "Banned people" }).waitFor();
  await notice(ada, "You banned ⁨Bob Eight⁩");
  await ada.dialog.getByRole("button", { name: "Lift the ban on Bob Eight" }).click();
  await notice(ada, "You unbanned ⁨Bob Eight⁩");
  await ada.dialog.getByRole("heading", { name: "Banned people" }).waitFor({ state: "detached" });
});

it("applies changed permissions on the pages of other members", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const bob = await world.arrive("bob3", "Bob Three");
  await createGroup(ada, "Waders", "bob3");
  await bob.open("Waders");
  await showDetails(ada);
  const permit = (what: string) => ada.dialog.getByLabel(what).click();

  await permit("Send messages");
  await bob.page.getByText("Only admins can send messages.").waitFor();
  await notice(bob, "⁨Ada Three⁩ changed what members can do");
  await permit("Send messages");
  await bob.composer.waitFor();

  await showDetails(bob);
  const links = bob.dialog.getByRole("heading", { name: "Invite links" });
  const name = bob.dialog.getByLabel("Group name");
  const [mayAdd, mayEdit] = [await links.count(), await name.count()];
  await permit("Add members");
  await links.waitFor({ state: mayAdd ? "detached" : "visible" });
  await permit("Change name and description");
  await name.waitFor({ state: mayEdit ? "detached" : "visible" });
});

it("lets users join by invite links until the links are used up", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const bob = await world.arrive("bob4", "Bob Four");
  const cleo = await world.arrive("cleo4", "Cleo Four");
  await createGroup(ada, "Waders");
  await showDetails(ada);
  await ada.dialog.getByLabel("Can be used by").selectOption("1 person");
  await ada.dialog.getByRole("button", { name: "New link" }).click();
  const field = ada.dialog.getByRole("textbox", { name: "Invite link" });
  const link = await field.inputValue();
  await ada.dialog.getByText("Used 0 times · 1 person · until").waitFor();

  await bob.page.goto(link);
  await bob.dialog.getByRole("heading", { name: "Waders" }).waitFor();
  await bob.dialog.getByRole("button", { name: "Join" }).click();
  await bob.composer.waitFor();
  await notice(ada, "⁨Bob Four⁩ joined");
  await field.waitFor({ state: "detached" });

  await cleo.page.goto(link);
  await cleo.dialog.getByText("This link is no longer valid.").waitFor();
  await cleo.page.keyboard.press("Escape");
  await cleo.chooseForAccount("Join with a link");
  await cleo.dialog.getByLabel("Invite link").fill("what is this?");
  await cleo.dialog.getByRole("button", { name: "Continue" }).click();
  await cleo.dialog.getByText("This is not an invite link.").waitFor();

  await ada.dialog.getByLabel("Expires after").selectOption("Never");
  await ada.dialog.getByLabel("Can be used by").selectOption("Anyone with the link");
  await ada.dialog.getByRole("button", { name: "New link" }).click();
  await ada.dialog.getByText("Used 0 times", { exact: true }).waitFor();
  await cleo.dialog.getByLabel("Invite link").fill(await field.inputValue());
  await cleo.dialog.getByRole("button", { name: "Continue" }).click();
  await cleo.dialog.getByRole("button", { name: "Join" }).click();
  await cleo.composer.waitFor();
  await bob.page.goto(await field.inputValue());
  await bob.dialog.getByRole("button", { name: "Open" }).click();
  await bob.composer.waitFor();
  await ada.dialog.getByRole("button", { name: "Revoke link" }).click();
  await field.waitFor({ state: "detached" });
});

it("lets a user join by a link after signing in", async () => {
  const ada = await world.arrive("ada5", "Ada Five");
  const own = await ada.api();
  const { id } = (await own.conversations.open({ kind: "group", name: "Waders" })).value;
  const { token } = await own.groups.createInvite(id);
  const expired = await own.groups.createInvite(id, {
    expires_at: new Date(Date.now() + 1_000).toISOString(),
  });

  const bob = await world.arrive("bob5", "Bob Five");
  await bob.chooseForAccount("Sign out");
  await bob.dialog.getByRole("button", { name: "Sign out" }).click();
  await bob.page.getByRole("heading", { name: "Sign in to Godwit" }).waitFor();
  await bob.page.goto("about:blank");
  await bob.page.goto(`${world.site.url}/#/join/${token}`);
  await bob.signIn();
  await bob.dialog.getByRole("heading", { name: "Waders" }).waitFor();
  await bob.dialog.getByRole("button", { name: "Join" }).click();
  await bob.say("hello everybody");
  await ada.row("Waders").getByText("hello everybody").waitFor();

  const cleo = await world.arrive("cleo5", "Cleo Five");
  await cleo.page.goto(`${world.site.url}/#/join/${expired.token}`);
  await cleo.dialog.getByText("This link is no longer valid.").waitFor();
});

it("transfers the ownership of a group, leaves it and deletes it", async () => {
  const ada = await world.arrive("ada6", "Ada Six");
  const bob = await world.arrive("bob6", "Bob Six");
  const cleo = await world.arrive("cleo6", "Cleo Six");
  await createGroup(ada, "Waders", "bob6", "cleo6");
  await bob.open("Waders");
  await cleo.open("Waders");
  const leave = async (person: Person) => {
    await person.dialog.getByRole("button", { name: "Leave group" }).click();
    await person.dialog.getByText("You will no longer receive messages from this group.").waitFor();
    await person.dialog.getByRole("button", { name: "Leave group" }).click();
  };

  await showDetails(ada);
  await leave(ada);
  await ada.page.getByText("A group needs an owner. Transfer ownership first.").waitFor();
  await showDetails(ada);
  await choose(ada, "Bob Six", "Transfer ownership");
  await ada.dialog.getByText("⁨Bob Six⁩ will own the group").waitFor();
  await ada.dialog.getByRole("button", { name: "Transfer ownership" }).click();
  await notice(cleo, "⁨Ada Six⁩ transferred ownership to ⁨Bob Six⁩");
  expect(await offered(ada, "Cleo Six")).toContain("Remove from group");
  expect(await ada.dialog.getByRole("button", { name: "Delete for everyone" }).count()).toBe(0);
  await leave(ada);
  await ada.page.getByText("No conversations yet").waitFor();
  await notice(bob, "⁨Ada Six⁩ left");

  await showDetails(cleo);
  await leave(cleo);
  await notice(bob, "⁨Cleo Six⁩ left");
  const his = await bob.api();
  const [group] = (await his.conversations.list()).conversations;
  const she = await (await cleo.api()).accounts.me();
  await his.groups.addMembers(group?.id ?? "", [she.id]);
  await cleo.row("Waders").waitFor();
  await showDetails(bob);
  await bob.dialog.getByRole("button", { name: "Delete for everyone" }).click();
  await bob.dialog.getByRole("button", { name: "Delete for everyone" }).click();
  await bob.page.getByText("No conversations yet").waitFor();
  await cleo.page.getByText("No conversations yet").waitFor();
});

it("renders names with markup, control characters and other directions safely", async () => {
  const html = "<img src=x onerror=alert(1)>";
  const ada = await world.arrive("ada7", html);
  const bob = await world.arrive("bob7", `Z${"\u0315\u0300\u0334\u0322".repeat(15)}`);
  const cleo = await world.arrive("cleo7", "אבגד 😀👩‍👩‍👧‍👦");
  await createGroup(ada, "W".repeat(100), "bob7", "cleo7");
  await showDetails(ada);
  await ada.dialog.getByText("אבגד").waitFor();
  await bob.open("WWWW");
  await cleo.open("WWWW");
  await notice(bob, `⁨${html}⁩ created the group`);
  await bob.composer.pressSequentially("hm");
  await ada.page.locator(".conversation-state", { hasText: "is typing…" }).waitFor();
  await bob.composer.press("Enter");
  for (const { page } of [ada, bob, cleo]) {
    const outside = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(outside).toBeLessThanOrEqual(0);
    expect(await page.locator("img[src=x]").count()).toBe(0);
  }
  const wide = await ada.dialog
    .locator(".modal-body")
    .evaluate((body) => body.scrollWidth - body.clientWidth);
  expect(wide).toBeLessThanOrEqual(0);

  await ada.dialog.getByLabel("Group name").fill("Wad\u202Eers");
  await ada.dialog.getByRole("button", { name: "Save" }).click();
  await ada.page.getByText("A name has 1 to 100 characters, none of them invisible.").waitFor();
});
