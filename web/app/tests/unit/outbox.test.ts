import { textMessage, type UnsentMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { OutboxView } from "../../src/model/outbox.js";
import { message, messageEntry } from "./samples.js";

function unsent(clientId: string): UnsentMessage {
  return { conversationId: "c", clientId, message: { ...textMessage(clientId), client_id: clientId } };
}

it("shows what is on its way until it has arrived as an entry, in the order in which it was given", () => {
  const outbox = new OutboxView("ada");
  outbox.put(unsent("client-1"));
  outbox.put(unsent("client-2"));
  outbox.put(unsent("client-1"));
  expect(outbox.of("c").map((one) => one.unsent.clientId)).toEqual(["client-1", "client-2"]);
  outbox.sent("client-1", message(1, "ada", "one"));
  expect(outbox.of("c")).toHaveLength(2);
  outbox.apply(messageEntry(message(1, "ada", "one")));
  expect(outbox.of("c").map((one) => one.unsent.clientId)).toEqual(["client-2"]);
  expect(outbox.of("another")).toEqual([]);
});

it("does not take a message of somebody else for one's own", () => {
  const outbox = new OutboxView("ada");
  outbox.put(unsent("client-1"));
  outbox.apply(messageEntry(message(1, "bob", "one")));
  expect(outbox.of("c")).toHaveLength(1);
});
