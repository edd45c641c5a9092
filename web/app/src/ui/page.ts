/** Document-level properties: language, theme, title, badge and version. */

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
    // After a restart, the server may have a newer version.
    if (accounts.session.value?.connection.value.state === "online") {
      lookForNewVersion();
    }
  });
  document.addEventListener("visibilitychange", lookForNewVersion);
}

/** Sets the badge on the icon of the installed app, if supported. */
function badge(unread: number): void {
  if ("setAppBadge" in navigator) {
    navigator.setAppBadge(unread).catch(() => undefined);
  }
}
