/** Exponential backoff between attempts to connect. */

/** The wait after the first failure. */
const FIRST_MS = 500;
/** The wait doubles up to this value. */
const MAX_MS = 30_000;
/** A connection that lasted this long resets the wait. */
export const STABLE_AFTER_MS = 10_000;

const DOUBLINGS_MAX = 31;

/** A random number from 0 to 1. Passed in, so that tests can choose it. */
export type Random = () => number;

/**
 * The wait after `failures` consecutive failures. Jitter randomizes its upper half, so that clients that lost the same
 * server do not all reconnect at once.
 */
export function backoffMs(failures: number, random: Random): number {
  const doublings = Math.min(Math.max(failures - 1, 0), DOUBLINGS_MAX);
  const full = Math.min(FIRST_MS * 2 ** doublings, MAX_MS);
  return full * (0.5 + random() / 2);
}
