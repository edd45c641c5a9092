import { expect, it, vi } from "vitest";

import { conversation } from "./samples.js";

it("waits for a worker that is still being installed", async () => {
  const shown: string[] = [];
  let activate: (worker: object) => void = () => undefined;
  const ready = new Promise<object>((resolve) => (activate = resolve));
  const installing = { showNotification: () => Promise.reject(new TypeError("no active registration")) };
  const active = { showNotification: (title: string) => Promise.resolve(void shown.push(title)) };
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
  vi.stubGlobal("window", { addEventListener: () => undefined });
  vi.stubGlobal("Notification", { permission: "granted" });
  vi.stubGlobal("navigator", {
    serviceWorker: { ready, getRegistration: () => Promise.resolve(installing) },
  });
  vi.stubGlobal("document", { visibilityState: "hidden", hasFocus: () => false });
  const { notify } = await import("../../src/model/notifications.js");

  const notified = notify(conversation(9), "Bob", "hello");
  activate(active);
  await notified;
  expect(shown).toEqual(["Bob"]);
});
