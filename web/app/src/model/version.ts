/** The service worker that caches the page, and whether a new version is available. */

import { signal } from "@preact/signals";

const WORKER = "/sw.js";
/** A tab checks for a new version when it becomes visible, but not more often than this. */
const LOOK_AFTER_MS = 60_000;

/** The Trusted Types API, which `require-trusted-types-for` needs and TypeScript does not declare. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string };
}

/** Whether a new version of the page is available after a reload. */
export const isOutdated = signal(false);

let registration: ServiceWorkerRegistration | undefined;
let lookedAtMs = 0;

/** Registers the service worker. Without one, for example without HTTPS, the page does not work offline. */
export async function keepPage(): Promise<void> {
  if (!("serviceWorker" in navigator)) {
    return;
  }
  lookedAtMs = Date.now();
  registration = await navigator.serviceWorker.register(trusted(WORKER)).catch(() => undefined);
  registration?.addEventListener("updatefound", watchInstalling);
  watchInstalling();
}

/** A worker that installs beside another one has a new version. The very first worker has the current version. */
function watchInstalling(): void {
  const worker = registration?.installing;
  if (worker && registration?.active) {
    worker.addEventListener("statechange", () => {
      isOutdated.value ||= worker.state === "activated";
    });
  }
}

/** Checks for a new version. */
export function lookForNewVersion(): void {
  if (registration && Date.now() - lookedAtMs > LOOK_AFTER_MS) {
    lookedAtMs = Date.now();
    // Fails without a network.
    registration.update().catch(() => undefined);
  }
}

function trusted(url: string): string {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy("godwit-worker", { createScriptURL: () => WORKER });
  return policy?.createScriptURL(url) ?? url;
}
