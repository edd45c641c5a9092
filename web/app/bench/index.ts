/**
 * Measures the speed of the page in a real browser with a real server: `GODWIT_BIN=… npm run bench`.
 *
 * Prints numbers without judging them, because they depend on the machine. Without a graphics card, the CPU also draws the
 * frames. The times of script, layout and style depend on the page alone.
 */

import "./settings.js";

import type { Browser, CDPSession, Page } from "playwright-core";

import { openBrowser, PASSWORD } from "../tests/browser/person.js";
import { Site } from "../tests/browser/site.js";
import { describe, memory, spread, worked } from "./measure.js";
import { CONVERSATIONS, furnish, MESSAGES, type World } from "./world.js";

const VIEW = { width: 1180, height: 760 };
/** One step of the mouse wheel. */
const WHEEL_PX = 400;
const WHEELS = 250;
const SENT = 200;

const site = await Site.start();
const browser = await openBrowser();
try {
  const began = performance.now();
  const world = await furnish(site.url);
  say(`${CONVERSATIONS} conversations and ${MESSAGES} messages made`, [elapsed(began)]);
  await measure(browser, world);
} finally {
  await browser.close();
  await site.stop();
}

async function measure(browser: Browser, world: World): Promise<void> {
  const { page, cdp } = await visitor(browser);
  await signIn(page, world.handle);
  await loading(page, cdp);
  await list(page, cdp);
  await history(page, cdp, world);
  await talking(browser, page, world);
}

async function loading(page: Page, cdp: CDPSession): Promise<void> {
  const first = performance.now();
  await page.locator(".row").first().waitFor();
  say("first sign-in until the list is visible", [elapsed(first)]);
  await allListed(page);
  say("first sign-in until all conversations are loaded", [elapsed(first), await memory(cdp)]);
  // The page writes its cache shortly after the last change.
  await page.waitForTimeout(2_000);
  const again = performance.now();
  await page.reload({ waitUntil: "commit" });
  await page.locator(".row").first().waitFor();
  say("reload with a full cache until the list is visible", [elapsed(again)]);
  await allListed(page);
  await page.locator(".connection[data-state=online]").waitFor({ state: "attached" });
}

async function allListed(page: Page): Promise<void> {
  const height = (CONVERSATIONS - 1) * 72;
  await page.waitForFunction(
    (px) => (document.querySelector<HTMLElement>(".list")?.offsetHeight ?? 0) >= px,
    height,
  );
}

async function list(page: Page, cdp: CDPSession): Promise<void> {
  const down = await worked(page, cdp, () => wheel(page, ".list-scroller", WHEEL_PX));
  say("scrolling down the list", describe(down));
  const up = await worked(page, cdp, () => wheel(page, ".list-scroller", -WHEEL_PX));
  say("scrolling up the list", [...describe(up), await memory(cdp)]);
}

async function history(page: Page, cdp: CDPSession, world: World): Promise<void> {
  const began = performance.now();
  await page.evaluate((id) => (location.hash = `#/c/${id}`), world.long);
  await page.locator(".message").first().waitFor();
  say("opening the long conversation", [elapsed(began), await memory(cdp)]);
  const up = await worked(page, cdp, () => wheel(page, ".history-scroller", -WHEEL_PX));
  say("scrolling up the history", describe(up));
  const all = await worked(page, cdp, () => wheelToTop(page));
  say(`scrolling to the first of ${MESSAGES} messages`, [...describe(all), await memory(cdp)]);
  const down = await worked(page, cdp, () => wheel(page, ".history-scroller", WHEEL_PX));
  say("scrolling down the history", [...describe(down), await memory(cdp)]);
}

/** The time from a key press in one browser to the text in the page of another. */
async function talking(browser: Browser, reader: Page, world: World): Promise<void> {
  const { page: writer } = await visitor(browser);
  await signIn(writer, world.other);
  await writer.evaluate((id) => (location.hash = `#/c/${id}`), world.long);
  const composer = writer.getByRole("textbox", { name: "Message" });
  await composer.waitFor();
  // After a reload, the page is at the end of the history.
  await reader.reload();
  await reader.locator(".message").first().waitFor();
  const times: number[] = [];
  for (let index = 0; index < SENT; index += 1) {
    const text = `measured ${index}.`;
    const shown = reader.evaluate(whenShown, text);
    await composer.fill(text);
    const pressed = writer.evaluate(whenPressed);
    await composer.press("Enter");
    times.push((await shown) - (await pressed));
  }
  say("from the key press to the other browser", [spread(times)]);
}

async function visitor(browser: Browser): Promise<{ page: Page; cdp: CDPSession }> {
  const context = await browser.newContext({ viewport: VIEW, locale: "en-GB" });
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(site.url);
  return { page, cdp };
}

async function signIn(page: Page, handle: string): Promise<void> {
  await page.getByLabel("Username").fill(handle);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("navigation", { name: "Conversations" }).waitFor();
}

async function wheel(page: Page, selector: string, px: number): Promise<void> {
  await page.locator(selector).hover();
  for (let turn = 0; turn < WHEELS; turn += 1) {
    await page.mouse.wheel(0, px);
  }
}

async function wheelToTop(page: Page): Promise<void> {
  await page.locator(".history-scroller").hover();
  // The first message has seq 2, after the entry that the conversation was created.
  while ((await page.locator(".message[data-seq='2']").count()) === 0) {
    await page.mouse.wheel(0, -10 * WHEEL_PX);
  }
}

function say(what: string, lines: readonly string[]): void {
  console.log(`${what}\n${lines.map((line) => `    ${line}`).join("\n")}`);
}

function elapsed(sinceMs: number): string {
  return `${Math.round(performance.now() - sinceMs)} ms`;
}

/** Runs in the page of the reader. Both pages use the clock of the machine. */
function whenShown(text: string): Promise<number> {
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const last = [...document.querySelectorAll(".message-text")].at(-1);
      if (last?.textContent === text) {
        observer.disconnect();
        resolve(performance.timeOrigin + performance.now());
      }
    });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  });
}

/** Runs in the page of the writer. */
function whenPressed(): Promise<number> {
  return new Promise((resolve) => {
    const listener = () => resolve(performance.timeOrigin + performance.now());
    document.addEventListener("keydown", listener, { capture: true, once: true });
  });
}
