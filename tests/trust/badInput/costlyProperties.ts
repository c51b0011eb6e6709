// Runs in a page: gives every property of an element of headwise/viz something large where it expects something small.

import { HeadwiseError } from "headwise";

import { largeArguments } from "../../web/hostileValues.js";
import { MOST_BYTES, MOST_MILLISECONDS } from "./limits.js";

/** Chromium's count of the page's memory, exact with --enable-precise-memory-info. */
const bytesInUse = () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize;

/** Two frames: then what was set has been drawn. */
const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));

/** How often a value that costs much is set again. A collection of garbage in between counts for what it meets. */
const TRIES = 3;

/**
 * The values that are refused only after that has cost much, that throw something else, or that block the page while they are
 * drawn.
 *
 * @param element - On the page.
 * @param properties - Of the element, with values that it takes.
 */
export async function costlyProperties(element: object, properties: object): Promise<string[]> {
  const costly: string[] = [];
  for (const large of largeArguments(() => [properties])) {
    const name = /^0\.(\w+)/.exec(large.where)?.[1];
    if (name === undefined) continue; // in the place of all properties
    const value = (large.args[0] as Record<string, unknown>)[name];
    let bad = await badCost(element, name, value);
    for (let n = 1; bad !== undefined && n < TRIES; ++n) bad = await badCost(element, name, value);
    if (bad !== undefined) costly.push(`${large.where}: ${bad}`);
  }
  return costly;
}

async function badCost(element: object, name: string, value: unknown): Promise<string | undefined> {
  const before = Reflect.get(element, name) as unknown;
  const bytes = bytesInUse();
  const clock = performance.now();
  let isRefused = false;
  try {
    Reflect.set(element, name, value);
  } catch (error) {
    if (!HeadwiseError.is(error)) return `it throws ${String(error)}`;
    isRefused = true;
  }
  const more = bytesInUse() - bytes;
  if (!isRefused) await drawn();
  const milliseconds = performance.now() - clock;
  if (!isRefused) Reflect.set(element, name, before);
  if (milliseconds > MOST_MILLISECONDS) return `it takes ${Math.round(milliseconds)} ms`;
  return isRefused && more > MOST_BYTES ? `it takes ${Math.round(more / 2 ** 20)} MiB` : undefined;
}
