import type * as viz from "headwise/viz";
import { type AttentionHeads, type AttentionMap, type AttentionSource } from "headwise/viz";
import { type Browser, type BrowserContextOptions, type Page } from "playwright-core";

import { WAIT_MILLISECONDS } from "../hangLimits.mjs";
import { serveDist } from "./staticServer.js";

/** The strictest policy: no inline styles or scripts, no markup from strings. */
const POLICY = "default-src 'none'; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

export const WORDS = ["The", "cat", "sat", "on", "the", "mat"];

export interface Probs {
  readonly data: number[];
  readonly shape: number[];
}

/** Causal rows whose sum is one. They are reproducible and exact in float32. */
export function causalProbs(heads: number, size: number): Probs {
  const data = Array.from({ length: heads * size * size }, (_, i) => {
    const [query, key] = [Math.floor(i / size) % size, i % size];
    const weight = (at: number) => 1 + ((at * 7919) % 97);
    const row = i - key;
    let sum = 0;
    for (let j = 0; j <= query; ++j) sum += weight(row + j);
    return key > query ? 0 : Math.fround(weight(i) / sum);
  });
  return { data, shape: [heads, size, size] };
}

/** What the page holds in addition to the elements. */
export interface VizWindow {
  readonly map: AttentionMap;
  readonly heads: AttentionHeads;
  /** The events of the elements, in order. */
  readonly told: { type: string; detail: unknown }[];
  readonly calls: number[][];
  readonly source: AttentionSource;
}

const servers = new Set<Awaited<ReturnType<typeof serveDist>>>();

/** Ends everything, also what a failed test has left open. */
export async function end(browser: Browser): Promise<void> {
  await browser.close();
  for (const server of servers) server.stop();
}

/** Opens a page with one element that shows these numbers. `troubles` collects the page's errors and warnings. */
export async function openElement(
  browser: Browser,
  tag: "attention-map" | "attention-heads",
  probs: Probs | undefined,
  options: BrowserContextOptions = {},
) {
  const server = await serveDist({ "Content-Security-Policy": POLICY });
  servers.add(server);
  const page = await browser.newPage({ viewport: { width: 1000, height: 900 }, ...options });
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  await page.goto(server.url);
  await page.evaluate(placeElement, { tag, probs, tokens: WORDS, causal: true });
  return { page, troubles, close: () => page.close() };
}

/** Runs in the page. */
async function placeElement(given: { tag: string; probs: Probs | undefined; tokens: string[]; causal: boolean }) {
  const address = "/viz.js";
  const { defineElements } = (await import(address)) as typeof viz;
  defineElements();
  const element = document.createElement(given.tag) as AttentionMap | AttentionHeads;
  const told: VizWindow["told"] = [];
  const types = ["cellchange", "celllock", "headchange", "viewchange", "slices", "sourceerror"];
  for (const type of [...types, "headschange", "tokenselect", "thresholdchange"]) {
    document.addEventListener(type, (event) => told.push({ type, detail: (event as CustomEvent<unknown>).detail }));
  }
  element.label = "Layer 1";
  element.controls = true;
  if (given.probs) {
    element.causal = given.causal;
    element.probs = { data: Float32Array.from(given.probs.data), shape: given.probs.shape };
    if (given.probs.shape.at(-1) === given.tokens.length) element.tokens = given.tokens;
  }
  const viewport = document.createElement("meta");
  Object.assign(viewport, { name: "viewport", content: "width=device-width" });
  document.head.append(viewport);
  document.documentElement.style.colorScheme = "light dark";
  document.body.append(element);
  Object.assign(window, { map: element, heads: element, told });
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

/** Waits until all pending drawing is done. */
export function drawn(page: Page): Promise<unknown> {
  return page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Looks again in every frame until the wanted state is seen, or until the time limit for slow machines. */
export async function seenAt<T>(page: Page, look: () => Promise<T>, isWanted: (seen: T) => boolean): Promise<T> {
  const end = Date.now() + WAIT_MILLISECONDS;
  let seen = await look();
  while (!isWanted(seen) && Date.now() < end) {
    await drawn(page);
    seen = await look();
  }
  return seen;
}

/** The events of the elements since the last time. */
export function told(page: Page, type: string): Promise<unknown[]> {
  return page.evaluate((wanted) => {
    const { told } = window as unknown as VizWindow;
    return told.splice(0).flatMap((event) => (event.type === wanted ? [event.detail] : []));
  }, type);
}

/** The middle of a cell on the screen, if the whole map is visible. */
export async function cellAt(page: Page, query: number, key: number, size: number) {
  const box = (await page.locator("[role=grid]").boundingBox())!;
  return { x: box.x + ((key + 0.5) * box.width) / size, y: box.y + ((query + 0.5) * box.height) / size };
}
