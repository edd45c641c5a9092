/**
 * Keeps the files of the page, so that it opens without a network. What people say is not its business: of all requests
 * it answers only those for these files, and `/v1/` is none of them. Pages show notifications through it; it opens what
 * somebody clicked on.
 *
 * A version is kept as a whole. A new one is served from the moment it is complete; pages that are open go on with what
 * they have, and say that there is a new one.
 */

export {};

declare const self: ServiceWorkerGlobalScope;

interface Shell {
  /** Different whenever one of the files is. */
  version: string;
  paths: string[];
}

/** The build puts the files here. */
const SHELL = "__SHELL__" as unknown as Shell;
const PREFIX = "godwit-shell-";
const CACHE = PREFIX + SHELL.version;
/** With the one before: a page of it may just be asking for its scripts. */
const VERSIONS_KEPT = 2;
const HASHED = "/assets/";

self.addEventListener("install", (event) => event.waitUntil(keep()));
self.addEventListener("activate", (event) => event.waitUntil(forgetOld()));
self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (origin !== self.location.origin || event.request.method !== "GET") {
    return;
  }
  if (SHELL.paths.includes(pathname) || pathname.startsWith(HASHED)) {
    event.respondWith(kept(pathname));
  }
});
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openConversation(event.notification.tag));
});

async function keep(): Promise<void> {
  const cache = await caches.open(CACHE);
  // Past the cache of the browser, which may have files of another version under the same names.
  await cache.addAll(SHELL.paths.map((path) => new Request(path, { cache: "no-cache" })));
  await self.skipWaiting();
}

async function forgetOld(): Promise<void> {
  // In the order in which they were made.
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(names.slice(0, 1 - VERSIONS_KEPT).map((name) => caches.delete(name)));
}

async function kept(path: string): Promise<Response> {
  const own = await caches.open(CACHE);
  const found =
    (await own.match(path, { ignoreVary: true })) ?? (await caches.match(path, { ignoreVary: true }));
  // The browser may have thrown it away.
  return found ?? fetch(path);
}

/** In a page that is open, or else in a new one. */
async function openConversation(id: string): Promise<void> {
  const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (page) {
    page.postMessage({ open: id });
    await page.focus();
  } else {
    await self.clients.openWindow(`/#/c/${id}`);
  }
}
