/** Times and days as people write them. */

import { language, t } from "./index.js";

const DAY_MS = 24 * 60 * 60 * 1_000;
const WEEK_DAYS = 7;

export function clock(at: string): string {
  return format(at, { hour: "numeric", minute: "2-digit" });
}

/** For a row of the list: the time today, the day this week, else the date. */
export function brief(at: string, nowMs: number): string {
  const days = daysAgo(at, nowMs);
  if (days === 0) {
    return clock(at);
  }
  if (days === 1) {
    return t("day.yesterday");
  }
  return days > 0 && days < WEEK_DAYS ? format(at, { weekday: "short" }) : format(at, { dateStyle: "short" });
}

/** For the line between two days. */
export function day(at: string, nowMs: number): string {
  const days = daysAgo(at, nowMs);
  if (days === 0 || days === 1) {
    return days === 0 ? t("day.today") : t("day.yesterday");
  }
  const sameYear = new Date(at).getFullYear() === new Date(nowMs).getFullYear();
  return format(at, {
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(sameYear ? {} : { year: "numeric" }),
  });
}

export function full(at: string): string {
  return format(at, { dateStyle: "medium", timeStyle: "short" });
}

/** Making one takes longer than a hundred uses of it. There are as many as kinds of dates times languages. */
const formats = new Map<string, Intl.DateTimeFormat>();

function format(at: string, options: Intl.DateTimeFormatOptions): string {
  const key = `${locale()} ${JSON.stringify(options)}`;
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale(), options);
  formats.set(key, known);
  return known.format(new Date(at));
}

/** The language of the page as it is written where the reader is. */
function locale(): string {
  return navigator.languages.find((name) => name.startsWith(language.value)) ?? language.value;
}

function daysAgo(at: string, nowMs: number): number {
  const midnight = (ms: number) => new Date(ms).setHours(0, 0, 0, 0);
  return Math.round((midnight(nowMs) - midnight(Date.parse(at))) / DAY_MS);
}
