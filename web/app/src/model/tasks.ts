/** Asking the server for something, with a word to the user when it does not work. */

import { ApiError, GodwitError } from "@godwit/sdk";
import { signal } from "@preact/signals";

import { fieldRule, knownError, t } from "../i18n/index.js";

const TOAST_MS = 6_000;

export interface Toast {
  id: number;
  text: string;
}

export const toasts = signal<readonly Toast[]>([]);
let nextToast = 1;

export function toast(text: string): void {
  const id = nextToast++;
  toasts.value = [...toasts.value, { id, text }];
  setTimeout(() => dismiss(id), TOAST_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** The answer, or `undefined` after the user was told that there is none. */
export async function attempt<T>(task: Promise<T>): Promise<{ value: T } | undefined> {
  try {
    return { value: await task };
  } catch (error) {
    toast(explained(error));
    return undefined;
  }
}

/** Why something failed, in the words of the user where there are some. */
export function explained(error: unknown): string {
  // Where the code is unknown something between here and the server spoke, which has no words for people.
  if (error instanceof ApiError && error.code !== "unknown") {
    return (
      knownError(error.code) ?? fieldRule(error.code, error.field) ?? error.detail ?? error.problem.title
    );
  }
  return error instanceof GodwitError && error.temporary ? t("error.unreachable") : t("error.unknown");
}
