/** The fixture of a test file: one site and one browser for all tests, and users per test. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

import { type Look, openBrowser, Person } from "./person.js";
import { Site } from "./site.js";
import { Wire } from "./wire.js";

export interface Together {
  readonly site: Site;
  arrive(handle: string, name: string, look?: Look): Promise<Person>;
  /** A new user whose connection can be cut. */
  arriveByWire(handle: string, name: string): Promise<{ person: Person; wire: Wire }>;
  /** A user who has opened the page and not signed in yet. */
  visit(handle: string, look?: Look): Promise<Person>;
}

/** Also checks after each test that no page has logged an error. */
export function together(): Together {
  let site: Site | undefined;
  let browser: Browser | undefined;
  const people: Person[] = [];
  const wires: Wire[] = [];

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
    wires.splice(0).forEach((wire) => wire.close());
    expect(complaints).toEqual([]);
  });

  const running = (): Browser => {
    if (!browser) {
      throw new Error("users can arrive only during a test");
    }
    return browser;
  };
  const stays = (person: Person) => {
    people.push(person);
    return person;
  };

  return {
    get site() {
      if (!site) {
        throw new Error("the site exists only during a test");
      }
      return site;
    },
    async arrive(handle, name, look) {
      return stays(await Person.arrive(running(), this.site.url, handle, name, look));
    },
    async arriveByWire(handle, name) {
      const wire = await Wire.to(this.site.url);
      wires.push(wire);
      return { person: stays(await Person.arrive(running(), wire.url, handle, name)), wire };
    },
    async visit(handle, look) {
      return stays(await Person.visit(running(), this.site.url, handle, look));
    },
  };
}
