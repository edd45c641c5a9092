/** What of the page is not inside the application: its language, its colours, its title, its icon, its version. */

import { effect } from "@preact/signals";

import { language } from "../i18n/index.js";
import { accounts } from "../model/index.js";
import { theme } from "../model/settings.js";
import { lookForNewVersion } from "../model/version.js";

const NAME = "Godwit";

export function keepPageInStep(): void {
  effect(() => {
    document.documentElement.lang = language.value;
  });
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
  effect(() => {
    const unread = accounts.session.value?.inbox.unreadTotal.value ?? 0;
    document.title = unread > 0 ? `(${unread}) ${NAME}` : NAME;
    document
      .querySelector("link[rel=icon]")
      ?.setAttribute("href", unread > 0 ? "/icon-unread.svg" : "/icon.svg");
    badge(unread);
  });
  effect(() => {
    // A server that comes back may have been replaced by a newer one.
    if (accounts.session.value?.connection.value.state === "online") {
      lookForNewVersion();
    }
  });
  document.addEventListener("visibilitychange", lookForNewVersion);
}

/** On the icon of the installed application, where there is such a thing. */
function badge(unread: number): void {
  if ("setAppBadge" in navigator) {
    navigator.setAppBadge(unread).catch(() => undefined);
  }
}
