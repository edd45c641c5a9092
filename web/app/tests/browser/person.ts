/** A user of the page, with a browser context of their own. */

import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";

import { Http } from "@godwit/sdk";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS =
  "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
/** Longer than any step takes, even on a busy machine. */
const PATIENCE_MS = 90_000;
export const PASSWORD = "correct horse battery";

/** The delivery states of a message, in order. */
const PROGRESS = ["sending", "sent", "delivered", "read"] as const;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(" ") });
}

export interface Look {
  width?: number;
  height?: number;
  dark?: boolean;
  locale?: string;
  touch?: boolean;
}

export class Person {
  /** Errors in the console of the page. */
  readonly complaints: string[] = [];

  private constructor(
    readonly handle: string,
    readonly context: BrowserContext,
    readonly page: Page,
    readonly url: string,
  ) {
    page.on("pageerror", (error) => this.complaints.push(error.message));
    page.on("console", (message) => {
      // Requests without a connection fail as expected.
      if (
        message.type() === "error" &&
        !/Failed to load resource|WebSocket connection/.test(message.text())
      ) {
        this.complaints.push(message.text());
      }
    });
  }

  /** Registers through the page. */
  static async arrive(
    browser: Browser,
    url: string,
    handle: string,
    name: string,
    look: Look = {},
  ): Promise<Person> {
    const person = await Person.visit(browser, url, handle, look);
    await person.page.getByRole("button", { name: "Create an account" }).click();
    await person.page.getByLabel("Username").fill(handle);
    await person.page.getByLabel("Name", { exact: true }).fill(name);
    await person.page.getByLabel("Password").fill(PASSWORD);
    await person.page.getByRole("button", { name: "Create account", exact: true }).click();
    await person.page.getByRole("navigation", { name: "Conversations" }).waitFor();
    return person;
  }

  /** Signs in through the page, as on another device. */
  async signIn(password = PASSWORD): Promise<void> {
    await this.page.getByLabel("Username").fill(this.handle);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", { name: "Sign in", exact: true }).click();
  }

  /** Opens the page without signing in. */
  static async visit(browser: Browser, url: string, handle: string, look: Look = {}): Promise<Person> {
    const context = await browser.newContext({
      viewport: { width: look.width ?? 1180, height: look.height ?? 760 },
      colorScheme: look.dark ? "dark" : "light",
      locale: look.locale ?? "en-GB",
      hasTouch: look.touch ?? false,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    await page.goto(url);
    return new Person(handle, context, page, url);
  }

  /** The same user through the API, for steps that are not under test. */
  async api(): Promise<Http> {
    const http = new Http({ baseUrl: this.url });
    await http.auth.signIn({ handle: this.handle, password: PASSWORD });
    return http;
  }

  async startDirect(name: string): Promise<void> {
    await this.page.getByRole("button", { name: "New conversation" }).first().click();
    const dialog = this.page.getByRole("dialog");
    await dialog.getByRole("searchbox").fill(name);
    await dialog.getByRole("button", { name: `@${name}` }).click();
    await dialog.getByRole("button", { name: "Start" }).click();
    await this.composer.waitFor();
  }

  get dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  /** The conversation with this name in the list. */
  row(name: string): Locator {
    return this.page.locator(".list .row", { hasText: name });
  }

  /** Chooses an item from the menu of a row in the list. */
  async chooseForRow(name: string, item: string): Promise<void> {
    await this.row(name).click({ button: "right" });
    await this.chooseItem(item);
  }

  /** Chooses an item from the account menu. */
  async chooseForAccount(item: string): Promise<void> {
    await this.page.getByRole("button", { name: "Account:" }).click();
    await this.chooseItem(item);
  }

  async chooseItem(item: string): Promise<void> {
    await this.page.getByRole("menuitem", { name: item }).click();
  }

  /** The names of the conversations, from top to bottom. */
  async listed(): Promise<string[]> {
    return this.page.locator(".list .row-name").allTextContents();
  }

  get composer(): Locator {
    return this.page.getByRole("textbox", { name: "Message" });
  }

  get messages(): Locator {
    return this.page.locator("main .message .message-text");
  }

  async open(name: string): Promise<void> {
    await this.page.locator(".row", { hasText: name }).first().click();
    await this.composer.waitFor();
  }

  async say(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press("Enter");
  }

  /** The message with this text. */
  message(text: string): Locator {
    return this.page
      .locator("main .message", { has: this.page.locator(".message-text", { hasText: text }) })
      .last();
  }

  /** Waits until a message is cached for the next reload, which happens a moment after it came. */
  async cached(text: string): Promise<void> {
    const stored = () =>
      this.page.evaluate(async () => {
        const answered = <T>(request: IDBRequest<T>) =>
          new Promise<T>((resolve) => (request.onsuccess = () => resolve(request.result)));
        const [database] = await indexedDB.databases();
        const opened = await answered(indexedDB.open(database?.name ?? ""));
        const found = await answered(opened.transaction("messages").objectStore("messages").getAll());
        opened.close();
        return JSON.stringify(found);
      });
    await expect.poll(stored).toContain(text);
  }

  /** Chooses an item from the menu of a message. */
  async choose(text: string, item: string): Promise<void> {
    await this.message(text).locator(".bubble").click({ button: "right" });
    await this.page.getByRole("menuitem", { name: item, exact: true }).click();
  }

  get thread(): Locator {
    return this.page.getByRole("complementary", { name: "Thread" });
  }

  get composerOfThread(): Locator {
    return this.thread.getByRole("textbox", { name: "Reply in thread" });
  }

  async sayInThread(text: string): Promise<void> {
    await this.composerOfThread.fill(text);
    await this.composerOfThread.press("Enter");
  }

  /** Waits until an own message has at least this delivery state. */
  async progress(text: string, progress: (typeof PROGRESS)[number]): Promise<void> {
    const far = PROGRESS.slice(PROGRESS.indexOf(progress)).map((one) => `[data-progress=${one}]`);
    await this.page.locator(`.message:is(${far.join()})`, { hasText: text }).last().waitFor();
  }
}
