/** What the tests of a file share: one site, one browser, and people who leave after each test. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

import { openBrowser, Person } from "./person.js";
import { Site } from "./site.js";

export interface Together {
  readonly site: Site;
  arrive(handle: string, name: string): Promise<Person>;
}

/** Whatever happens in a test, no page may have complained. */
export function together(): Together {
  let site: Site | undefined;
  let browser: Browser | undefined;
  const people: Person[] = [];

  beforeAll(async () => {
    site = await Site.start();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
  });
  afterEach(async () => {
    const complaints = people.flatMap((person) => person.complaints);
    await Promise.all(people.map((person) => person.context.close()));
    people.length = 0;
    expect(complaints).toEqual([]);
  });

  return {
    get site() {
      if (!site) {
        throw new Error("the site is there while tests run");
      }
      return site;
    },
    async arrive(handle, name) {
      if (!site || !browser) {
        throw new Error("people arrive while tests run");
      }
      const person = await Person.arrive(browser, site.url, handle, name);
      people.push(person);
      return person;
    },
  };
}
