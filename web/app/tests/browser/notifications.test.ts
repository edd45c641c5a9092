import { textMessage } from "@godwit/sdk";
import { expect, it } from "vitest";

import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

/** The part of the service worker scope that the tests use. */
interface WorkerScope {
  registration: ServiceWorkerRegistration;
  NotificationEvent: new (type: string, fields: { notification: Notification }) => Event;
  dispatchEvent(event: Event): void;
}

/** Titles and texts of the notifications that the browser shows. */
function shown(person: Person): Promise<string[]> {
  return person.page.evaluate(async () => {
    const notifications = await (await navigator.serviceWorker.ready).getNotifications();
    return notifications.map(({ title, body }) => `${title}: ${body}`);
  });
}

it("shows one notification per conversation for unseen messages, and closes it when they are read", async () => {
  const ada = await world.arrive("ada", "Ada");
  await ada.context.grantPermissions(["notifications"]);
  await ada.page.reload();
  await ada.page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const bob = await world.arrive("bob", "Bob");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await his.conversations.direct((await own.accounts.me()).id);

  await his.messages.send(direct.id, textMessage("first"));
  await expect.poll(() => shown(ada)).toEqual(["Bob: first"]);
  await his.messages.send(direct.id, textMessage("second"));
  await expect.poll(() => shown(ada)).toEqual(["Bob: second"]);
  await ada.page.bringToFront();
  await ada.open("Bob");
  await ada.message("second").waitFor();
  await expect.poll(() => shown(ada)).toEqual([]);

  // No notification for a conversation that is open and visible.
  await his.messages.send(direct.id, textMessage("third"));
  await ada.message("third").waitFor();
  expect(await shown(ada)).toEqual([]);

  await ada.chooseForRow("Bob", "Mute for 8 hours");
  await ada.row("Bob").getByText("Muted until").waitFor({ state: "attached" });
  await ada.page.goto(`${ada.url}/#/`);
  await his.messages.send(direct.id, textMessage("fourth"));
  await ada.row("Bob").getByText("fourth").waitFor();
  expect(await shown(ada)).toEqual([]);
  await his.messages.send(direct.id, textMessage("@ada, fifth"));
  await expect.poll(() => shown(ada)).toEqual(["Bob: @ada, fifth"]);

  // Read on another device.
  const last = (await own.conversations.get(direct.id)).last_message;
  await own.conversations.moveCursor(direct.id, { read: last?.seq ?? 0 });
  await expect.poll(() => shown(ada)).toEqual([]);
});

it("opens the conversation of a clicked notification", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  await ada.context.grantPermissions(["notifications"]);
  await ada.page.reload();
  const bob = await world.arrive("bob2", "Bob Two");
  const [own, his] = [await ada.api(), await bob.api()];
  const direct = await his.conversations.direct((await own.accounts.me()).id);
  await his.messages.send(direct.id, textMessage("look here"));
  await expect.poll(() => shown(ada)).toEqual(["Bob Two: look here"]);

  // A test cannot click outside of the page. For the worker, this event is the same.
  const [worker] = ada.context.serviceWorkers();
  await worker?.evaluate(async () => {
    const scope = globalThis as unknown as WorkerScope;
    const [notification] = await scope.registration.getNotifications();
    if (notification) {
      scope.dispatchEvent(new scope.NotificationEvent("notificationclick", { notification }));
    }
  });
  await ada.message("look here").waitFor();
  await expect.poll(() => shown(ada)).toEqual([]);
});
