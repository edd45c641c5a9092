/**
 * Durations. The clock of the machine may be wrong and may change while the program runs, so this package never reads the
 * time of day.
 */

/** Milliseconds since an arbitrary moment. They never go back. */
export function monotonicMs(): number {
  return performance.now();
}

/** Waits until the time has passed or `signal` is aborted. */
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
