/** How long to wait before another attempt. */

/** Before the first attempt that follows a failure. */
const FIRST_MS = 500;
/** It doubles up to this. */
const MAX_MS = 30_000;
/** A connection that lasted this long makes the waits begin anew. */
export const STABLE_AFTER_MS = 10_000;

const DOUBLINGS_MAX = 31;

/** From 0 to 1. Passed in, so that tests can choose. */
export type Random = () => number;

/**
 * The wait after `failures` failures in a row. Chance spreads the upper half of it, so that clients that lost the same
 * server do not come back as one.
 */
export function backoffMs(failures: number, random: Random): number {
  const doublings = Math.min(Math.max(failures - 1, 0), DOUBLINGS_MAX);
  const full = Math.min(FIRST_MS * 2 ** doublings, MAX_MS);
  return full * (0.5 + random() / 2);
}
