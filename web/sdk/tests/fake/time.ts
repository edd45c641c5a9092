import { vi } from "vitest";

/** Time stands still unless the test lets it pass. What databases use to take turns goes on. */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
}
