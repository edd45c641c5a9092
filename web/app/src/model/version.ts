/** The service worker that keeps the page, and whether it has a newer one than this. */

import { signal } from "@preact/signals";

const WORKER = "/sw.js";
/** A tab that stays open for days looks for a new version when somebody comes back to it, but not more often than this. */
const LOOK_AFTER_MS = 60_000;

/** The part of the browser that `require-trusted-types-for` needs, of which TypeScript does not know. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

/** A newer version of the page is there, and comes with the next reload. */
export const isOutdated = signal(false);

let registration: ServiceWorkerRegistration | undefined;
let lookedAtMs = 0;

/** Where there are no service workers, as without HTTPS, the page works with a network only. */
export async function keepPage(): Promise<void> {
  if (!("serviceWorker" in navigator)) {
    return;
  }
  lookedAtMs = Date.now();
  registration = await navigator.serviceWorker.register(trusted(WORKER)).catch(() => undefined);
  registration?.addEventListener("updatefound", watchInstalling);
  watchInstalling();
}

/** One that comes while there is another has a newer page; the very first one has the page that is shown. */
function watchInstalling(): void {
  const worker = registration?.installing;
  if (worker && registration?.active) {
    worker.addEventListener("statechange", () => {
      isOutdated.value ||= worker.state === "activated";
    });
  }
}

/** Asks the server whether there is a new version. */
export function lookForNewVersion(): void {
  if (registration && Date.now() - lookedAtMs > LOOK_AFTER_MS) {
    lookedAtMs = Date.now();
    // Without a network nothing is new.
    registration.update().catch(() => undefined);
  }
}

function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy("godwit-worker", { createScriptURL: () => WORKER });
  return policy?.createScriptURL(url) ?? url;
}
