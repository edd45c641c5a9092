/** Settings of this browser. */

import { effect, type Signal, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export type LanguageChoice = "system" | "en" | "es";

export const theme = stored<Theme>("godwit.theme", "system", ["system", "light", "dark"]);
export const languageChoice = stored<LanguageChoice>("godwit.language", "system", ["system", "en", "es"]);
/** Whether to show notifications, if the browser allows them. */
export const notificationsOn = stored<"on" | "off">("godwit.notifications", "on", ["on", "off"]);

function stored<T extends string>(key: string, initial: T, allowed: readonly T[]): Signal<T> {
  const found = allowed.find((value) => value === localStorage.getItem(key));
  const setting = signal<T>(found ?? initial);
  effect(() => localStorage.setItem(key, setting.value));
  return setting;
}
