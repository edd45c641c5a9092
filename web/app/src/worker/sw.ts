/**
 * The service worker. It caches the files of the page, so that the page opens without a network. It answers only requests
 * for these files and never requests to `/v1/`. Pages show notifications through it, and it handles clicks on them.
 *
 * A version is cached as a whole, and served as soon as it is complete. Open pages keep their version and tell the user
 * that a new one is available.
 */

export {};

declare const self: ServiceWorkerGlobalScope;

interface Shell {
  /** Changes whenever one of the files changes. */
  version: string;
  paths: string[];
}

/** The build replaces this with the list of files. */
const SHELL = "__SHELL__" as unknown as Shell;
const PREFIX = "godwit-shell-";
const CACHE = PREFIX + SHELL.version;
/** Includes the previous version, because an open page may still load its scripts. */
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
  // Bypasses the HTTP cache, which may have files of another version under the same names.
  await cache.addAll(SHELL.paths.map((path) => new Request(path, { cache: "no-cache" })));
  await self.skipWaiting();
}

async function forgetOld(): Promise<void> {
  // `keys` returns the caches in the order of their creation.
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(names.slice(0, 1 - VERSIONS_KEPT).map((name) => caches.delete(name)));
}

async function kept(path: string): Promise<Response> {
  const own = await caches.open(CACHE);
  const found =
    (await own.match(path, { ignoreVary: true })) ?? (await caches.match(path, { ignoreVary: true }));
  // The browser may have evicted the file.
  return found ?? fetch(path);
}

/** Opens the conversation in an open page, or in a new one. */
async function openConversation(id: string): Promise<void> {
  const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (page) {
    page.postMessage({ open: id });
    await page.focus();
  } else {
    await self.clients.openWindow(`/#/c/${id}`);
  }
}
