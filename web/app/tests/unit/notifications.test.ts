import { beforeAll, expect, it, vi } from "vitest";

import { conversation, message } from "./samples.js";

beforeAll(() => {
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("localStorage", { getItem: () => null, setItem: () => undefined });
  vi.stubGlobal("window", { addEventListener: () => undefined });
});

it("waits for a worker that is still being installed", async () => {
  const shown: string[] = [];
  let activate: (worker: object) => void = () => undefined;
  const ready = new Promise<object>((resolve) => (activate = resolve));
  const installing = { showNotification: () => Promise.reject(new TypeError("no active registration")) };
  const active = { showNotification: (title: string) => Promise.resolve(void shown.push(title)) };
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

it("shows what messages without a text are", async () => {
  vi.stubGlobal("navigator", { languages: ["en"] });
  const { notificationBody } = await import("../../src/model/notifications.js");
  const media = { url: "https://example.org/1", content_type: "audio/ogg", size_bytes: 1 };
  const direct = { ...conversation(9), kind: "direct" as const };
  const group = { ...direct, kind: "group" as const };
  const file = {
    ...message(9, "bob", ""),
    kind: "file" as const,
    text: null,
    media: { ...media, name: "a.txt" },
  };
  const voice = { ...message(9, "bob", ""), kind: "voice" as const, text: null, media };
  expect(notificationBody(direct, file, "Bob")).toBe("a.txt");
  expect(notificationBody(direct, voice, "Bob")).toBe("Voice message");
  expect(notificationBody(group, message(9, "bob", "a \u202eb"), "B\u202eob")).toBe("\u2068Bob\u2069: a b");
});
