/** The data of `godwit demo` in the page. Takes the screenshots of the README. */

import { mkdir, writeFile } from "node:fs/promises";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";

import { openBrowser } from "./person.js";
import { Site } from "./site.js";

const UPDATE = process.env.UPDATE_DOCS === "1";
const PICTURES = new URL("../../../../docs/img/", import.meta.url).pathname;
const DESKTOP = { viewport: { width: 1120, height: 720 } };
const PHONE = { viewport: { width: 390, height: 720 }, hasTouch: true };

let site: Site;
let browser: Browser;
let password: string;

beforeAll(async () => {
  const demo = await Site.startDemo();
  site = demo.site;
  password = /sign in as ada with the password (\S+)/.exec(demo.told)?.[1] ?? "";
  browser = await openBrowser();
});

afterAll(async () => {
  await browser.close();
  await site.stop();
});

async function signIn(options: Parameters<Browser["newContext"]>[0]): Promise<Page> {
  const context = await browser.newContext({ locale: "en-GB", deviceScaleFactor: 2, ...options });
  const page = await context.newPage();
  await page.goto(site.url);
  await page.getByLabel("Username").fill("ada");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.locator(".row", { hasText: "Saturday hike" }).waitFor();
  return page;
}

/** With `UPDATE_DOCS=1`, saves a screenshot under this name. */
async function picture(page: Page, name: string): Promise<void> {
  if (!UPDATE) {
    return;
  }
  const png = await page.screenshot({ animations: "disabled", caret: "hide" });
  const blank = await browser.newPage();
  const webp = await blank.evaluate(async (base64) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d")?.drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.8);
  }, png.toString("base64"));
  await blank.close();
  await mkdir(PICTURES, { recursive: true });
  await writeFile(`${PICTURES}${name}.webp`, Buffer.from(webp.split(",")[1] ?? "", "base64"));
}

it("shows the demo data on a desktop", async () => {
  const page = await signIn(DESKTOP);
  expect(await page.locator(".row").count()).toBeGreaterThan(7);
  await page.locator(".row", { hasText: "Estuary counts" }).click();
  await page.locator(".message").last().waitFor();
  await picture(page, "conversation");
  await page.context().close();
});

it("shows the demo data on a phone in the dark theme", async () => {
  const page = await signIn({ ...PHONE, colorScheme: "dark" });
  await picture(page, "phone-list");
  await page.locator(".row", { hasText: "Estuary counts" }).click();
  await page.locator(".message").last().waitFor();
  await picture(page, "phone-conversation");
  await page.context().close();
});
