/** Measures a page during an interaction: its frames, its long tasks, and the CPU time of its work. */

import type { CDPSession, Page } from "playwright-core";

/** Milliseconds per frame at 60 frames per second. */
const FRAME_MS = 1_000 / 60;

interface Recorded {
  frames: number[];
  longTasks: number[];
}

declare global {
  interface Window {
    recorded: Recorded;
    recording: boolean;
  }
}

export interface Work {
  frames: number[];
  longTasks: number[];
  scriptMs: number;
  layoutMs: number;
  styleMs: number;
}

export async function worked(page: Page, cdp: CDPSession, what: () => Promise<void>): Promise<Work> {
  await page.evaluate(record);
  const before = await metrics(cdp);
  await what();
  const after = await metrics(cdp);
  const { frames, longTasks } = await page.evaluate(() => {
    window.recording = false;
    return window.recorded;
  });
  const ms = (name: string) => 1_000 * ((after[name] ?? 0) - (before[name] ?? 0));
  return {
    frames,
    longTasks,
    scriptMs: ms("ScriptDuration"),
    layoutMs: ms("LayoutDuration"),
    styleMs: ms("RecalcStyleDuration"),
  };
}

export function describe(work: Work): string[] {
  const { frames, longTasks } = work;
  const share = (limitMs: number) =>
    `${((100 * frames.filter((ms) => ms > limitMs).length) / frames.length).toFixed(1)} %`;
  const perFrame = (ms: number) => `${(ms / frames.length).toFixed(2)} ms`;
  return [
    `${frames.length} frames: ${spread(frames)}`,
    // The recorded time of a punctual frame varies a little.
    `one frame late ${share(1.5 * FRAME_MS)}, more than 33 ms ${share(34)}, more than 50 ms ${share(50)}`,
    `work per frame: script ${perFrame(work.scriptMs)}, layout ${perFrame(work.layoutMs)}, style ${perFrame(work.styleMs)}`,
    `${longTasks.length} long tasks, the longest ${Math.round(Math.max(0, ...longTasks))} ms`,
  ];
}

export function spread(values: readonly number[]): string {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms`;
}

/** Measures memory after a garbage collection. */
export async function memory(cdp: CDPSession): Promise<string> {
  await cdp.send("HeapProfiler.collectGarbage");
  const now = await metrics(cdp);
  const mebibytes = (now.JSHeapUsedSize ?? 0) / 1024 / 1024;
  return `${mebibytes.toFixed(1)} MiB of heap, ${now.Nodes ?? 0} nodes, ${now.JSEventListeners ?? 0} listeners`;
}

async function metrics(cdp: CDPSession): Promise<Record<string, number>> {
  const { metrics: all } = await cdp.send("Performance.getMetrics");
  return Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

/** Runs in the page. */
function record(): void {
  const recorded: Recorded = { frames: [], longTasks: [] };
  window.recorded = recorded;
  window.recording = true;
  let last = performance.now();
  const frame = (now: number) => {
    recorded.frames.push(now - last);
    last = now;
    if (window.recording) {
      requestAnimationFrame(frame);
    }
  };
  requestAnimationFrame((now) => {
    last = now;
    requestAnimationFrame(frame);
  });
  new PerformanceObserver((list) => {
    recorded.longTasks.push(...list.getEntries().map((entry) => entry.duration));
  }).observe({ type: "longtask" });
}
