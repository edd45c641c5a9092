import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

/** Waits until the text, the name or the class of the focused element contains this. */
async function focused(person: Person, what: string): Promise<void> {
  await person.page.waitForFunction((wanted) => {
    const element = document.activeElement;
    const texts = [element?.textContent, element?.getAttribute("aria-label"), element?.className];
    return element !== document.body && texts.some((text) => text?.includes(wanted));
  }, what);
}

async function press(person: Person, ...keys: string[]): Promise<void> {
  for (const key of keys) {
    await person.page.keyboard.press(key);
  }
}

/** Presses Shift+Tab until a message has the focus. Returns the number of presses. */
async function tabToMessages(person: Person): Promise<number> {
  for (let stops = 1; stops < 30; stops += 1) {
    await person.page.keyboard.press("Shift+Tab");
    if (await person.page.evaluate(() => document.activeElement?.matches("li.message"))) {
      return stops;
    }
  }
  throw new Error("Tab does not reach the messages");
}

it("supports everything by keyboard, and never loses the focus", async () => {
  const ada = await world.arrive("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await own.conversations.direct((await his.accounts.me()).id);
  for (const text of ["one", "two https://example.org/", "three", "four"]) {
    await own.messages.send(direct.id, textMessage(text));
  }
  await ada.open("Bob");
  await ada.message("four").waitFor();
  await focused(ada, "Message");

  // All messages together are one tab stop with its inner elements, here the menu of the last message.
  expect(await tabToMessages(ada)).toBe(3);
  await focused(ada, "four");
  await press(ada, "ArrowUp", "ArrowUp");
  await focused(ada, "two");
  await press(ada, "Tab");
  await focused(ada, "https://example.org/");
  await press(ada, "Shift+Tab", "Home");
  await focused(ada, "one");
  await press(ada, "End", "ArrowUp");
  await focused(ada, "three");

  await press(ada, "Enter");
  await focused(ada, "Reply");
  await press(ada, "Escape");
  await focused(ada, "three");
  await press(ada, "Enter", "End", "Escape");
  await focused(ada, "three");

  await press(ada, "+");
  await focused(ada, "React with");
  await press(ada, "Enter");
  await ada.message("three").locator(".reaction").waitFor();
  await focused(ada, "three");

  await press(ada, "r");
  await focused(ada, "Message");
  await ada.page.locator(".composer-about", { hasText: "three" }).waitFor();
  await press(ada, "Escape");
  await ada.page.locator(".composer-about").waitFor({ state: "detached" });
  await focused(ada, "Message");
  await press(ada, "ArrowUp");
  await ada.page.locator(".composer-about", { hasText: "four" }).waitFor();
  await ada.page.keyboard.type(" and a half");
  await press(ada, "Enter");
  await ada.message("four and a half").waitFor();

  await tabToMessages(ada);
  await focused(ada, "three");
  await press(ada, "e");
  await ada.page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement);
  await expect.poll(() => ada.composer.inputValue()).toBe("three");
  await press(ada, "Escape");

  await tabToMessages(ada);
  await press(ada, "t");
  await focused(ada, "Reply in thread");
  await press(ada, "Escape");
  await ada.thread.waitFor({ state: "detached" });
  await focused(ada, "three");

  await press(ada, "Delete");
  await ada.dialog.waitFor();
  await press(ada, "Escape");
  await focused(ada, "three");
  await press(ada, "Delete");
  await ada.dialog.getByRole("button", { name: "Delete" }).press("Enter");
  await ada.message("three").waitFor({ state: "detached" });
  await focused(ada, "four");
  await press(ada, "Escape");
  await focused(ada, "Message");
});

it("completes a mention by keyboard, and cancels one thing per Escape", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  const bea = await world.arrive("bea2", "Bea Two");
  const [own, his, hers] = [await ada.api(), await bob.api(), await bea.api()];
  const members = [(await his.accounts.me()).id, (await hers.accounts.me()).id];
  const group = await own.conversations.open({ kind: "group", name: "Birds", member_ids: members });
  await his.messages.send(group.value.id, textMessage("who is there?"));
  await ada.open("Birds");
  await ada.choose("who is there?", "Reply");
  await ada.page.keyboard.type("me and @b");
  const options = ada.page.getByRole("option");
  await options.nth(1).waitFor();
  const first = await ada.page.getByRole("option", { selected: true }).textContent();
  await press(ada, "ArrowDown");
  const second = ada.page.getByRole("option", { selected: true });
  await expect.poll(() => second.textContent()).not.toBe(first);
  expect(await ada.composer.getAttribute("aria-activedescendant")).toBe(await second.getAttribute("id"));
  await press(ada, "Escape");
  await options.first().waitFor({ state: "detached" });
  await ada.page.locator(".composer-about").waitFor();
  await ada.page.keyboard.type("e");
  await options.first().waitFor();
  await press(ada, "Tab");
  await expect.poll(() => ada.composer.inputValue()).toBe("me and @bea2 ");
  await press(ada, "Enter");
  await bea.page.locator(".row", { hasText: "Birds" }).getByText("1 mention").waitFor({ state: "attached" });
  await bea.open("Birds");
  await bea.message("me and").locator(".mention-own", { hasText: "@bea2" }).waitFor();

  await ada.page.getByRole("button", { name: "Emoji" }).click();
  await focused(ada, "emoji");
  await press(ada, "ArrowRight", "Escape");
  await focused(ada, "Message");
});

it("announces new messages to screen readers, and nothing else", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const bob = await world.arrive("bob3", "Bob Three");
  await bob.startDirect("ada3");
  await bob.say("from before");
  await ada.open("Bob Three");
  await ada.message("from before").waitFor();
  const spoken = ada.page.locator(".history [aria-live]");
  await expect.poll(() => spoken.textContent()).toBe("");
  await bob.say("from now on");
  await spoken.getByText("Bob Three: from now on").waitFor({ state: "attached" });
  await ada.say("an answer");
  await bob.choose("from now on", "Edit");
  await bob.say("from now on, edited");
  await ada.message("from now on, edited").waitFor();
  await expect.poll(() => spoken.textContent()).toBe("Bob Three: from now on");
});

it("scrolls the focused message into view", async () => {
  const ada = await world.arrive("ada9", "Ada Nine");
  const bob = await world.arrive("bob9", "Bob Nine");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await own.conversations.direct((await his.accounts.me()).id);
  for (let index = 0; index < 40; index += 1) {
    await own.messages.send(direct.id, textMessage(`filling ${index}.`));
  }
  await ada.open("Bob Nine");
  await ada.message("filling 39.").waitFor();
  await tabToMessages(ada);
  for (let index = 38; index >= 10; index -= 1) {
    await ada.page.keyboard.press("ArrowUp");
    // Waits until another scroll would have happened.
    await ada.page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    const { text, hidden } = await ada.page.evaluate(() => {
      const view = document.querySelector(".history-scroller")?.getBoundingClientRect();
      const row = document.activeElement?.getBoundingClientRect();
      const hidden = !view || !row || row.top < view.top - 1 || row.bottom > view.bottom + 1;
      return { text: document.activeElement?.textContent, hidden };
    });
    expect(text).toContain(`filling ${index}.`);
    expect(hidden, `filling ${index}.`).toBe(false);
  }
});
