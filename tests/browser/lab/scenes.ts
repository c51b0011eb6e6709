// The lesson in a page: its scenes, and the numbers of its diagram.

import path from "node:path";
import { fileURLToPath } from "node:url";

import { type Attention } from "headwise";
import { type Page } from "playwright-core";

import { storedFiles } from "../../../web/demo/ahead/storedModel.js";
import { Encoder } from "../../../web/demo/model/encoder.js";
import { headsOf, rowOf } from "../../../web/demo/model/heads.js";
import { percent } from "../../../web/demo/model/links.js";
import { type LabPage } from "./labPage.js";

const MODEL = path.join(fileURLToPath(new URL("../../../", import.meta.url)), "dist-demo/model");
export const SCENES = 7;

/** The encoder of the page, in Node. */
export const loadEncoder = (hw: Attention) => Encoder.load(hw, storedFiles(MODEL));

/** Waits until a scene is shown, and has come to rest. */
export async function atScene(lab: LabPage, page: Page, number: number): Promise<void> {
  await page.locator(`.scene-bar [data-scene="${number}"][aria-pressed=true]`).waitFor();
  await lab.ready("lesson", page);
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map(({ finished }) => finished)).then(() => 0));
}

/** Watches how much the page moves by itself. */
export async function watchShifts(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(() => {
    const watched = ((globalThis as unknown as { moved: { sum: number } }).moved = { sum: 0 });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as unknown as { hadRecentInput: boolean; value: number }[])
        if (!entry.hadRecentInput) watched.sum += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { moved: { sum: number } }).moved.sum);
}

export const weightsShown = (page: Page) => page.locator(".flow tbody [data-column=weight] b").allTextContents();

/** The weights that the package computes, as the diagram writes them. */
export async function weightsWanted(encoder: Encoder, text: string, head: number, word: number): Promise<string[]> {
  const { probs } = headsOf(await encoder.encode(text))[head]!;
  return Array.from(rowOf(probs, word), percent);
}
