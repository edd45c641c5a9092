/** Requests to the server that report errors to the user. */

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

/** The result, or `undefined` after an error was reported to the user. */
export async function attempt<T>(task: Promise<T>): Promise<{ value: T } | undefined> {
  try {
    return { value: await task };
  } catch (error) {
    toast(explained(error));
    return undefined;
  }
}

/** The translated explanation of an error. */
export function explained(error: unknown): string {
  // An unknown code comes from something between the client and the server, such as a proxy.
  if (error instanceof ApiError && error.code !== "unknown") {
    return (
      knownError(error.code) ?? fieldRule(error.code, error.field) ?? error.detail ?? error.problem.title
    );
  }
  return error instanceof GodwitError && error.temporary ? t("error.unreachable") : t("error.unknown");
}
