import { expect, it } from "vitest";

import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

it("delivers every message once to three users, one of whom is disconnected", async () => {
  const { person: ada, wire } = await world.arriveByWire("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  const cyd = await world.arrive("cyd", "Cyd");
  const [own, his, hers] = [await ada.api(), await bob.api(), await cyd.api()];
  const members = [(await his.accounts.me()).id, (await hers.accounts.me()).id];
  await own.conversations.open({ kind: "group", name: "Climbing", member_ids: members });
  for (const person of [ada, bob, cyd]) {
    await person.open("Climbing");
  }
  await ada.say("before");
  await ada.progress("before", "read");

  wire.cut();
  await ada.say("ada one");
  await ada.say("ada two");
  await bob.say("bob one");
  await cyd.message("bob one").waitFor();
  await cyd.say("cyd one");
  await bob.message("cyd one").waitFor();
  await ada.page.getByText("No connection").waitFor();
  await ada.progress("ada two", "sending");

  wire.mend();
  await ada.progress("ada two", "read");
  const order = ["before", "bob one", "cyd one", "ada one", "ada two"];
  for (const person of [ada, bob, cyd]) {
    await person.message("ada two").waitFor();
    expect(await person.messages.allTextContents()).toEqual(order);
  }
});

it("does not report a connection that is restored at once", async () => {
  const { person: ada, wire } = await world.arriveByWire("ada2", "Ada Two");
  const bob = await world.arrive("bob2", "Bob Two");
  await ada.startDirect("bob2");
  await ada.say("before");
  await ada.progress("before", "sent");
  // Independent of the speed of the machine: the line may appear only after the connection was lost for this time.
  await ada.page.evaluate(() => {
    const line = document.querySelector<HTMLElement>(".connection");
    const seen: { lostAt?: number; shownAt?: number } = {};
    Object.assign(window, { seen });
    const look = () => {
      if (line && line.dataset.state !== "online") {
        seen.lostAt ??= performance.now();
      }
      if (line && line.offsetHeight > 0) {
        seen.shownAt ??= performance.now();
      }
    };
    new MutationObserver(look).observe(document.body, { attributes: true, childList: true, subtree: true });
  });
  wire.cut();
  wire.mend();
  await bob.open("Ada Two");
  await bob.say("after");
  await ada.message("after").waitFor();
  const { lostAt, shownAt } = await ada.page.evaluate(
    () => (window as unknown as { seen: { lostAt?: number; shownAt?: number } }).seen,
  );
  expect(lostAt).toBeDefined();
  expect((shownAt ?? Infinity) - (lostAt ?? 0)).toBeGreaterThan(2_500);
});

it("works over a slow network, and sends nothing twice", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  const bob = await world.arrive("bob3", "Bob Three");
  await ada.startDirect("bob3");
  await ada.say("at full speed");
  await ada.progress("at full speed", "sent");
  const cdp = await ada.context.newCDPSession(ada.page);
  const bytesPerSecond = 50_000 / 8;
  await cdp.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 400,
    downloadThroughput: bytesPerSecond,
    uploadThroughput: bytesPerSecond,
  });
  await ada.page.reload();
  await ada.message("at full speed").waitFor();
  const said = ["slow one", "slow two", "slow three"];
  for (const text of said) {
    await ada.say(text);
  }
  await ada.progress("slow three", "sent");
  await bob.open("Ada Three");
  await bob.message("slow three").waitFor();
  expect(await bob.messages.allTextContents()).toEqual(["at full speed", ...said]);
});

it("keeps two tabs of one account in sync", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const bob = await world.arrive("bob4", "Bob Four");
  await bob.startDirect("ada4");
  await bob.say("hello");
  const second = await ada.context.newPage();
  await second.goto(ada.url);
  for (const page of [ada.page, second]) {
    await page.waitForFunction(() => document.title.startsWith("(1)"));
  }
  await ada.page.bringToFront();
  await ada.open("Bob Four");
  await second.waitForFunction(() => !document.title.startsWith("("));

  await ada.say("from the first tab");
  await second.locator(".row", { hasText: "Bob Four" }).click();
  await second.getByRole("textbox", { name: "Message" }).fill("from the second tab");
  await second.getByRole("textbox", { name: "Message" }).press("Enter");
  await bob.message("from the second tab").waitFor();
  await ada.message("from the second tab").waitFor();
  const expected = ["hello", "from the first tab", "from the second tab"];
  expect(await bob.messages.allTextContents()).toEqual(expected);
  expect(await ada.messages.allTextContents()).toEqual(expected);
});

it("neither loses nor duplicates messages when the server is killed repeatedly", async () => {
  const ada = await world.arrive("ada5", "Ada Five");
  const bob = await world.arrive("bob5", "Bob Five");
  await ada.startDirect("bob5");
  await bob.startDirect("ada5");
  const said = Array.from({ length: 9 }, (_, index) => `number ${index}.`);
  for (const [index, text] of said.entries()) {
    await ada.say(text);
    if (index % 4 === 1) {
      await world.site.killServer();
      await world.site.startServer();
    }
  }
  for (const person of [ada, bob]) {
    await arrived(person, "number 8.");
    expect(await person.messages.allTextContents()).toEqual(said);
  }
});

/** Waits until the message was sent. */
async function arrived(person: Person, text: string): Promise<void> {
  await person.page.locator(".message[data-seq]", { hasText: text }).waitFor();
}
