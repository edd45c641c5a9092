/**
 * Durations. The clock of the machine may be wrong and may be set while the program runs, so nothing here says what
 * time it is, and nothing in this package asks.
 */

/** Milliseconds since some moment in the past. They never go back. */
export function monotonicMs(): number {
  return performance.now();
}

/** Waits, but no longer than until `signal` says so. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms <= 0 || signal.aborted) {
      resolve();
      return;
    }
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
