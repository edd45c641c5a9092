import { expect, it } from "vitest";

import type { Person } from "./person.js";
import { together } from "./together.js";

const world = together();

it("opens without a network, shows cached messages, and sends new ones later", async () => {
  const { person: ada, wire } = await world.arriveByWire("ada", "Ada");
  const bob = await world.arrive("bob", "Bob");
  await ada.startDirect("bob");
  await ada.say("before the cut");
  await bob.open("Ada");
  await bob.say("and an answer");
  await ada.message("and an answer").waitFor();
  await ada.progress("before the cut", "read");
  await kept(ada);
  await ada.cached("and an answer");

  wire.cut();
  await ada.page.reload();
  await ada.message("and an answer").waitFor();
  await ada.page.getByText("No connection").waitFor();
  await ada.say("from the dark");
  await ada.progress("from the dark", "sending");
  await ada.page.goto(`${wire.url}/#/`);
  await ada.page.locator(".row", { hasText: "Bob" }).waitFor();

  wire.mend();
  await bob.message("from the dark").waitFor();
  expect(await bob.messages.allTextContents()).toEqual(["before the cut", "and an answer", "from the dark"]);
});

it("caches the files of the page and nothing else", async () => {
  const ada = await world.arrive("ada2", "Ada Two");
  await kept(ada);
  await ada.page.reload();
  await ada.page.getByRole("navigation", { name: "Conversations" }).waitFor();
  const paths = await ada.page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return requests.flat().map((request) => new URL(request.url).pathname);
  });
  expect(paths).toContain("/");
  expect(paths).toContain("/manifest.webmanifest");
  expect(
    paths.filter((path) => !/^\/(?:assets\/[\w.-]+|[\w-]+\.(?:png|svg|webmanifest))?$/.test(path)),
  ).toEqual([]);
});

it("announces a new version, and loads it after a reload", async () => {
  const ada = await world.arrive("ada3", "Ada Three");
  await kept(ada);
  // For the browser, another worker with the same scope is a new version.
  await ada.page.evaluate(async () => {
    const trusted = (
      window as unknown as {
        trustedTypes: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } };
      }
    ).trustedTypes.createPolicy("test", { createScriptURL: (url: string) => url });
    await navigator.serviceWorker.register(trusted.createScriptURL("/sw.js?next"));
  });
  await ada.page.getByText("A new version is available").waitFor();
  await ada.page.getByRole("button", { name: "Reload" }).click();
  await ada.page.getByText("A new version is available").waitFor({ state: "detached" });
  await ada.page.getByRole("navigation", { name: "Conversations" }).waitFor();
});

it("can be installed", async () => {
  const ada = await world.arrive("ada4", "Ada Four");
  const cdp = await ada.context.newCDPSession(ada.page);
  const { errors } = await cdp.send("Page.getAppManifest");
  expect(errors).toEqual([]);
  const { installabilityErrors } = await cdp.send("Page.getInstallabilityErrors");
  // Tests run in a private window, which cannot install apps.
  expect(installabilityErrors.map((error) => error.errorId).filter((id) => id !== "in-incognito")).toEqual(
    [],
  );
});

/** Waits until the service worker has cached the page. */
async function kept(person: Person): Promise<void> {
  await person.page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
}
