import type { User } from "@godwit/sdk";
import { describe, expect, it } from "vitest";

import { People } from "../../src/model/people.js";

/** A directory that answers when the test says so. */
class Directory {
  readonly asked: string[][] = [];
  private readonly waiting: (() => void)[] = [];
  reachable = true;

  readonly lookUp = (ids: string[]): Promise<User[]> => {
    this.asked.push(ids);
    return new Promise((resolve, reject) => {
      const { reachable } = this;
      this.waiting.push(() => (reachable ? resolve(ids.map(user)) : reject(new Error("no connection"))));
    });
  };

  async answer(): Promise<void> {
    await Promise.resolve();
    this.waiting.splice(0).forEach((one) => one());
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

function user(id: string): User {
  return { id, handle: `handle_${id}`, display_name: `Name ${id}` };
}

describe("people", () => {
  it("are loaded once, in bounded batches", async () => {
    const directory = new Directory();
    const people = new People(directory.lookUp);
    const ids = Array.from({ length: 60 }, (_, index) => `${index}`);
    for (const id of [...ids, "1"]) {
      expect(people.user(id)).toBeUndefined();
    }
    await directory.answer();
    await directory.answer();
    expect(directory.asked).toEqual([ids.slice(0, 50), ids.slice(50)]);
    expect(people.user("59")).toEqual(user("59"));
  });

  it("are not loaded if they are known or if the id is empty", () => {
    const directory = new Directory();
    const people = new People(directory.lookUp);
    people.learn(user("1"));
    people.user("1");
    people.user("");
    expect(directory.asked).toEqual([]);
    expect(people.byHandle("handle_1")).toEqual(user("1"));
  });

  it("are loaded again when the connection is back", async () => {
    const directory = new Directory();
    const people = new People(directory.lookUp);
    directory.reachable = false;
    people.user("1");
    await directory.answer();
    people.user("1");
    expect(directory.asked).toEqual([["1"]]);
    directory.reachable = true;
    people.askAgain();
    await directory.answer();
    expect(people.user("1")).toEqual(user("1"));
    expect(directory.asked).toEqual([["1"], ["1"]]);
  });

  it("are reloaded after missed changes", async () => {
    const directory = new Directory();
    const changed: User[] = [];
    const people = new People(directory.lookUp, (renamed) => changed.push(renamed));
    people.learn({ ...user("1"), display_name: "Before" }, user("2"));
    expect(changed).toEqual([]);
    people.renew();
    await directory.answer();
    expect(directory.asked).toEqual([["1", "2"]]);
    expect(people.user("1")).toEqual(user("1"));
    expect(changed).toEqual([user("1")]);
  });

  it("are reloaded at once if used lately, the others when they are shown", async () => {
    const directory = new Directory();
    const people = new People(directory.lookUp);
    people.learn(...Array.from({ length: 502 }, (_, index) => user(`${index}`)));
    people.renew();
    for (let page = 0; page < 10; page++) {
      await directory.answer();
    }
    expect(directory.asked.flat()).not.toContain("1");
    expect(directory.asked.flat()).toHaveLength(500);
    people.user("1");
    people.user("1");
    await directory.answer();
    expect(directory.asked.flat().filter((id) => id === "1")).toHaveLength(1);
  });
});
