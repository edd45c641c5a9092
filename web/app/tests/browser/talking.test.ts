import { expect, it } from "vitest";

import { together } from "./together.js";

const world = together();
const arrive = (handle: string, name: string) => world.arrive(handle, name);

it("delivers messages, replies, reactions, edits and deletions in both directions", async () => {
  const ada = await arrive("ada", "Ada Lovelace");
  const bob = await arrive("bob", "Bob Hopper");
  await ada.startDirect("bob");
  await ada.say("Hello Bob");
  await bob.open("Ada Lovelace");
  await bob.message("Hello Bob").waitFor();
  await bob.say("Hello Ada,\nhow are you?");
  await ada.message("how are you?").waitFor();
  await ada.progress("Hello Bob", "read");

  await bob.choose("Hello Bob", "Reply");
  await bob.say("That is what I was going to say");
  await ada.message("That is what I was going to say").locator(".quote", { hasText: "Hello Bob" }).waitFor();
  await ada.choose("That is what", "React with ❤️");
  await bob.message("That is what").locator(".reaction", { hasText: "❤️" }).waitFor();
  await ada.choose("Hello Bob", "Edit");
  await ada.say("Hello dear Bob");
  await bob.message("Hello dear Bob").getByRole("button", { name: "edited" }).waitFor();
  await ada.choose("Hello dear Bob", "Delete for everyone");
  await ada.page.getByRole("button", { name: "Delete", exact: true }).click();
  await bob.message("This message was deleted").waitFor();
});

it("keeps messages without a network, and sends each once when it is back", async () => {
  const ada = await arrive("ada2", "Ada Two");
  const bob = await arrive("bob2", "Bob Two");
  await ada.startDirect("bob2");
  await ada.say("before");
  await ada.progress("before", "sent");
  await ada.cached("before");
  await ada.context.setOffline(true);
  await world.site.killServer();
  await ada.say("one without a network");
  await ada.say("two without a network");
  await ada.progress("two without a network", "sending");
  await ada.page.getByText("No connection").waitFor();

  await ada.context.setOffline(false);
  await ada.page.reload();
  await ada.progress("two without a network", "sending");
  // The unsent messages and the cached history are loaded concurrently.
  await ada.message("before").waitFor();
  expect(await ada.messages.allTextContents()).toEqual([
    "before",
    "one without a network",
    "two without a network",
  ]);

  await world.site.startServer();
  await ada.progress("two without a network", "sent");
  await bob.open("Ada Two");
  await bob.message("two without a network").waitFor();
  expect(await bob.messages.allTextContents()).toEqual([
    "before",
    "one without a network",
    "two without a network",
  ]);
});

it("sends a message once if the page is reloaded during the send", async () => {
  const ada = await arrive("ada3", "Ada Three");
  const bob = await arrive("bob3", "Bob Three");
  await ada.startDirect("bob3");
  const said = Array.from({ length: 20 }, (_, index) => `message ${index}.`);
  for (const text of said) {
    await ada.say(text);
  }
  await ada.page.reload();
  await ada.progress("message 19.", "sent");
  await bob.open("Ada Three");
  await bob.message("message 19.").waitFor();
  expect(await bob.messages.allTextContents()).toEqual(said);
});

it("continues after the server was killed and restarted", async () => {
  const ada = await arrive("ada4", "Ada Four");
  const bob = await arrive("bob4", "Bob Four");
  await ada.startDirect("bob4");
  await ada.say("before the power failure");
  await bob.open("Ada Four");
  await bob.message("before the power failure").waitFor();
  await world.site.killServer();
  await bob.say("during it");
  await world.site.startServer();
  await ada.message("during it").waitFor();
  await ada.say("after it");
  await bob.message("after it").waitFor();
});

it("shows hostile names and texts as plain text", async () => {
  const name = "<img src=x onerror=alert(1)>";
  const ada = await arrive("ada5", name);
  const bob = await arrive("bob5", "Z̸̢̛̲͎̈́a̵̧͇̓l̶g̷o");
  const texts = [
    "<script>alert('x')</script><b>bold</b>",
    "javascript:alert(1) https://example.org/?q=<i>",
    "abc \u202Edef\u202C ghi",
    "Z̷͇̈́a̵̓l̶g̷o".repeat(40),
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "مرحبا بالعالم",
    "a".repeat(7_900),
  ];
  await ada.startDirect("bob5");
  for (const text of texts) {
    await ada.say(text);
  }
  await bob.open("onerror");
  await bob.message("a".repeat(7_900)).waitFor();
  expect(await bob.messages.allTextContents()).toEqual(texts);
  await expect.poll(() => bob.page.locator(".conversation-name").textContent()).toBe(name);
  expect(await bob.page.locator("main :is(img, script, b, i)").count()).toBe(0);

  await ada.say("x".repeat(64 * 1024));
  await ada.page.locator(".refused").waitFor();
  await ada.page.locator(".refused").getByRole("button", { name: "Delete" }).click();
  await ada.page.locator(".refused").waitFor({ state: "detached" });
  const width = await ada.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(width).toBeLessThanOrEqual(0);
});
