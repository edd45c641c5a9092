/** What the tests of a file share: one site, one browser, and people who leave after each test. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

import { type Look, openBrowser, Person } from "./person.js";
import { Site } from "./site.js";
import { Wire } from "./wire.js";

export interface Together {
  readonly site: Site;
  arrive(handle: string, name: string, look?: Look): Promise<Person>;
  /** Somebody whose connection can be cut. */
  arriveByWire(handle: string, name: string): Promise<{ person: Person; wire: Wire }>;
  /** Somebody who has opened the page and not signed in yet. */
  visit(handle: string, look?: Look): Promise<Person>;
}

/** Whatever happens in a test, no page may have complained. */
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
      throw new Error("people come while tests run");
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
        throw new Error("the site is there while tests run");
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
