import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { Handoff } from "../../src/model/handoff.js";

function storage(roomFor = Infinity) {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => {
      if (value.length > roomFor) {
        throw new Error("the quota is exceeded");
      }
      items.set(key, value);
    },
    removeItem: (key: string) => void items.delete(key),
  };
}

it("keeps messages in order, even after a reload, until the session has them", () => {
  const kept = storage();
  const messages = ["one", "two", "three"].map((text) => textMessage(text));
  messages.forEach((message) => new Handoff(kept, "key").begin({ id: "1", message }));
  const after = new Handoff(kept, "key");
  expect(after.left()).toEqual(messages.map((message) => ({ id: "1", message })));
  after.end(messages[1]?.client_id ?? "");
  expect(after.left().map(({ message }) => message.text)).toEqual(["one", "three"]);
  messages.forEach(({ client_id }) => after.end(client_id));
  expect(kept.items.size).toBe(0);
});

it("tolerates a full storage, and ignores invalid content", () => {
  const full = new Handoff(storage(1), "key");
  full.begin({ id: "1", message: textMessage("one") });
  expect(full.left()).toEqual([]);
  for (const broken of ["{", "{}", "null"]) {
    const kept = storage();
    kept.items.set("key", broken);
    expect(new Handoff(kept, "key").left()).toEqual([]);
  }
});
