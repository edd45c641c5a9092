/** Checks each screen for accessibility with axe. The screenshots in `shots` are for manual review. */

import { AxeBuilder } from "@axe-core/playwright";
import { textMessage } from "@godwit/sdk";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";

import { openBrowser, Person } from "./person.js";
import { Site } from "./site.js";

const SHOTS = new URL("shots/", import.meta.url).pathname;

let site: Site;
let browser: Browser;
let ada: Person;

beforeAll(async () => {
  site = await Site.start();
  browser = await openBrowser();
  ada = await Person.arrive(browser, site.url, "ada", "Ada Lovelace");
  await furnish();
});

afterAll(async () => {
  await browser.close();
  await site.stop();
});

/** Creates test data: a few users, a group, and a history with messages of every kind. */
async function furnish(): Promise<void> {
  const [grace, alan] = await Promise.all([
    Person.arrive(browser, site.url, "grace", "Grace Hopper"),
    Person.arrive(browser, site.url, "alan", "Alan Turing"),
  ]);
  const [own, hers, his] = await Promise.all([ada.api(), grace.api(), alan.api()]);
  await Promise.all([grace.context.close(), alan.context.close()]);
  const [me, she, he] = await Promise.all([own.accounts.me(), hers.accounts.me(), his.accounts.me()]);

  const direct = await own.conversations.direct(he.id);
  await his.messages.send(direct.id, textMessage("Can a machine think?"));
  await own.messages.send(direct.id, textMessage("Ask it."));
  const group = (
    await own.conversations.open({ kind: "group", name: "Wader watch", member_ids: [she.id, he.id] })
  ).value;
  const seen = await hers.messages.send(group.id, textMessage("Two godwits at the estuary this morning 🐦"));
  await hers.messages.send(
    group.id,
    textMessage("High tide is at 14:20, pictures at https://example.org/waders"),
  );
  await his.messages.send(group.id, textMessage("@ada are you coming?"));
  const reply = await own.messages.send(
    group.id,
    textMessage(
      "Yes! I bring the telescope, and there is room for two in the car if somebody wants to come along.",
      {
        replyTo: seen.value.id,
      },
    ),
  );
  await hers.messages.react(reply.value.id, "❤️");
  await his.messages.react(reply.value.id, "❤️");
  await own.messages.pin(seen.value.id);
  await own.messages.edit(
    reply.value.id,
    "Yes! I bring the telescope, and there is room for two in the car.",
  );
  await hers.messages.send(group.id, textMessage("🎉"));
  const again = await hers.conversations.direct(me.id);
  await hers.messages.send(again.id, textMessage("Did you see the photos?"));
  await hers.messages.send(again.id, textMessage("The second one is my favourite"));
}

async function look(person: Person, name: string): Promise<void> {
  await person.page.screenshot({ path: `${SHOTS}${name}.png` });
  const { violations } = await new AxeBuilder({ page: person.page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
    .analyze();
  const found = violations.map(
    (one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`,
  );
  expect.soft(found, name).toEqual([]);
}

it("sign-in is accessible", async () => {
  const visitor = await Person.visit(browser, site.url, "nobody");
  await look(visitor, "sign-in");
  await visitor.context.close();
});

it("list and conversation are accessible", async () => {
  await ada.page.getByText("The second one is my favourite").first().waitFor();
  await look(ada, "list");
  await ada.open("Wader watch");
  await ada.message("🎉").waitFor();
  await look(ada, "conversation");
  await ada.message("telescope").locator(".bubble").click({ button: "right" });
  await look(ada, "message-menu");
  await ada.page.keyboard.press("Escape");
  await ada.page.getByRole("button", { name: "Emoji" }).click();
  await look(ada, "emoji");
  await ada.composer.press("Escape");
  await ada.composer.pressSequentially("Hello @g");
  await ada.page.getByRole("option", { name: "Grace Hopper" }).waitFor();
  await look(ada, "mention");
  await ada.composer.press("Enter");
  await expect.poll(() => ada.composer.inputValue()).toBe("Hello @grace ");
  await ada.composer.fill("");
});

it("dialogs are accessible", async () => {
  const { page } = ada;
  await page.locator(".conversation-title").click();
  await page.getByRole("dialog").getByText("owner").waitFor();
  await look(ada, "group");
  await page.getByRole("dialog").getByRole("button", { name: "New link" }).click();
  await page.getByRole("textbox", { name: "Invite link" }).waitFor();
  await page.keyboard.press("Escape");
  await ada.choose("telescope", "Message info");
  await page.getByRole("dialog").getByText("Alan Turing").waitFor();
  await look(ada, "receipts");
  await page.keyboard.press("Escape");
  for (const [item, name] of [
    ["Settings", "settings"],
    ["Devices", "devices"],
    ["Starred", "stars"],
    ["Scheduled", "scheduled"],
    ["Keyboard", "shortcuts"],
  ] as const) {
    await page.getByRole("button", { name: "Account:" }).click();
    await page.getByRole("menuitem", { name: item }).click();
    await page.getByRole("dialog").waitFor();
    await look(ada, name);
    await page.keyboard.press("Escape");
  }
  await page.getByRole("button", { name: "New conversation" }).click();
  await look(ada, "new-conversation");
  await page.keyboard.press("Escape");
});

it("phones, the dark theme, Spanish and right-to-left texts are accessible", async () => {
  const state = await ada.context.storageState();
  for (const [name, options] of Object.entries({
    phone: { viewport: { width: 390, height: 780 }, hasTouch: true },
    dark: { viewport: { width: 1180, height: 760 }, colorScheme: "dark" as const },
    spanish: { viewport: { width: 1180, height: 760 }, locale: "es-ES" },
    rtl: { viewport: { width: 1180, height: 760 } },
  })) {
    const context = await browser.newContext({ storageState: state, locale: "en-GB", ...options });
    const page = await context.newPage();
    await page.goto(site.url);
    await page.getByText("Wader watch").first().waitFor();
    const shown = Object.assign(Object.create(Person.prototype) as Person, { page, context });
    if (name === "rtl") {
      await page.evaluate(() => (document.documentElement.dir = "rtl"));
    }
    await look(shown, `${name}-list`);
    await page.locator(".row", { hasText: "Wader watch" }).click();
    await page.locator(".message", { hasText: "🎉" }).waitFor();
    await look(shown, `${name}-conversation`);
    await context.close();
  }
});
