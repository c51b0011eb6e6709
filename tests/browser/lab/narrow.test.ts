// The narrowest phones, in German, whose words are long: 320 pixels.

import { beforeAll, describe, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { LabPage, leave, ROOMS } from "./labPage.js";

const WIDTH = 320;
const lab = new LabPage();
let page: Page;

beforeAll(async () => {
  page = await lab.open();
  await page.setViewportSize({ width: WIDTH, height: 640 });
  await page.emulateMedia({ reducedMotion: "reduce" });
});

/** Enters a room in German. */
async function enter(place: string): Promise<void> {
  await leave(page, lab.url);
  await page.goto(`${lab.url}?lang=de#/${place}`);
  await lab.ready(place.split("?")[0]!, page);
  await lab.unfold(page);
}

describe.each(ROOMS)("in the room %s", (room) => {
  beforeAll(() => enter(room));

  test("no word stands out of its card or of the page, and no word is broken without a hyphen", async () => {
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(WIDTH);
    expect(await page.evaluate(badlyPlaced)).toEqual([]);
  });
});

test.each(["positions?words=", "generate?begin=", "tensors?input=numbers&numbers=", "bench?file=", "nosuch"])(
  "a word of any length makes no page wider: %s",
  async (place) => {
    const isUnknown = place === "nosuch";
    await leave(page, lab.url);
    await page.goto(`${lab.url}#/${place}${"z".repeat(600)}`);
    await lab.ready(isUnknown ? "lesson" : place.split("?")[0]!, page);
    await lab.unfold(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(WIDTH);
  },
);

test("the pill names the engine", async () => {
  await enter("masks");
  const pill = page.locator("#engine summary > span");
  expect(await pill.evaluate((node) => node.getBoundingClientRect().right <= node.parentElement!.getBoundingClientRect().right)).toBe(true); // oxfmt-ignore
});

/** Words beyond their card, their button or the window, and words on two lines. Runs in the page. */
function badlyPlaced(): string[] {
  const HOLDERS = ".drop, .card, .panel, button, .choices > div";
  // What scrolls by itself, what is a formula, what is cut with dots in one line, and what people do not see.
  const OTHERS = ".scroll, .formula, .matrix, pre, svg, textarea, select, #rooms, #engine .more, .cut, code, .bench-files, [translate=no]"; // oxfmt-ignore
  const found: string[] = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement!;
    const words = node.nodeValue!;
    if (words.trim() === "" || parent.closest(OTHERS) || !parent.checkVisibility({ visibilityProperty: true }))
      continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const edge = Math.min(innerWidth, parent.closest(HOLDERS)?.getBoundingClientRect().right ?? Infinity);
    if ([...range.getClientRects()].some(({ width, right }) => width > 1 && right > edge + 1))
      found.push(`too wide: ${words}`);
    for (const word of words.matchAll(/[\p{L}\d.,\u00ad]{2,}/gu)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set(
        [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)),
      );
      if (lines.size > 1 && !word[0].includes("\u00ad")) found.push(`broken: ${word[0]}`);
    }
  }
  return found;
}
