import { vi } from "vitest";

/** Fakes timers. Leaves the functions with which databases schedule their work. */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
}
