/** What the tests of a file share: one site, one browser, and people who leave after each test. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

import { type Look, openBrowser, Person } from "./person.js";
import { Site } from "./site.js";

export interface Together {
  readonly site: Site;
  arrive(handle: string, name: string, look?: Look): Promise<Person>;
  /** Somebody who has opened the page and not signed in yet. */
  visit(handle: string, look?: Look): Promise<Person>;
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

  const place = (): [Browser, string] => {
    if (!site || !browser) {
      throw new Error("people come while tests run");
    }
    return [browser, site.url];
  };
  const stays = (person: Person) => {
    people.push(person);
    return person;
  };

  return {
    get site() {
      if (!site) {
        throw new Error("the site is there while tests run");
      }
      return site;
    },
    async arrive(handle, name, look) {
      return stays(await Person.arrive(...place(), handle, name, look));
    },
    async visit(handle, look) {
      return stays(await Person.visit(...place(), handle, look));
    },
  };
}
