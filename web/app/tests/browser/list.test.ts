import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

/** Creates a direct conversation with a message from each user; the last one is the newest. */
async function hearFrom(person: Person, ...others: [handle: string, name: string, text: string][]) {
  const own = await person.api();
  const me = await own.accounts.me();
  for (const [handle, name, text] of others) {
    const other = await world.arrive(handle, name);
    const http = await other.api();
    const direct = await http.conversations.direct(me.id);
    await http.messages.send(direct.id, textMessage(text));
    await other.context.close();
    await person.row(name).locator(".row-preview", { hasText: text }).waitFor();
  }
}

it("pins, mutes, archives, marks and deletes conversations on all devices", async () => {
  const ada = await world.arrive("ada", "Ada Lovelace");
  const phone = await world.visit("ada", { width: 390, height: 780 });
  await phone.signIn();
  await hearFrom(ada, ["bob", "Bob Hopper", "hello"], ["cleo", "Cleo Lamarr", "good morning"]);
  await phone.row("Bob Hopper").waitFor();
  await expect.poll(() => ada.listed()).toEqual(["Cleo Lamarr", "Bob Hopper"]);
  await ada.row("Bob Hopper").getByText("1 unread message").waitFor({ state: "attached" });

  await ada.chooseForRow("Bob Hopper", "Pin");
  await phone.row("Bob Hopper").getByText("Pinned").waitFor({ state: "attached" });
  await expect.poll(() => phone.listed()).toEqual(["Bob Hopper", "Cleo Lamarr"]);
  await expect.poll(() => ada.listed()).toEqual(["Bob Hopper", "Cleo Lamarr"]);
  await ada.chooseForRow("Cleo Lamarr", "Pin");
  await ada.chooseForRow("Cleo Lamarr", "Move down");
  await expect.poll(() => phone.listed()).toEqual(["Bob Hopper", "Cleo Lamarr"]);
  await ada.chooseForRow("Cleo Lamarr", "Move up");
  await expect.poll(() => phone.listed()).toEqual(["Cleo Lamarr", "Bob Hopper"]);
  await ada.chooseForRow("Cleo Lamarr", "Unpin");
  await ada.chooseForRow("Bob Hopper", "Unpin");
  await phone.row("Bob Hopper").getByText("Pinned").waitFor({ state: "detached" });

  await ada.chooseForRow("Bob Hopper", "Mute for 8 hours");
  await phone.row("Bob Hopper").getByText("Muted until").waitFor({ state: "attached" });
  await ada.chooseForRow("Bob Hopper", "Unmute");
  await ada.row("Bob Hopper").getByText("Muted").waitFor({ state: "detached" });
  await ada.row("Bob Hopper").click({ button: "right" });
  await ada.page.getByRole("menuitem", { name: "Mute", exact: true }).click();
  await phone.row("Bob Hopper").getByText("Muted", { exact: true }).waitFor({ state: "attached" });
  await ada.page.locator(".badge-muted").waitFor();

  await ada.chooseForRow("Bob Hopper", "Mark as read");
  await ada.row("Bob Hopper").getByText("unread").waitFor({ state: "detached" });
  await ada.chooseForRow("Bob Hopper", "Mark as unread");
  await phone.row("Bob Hopper").getByText("Marked as unread").waitFor({ state: "attached" });
  await ada.open("Bob Hopper");
  await phone.row("Bob Hopper").getByText("Marked as unread").waitFor({ state: "detached" });

  await ada.chooseForRow("Bob Hopper", "Archive");
  await ada.row("Bob Hopper").waitFor({ state: "detached" });
  await ada.page.getByRole("button", { name: "1 archived" }).click();
  await ada.row("Bob Hopper").waitFor();
  await ada.chooseForRow("Bob Hopper", "Unarchive");
  await ada.page.getByText("No archived conversations").waitFor();
  await ada.page.locator(".archive-row").click();

  await ada.chooseForRow("Bob Hopper", "Delete conversation");
  await ada.dialog.getByText("“⁨Bob Hopper⁩” and its history").waitFor();
  await ada.dialog.getByRole("button", { name: "Delete conversation" }).click();
  await phone.row("Bob Hopper").waitFor({ state: "detached" });
  await expect.poll(() => ada.listed()).toEqual(["Cleo Lamarr"]);
});

it("opens the menu of a row by a long press and by keyboard", async () => {
  const ada = await world.arrive("ada2", "Ada Two", { width: 390, height: 780, touch: true });
  await hearFrom(ada, ["bob2", "Bob Two", "hello"]);
  const box = await ada.row("Bob Two").boundingBox();
  const touches = await ada.context.newCDPSession(ada.page);
  const touchPoints = [{ x: (box?.x ?? 0) + 60, y: (box?.y ?? 0) + 30 }];
  await touches.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints });
  await ada.page.getByRole("menuitem", { name: "Pin" }).waitFor();
  await touches.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await ada.chooseItem("Pin");
  await ada.row("Bob Two").getByText("Pinned").waitFor({ state: "attached" });
  // Lifting the finger did not open the conversation below.
  expect(await ada.page.locator(".conversation").count()).toBe(0);

  await ada.row("Bob Two").focus();
  await ada.page.keyboard.press("Shift+F10");
  await ada.page.getByRole("menuitem", { name: "Mark as read" }).waitFor();
  await ada.page.keyboard.press("ArrowDown");
  await ada.page.keyboard.press("Enter");
  await ada.row("Bob Two").getByText("Pinned").waitFor({ state: "detached" });
  const focused = await ada.page.evaluate(() => document.activeElement?.className);
  expect(focused).toContain("row");
});

it("moves through the rows by keyboard", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  await hearFrom(
    ada,
    ["bob3", "Bob Three", "one"],
    ["cleo3", "Cleo Three", "two"],
    ["dan3", "Dan Three", "three"],
  );
  const focused = () => ada.page.evaluate(() => document.activeElement?.textContent ?? "");
  const press = (key: string) => ada.page.keyboard.press(key);
  await ada.page.getByRole("searchbox").focus();
  await press("Tab");
  expect(await focused()).toContain("Dan Three");
  await press("ArrowDown");
  await press("ArrowDown");
  expect(await focused()).toContain("Bob Three");
  await press("ArrowDown");
  expect(await focused()).toContain("Bob Three");
  await press("Home");
  expect(await focused()).toContain("Dan Three");
  await press("End");
  await press("Shift+Tab");
  await press("Tab");
  expect(await focused()).toContain("Bob Three");
  await press("Enter");
  await ada.page.locator(".conversation-name", { hasText: "Bob Three" }).waitFor();

  await press("Control+k");
  await ada.page.keyboard.type("cleo");
  await ada.page.locator(".search-results .row", { hasText: "Cleo Three" }).waitFor();
  await press("Enter");
  await ada.page.locator(".conversation-name", { hasText: "Cleo Three" }).waitFor();
  await expect.poll(() => ada.page.getByRole("searchbox").inputValue()).toBe("");
});

it("finds conversations and people, and starts conversations", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  await hearFrom(ada, ["bob4", "Bób Four", "hello"]);
  await world.arrive("robert4", "Robert Four");
  const search = ada.page.getByRole("searchbox");
  const results = ada.page.locator(".search-results");
  await search.fill("bob");
  await results.locator(".row", { hasText: "Bób Four" }).waitFor();
  await search.fill("@robert4");
  await results.getByRole("heading", { name: "People" }).waitFor();
  await results.locator(".row", { hasText: "Robert Four" }).click();
  await ada.composer.waitFor();
  await ada.page.locator(".conversation-name", { hasText: "Robert Four" }).waitFor();
  await search.fill("nobody of this name");
  await results.getByText("No results").waitFor();
  await search.press("Escape");
  await ada.row("Bób Four").waitFor();
});

it("shows typing, presence and drafts", async () => {
  const ada = await world.arrive("ada5", "Ada Five");
  const bob = await world.arrive("bob5", "Bob Five");
  const tablet = await world.visit("ada5");
  await tablet.signIn();
  await ada.startDirect("bob5");
  await ada.say("hello");
  await bob.open("Ada Five");
  await bob.composer.pressSequentially("I thi");
  await ada.row("Bob Five").getByText("typing…").waitFor();
  await ada.row("Bob Five").getByText("Online").waitFor({ state: "attached" });
  await bob.composer.press("Enter");
  await ada.row("Bob Five").getByText("I thi").waitFor();

  await ada.composer.pressSequentially("a thought");
  await ada.row("Bob Five").getByText("Draft:").waitFor();
  await tablet.row("Bob Five").getByText("a thought").waitFor();
  await ada.composer.pressSequentially(", unfinished");
  await tablet.row("Bob Five").getByText("a thought, unfinished").waitFor();
  await expect.poll(() => ada.composer.inputValue()).toBe("a thought, unfinished");
  await ada.page.reload();
  await ada.row("Bob Five").getByText("a thought, unfinished").waitFor();

  await tablet.open("Bob Five");
  await tablet.composer.fill("changed elsewhere");
  await ada.row("Bob Five").getByText("changed elsewhere").waitFor();
  await expect.poll(() => ada.composer.inputValue()).toBe("changed elsewhere");
  await tablet.composer.press("Enter");
  await bob.message("changed elsewhere").waitFor();
  await ada.row("Bob Five").getByText("Draft:").waitFor({ state: "detached" });
  await expect.poll(() => ada.composer.inputValue()).toBe("");

  await bob.context.close();
  await ada.page.getByText("Last seen").waitFor();
});

it("shows a preview of the last message of every kind", async () => {
  const ada = await world.arrive("ada6", "Ada Six");
  const bob = await world.arrive("bob6", "Bob Six");
  const [own, his] = [await ada.api(), await bob.api()];
  const he = await his.accounts.me();
  const group = await own.conversations.open({ kind: "group", name: "Birds", member_ids: [he.id] });
  const { id } = group.value;
  const says = (text: string) => ada.row("Birds").getByText(text).waitFor();
  await says("Group created");
  const sent = await own.messages.send(id, textMessage("line one\nline two"));
  await says("You: line one line two");
  await bob.row("Birds").getByText("Ada Six⁩: line one line two").waitFor();
  await his.messages.send(id, textMessage("👍🏽", { replyTo: sent.value.id }));
  await says("Bob Six⁩: 👍🏽");
  const doomed = await his.messages.send(id, textMessage("a secret"));
  await says("a secret");
  await his.messages.delete(doomed.value.id, "all");
  await says("Bob Six⁩: This message was deleted");
  await own.messages.pin(sent.value.id);
  await says("Message pinned");
  await own.groups.setRole(id, he.id, "admin");
  await says("Roles changed");
  await own.groups.transferOwnership(id, he.id);
  await says("New owner");
});
