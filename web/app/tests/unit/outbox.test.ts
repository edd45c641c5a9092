import { textMessage, type UnsentMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import { OutboxView } from "../../src/model/outbox.js";
import { message, messageEntry } from "./samples.js";

function unsent(clientId: string): UnsentMessage {
  return { conversationId: "c", clientId, message: { ...textMessage(clientId), client_id: clientId } };
}

it("shows unsent messages in order until their entries arrive", () => {
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

it("does not confuse messages of others with own ones", () => {
  const outbox = new OutboxView("ada");
  outbox.put(unsent("client-1"));
  outbox.apply(messageEntry(message(1, "bob", "one")));
  expect(outbox.of("c")).toHaveLength(1);
});
