import { describe, expect, test } from "@jest/globals";
import { type Page } from "playwright-core";

import { LabPage } from "./labPage.js";

const SENTENCE = "The bank lends money by the bank of the river.";
/** Each width in one colour scheme; lesson.test.ts takes each in the other one. */
const SCREENS = [
  { width: 1366, height: 768, colorScheme: "light" },
  { width: 820, height: 1180, colorScheme: "dark" },
  { width: 390, height: 844, colorScheme: "light" },
] as const;

const lab = new LabPage();

/** Holds one request back until `release` is called. */
async function hold(page: Page, address: string): Promise<() => void> {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(address, async (route) => {
    await held;
    await route.continue();
  });
  return release;
}

const question = (page: Page) => page.locator("h1").textContent();
const finding = (page: Page) => page.locator(".main-finding").textContent();
const hash = (page: Page) => page.evaluate(() => location.hash);

/** What is wrong with the page as it is now: axe's findings, and a width beyond the window's. */
async function faults(page: Page): Promise<string[]> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  // a phone has the colours of the widest screen
  const rules = page.viewportSize()!.width === 390 ? "all but colours" : undefined;
  return [...(await lab.axe(page, rules)), ...(wide > 0 ? [`${wide} pixels too wide`] : [])];
}

describe("a fresh visitor", () => {
  test.each(SCREENS)(
    "opens, sees, edits, ablates, goes on, shares and comes back, at $width pixels, in $colorScheme",
    async ({ colorScheme, ...viewport }) => {
      const context = await lab.browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
      const page = await context.newPage();
      const errors: string[] = [];
      page.on("pageerror", ({ message }) => errors.push(message));

      // opens, and sees the picture before any script has come
      const start = await hold(page, "**/assets/*.js");
      await page.goto(lab.url, { waitUntil: "commit" });
      const map = page.locator(".scene-diagram .flow");
      await map.waitFor();
      expect(await question(page)).toBe("What does attention do to a word?");
      const box = (await map.boundingBox())!;
      expect(box.y + box.height).toBeLessThanOrEqual(viewport.height);
      expect(await faults(page)).toEqual([]);
      start();
      await lab.ready("lesson", page);
      expect(await map.boundingBox()).toEqual(box);

      // goes from the lesson to the room that says more about the sentence
      await page.getByRole("link", { name: "Open this sentence in the room Sentence" }).click();
      await lab.ready("sentence", page);
      expect(await question(page)).toBe("Which “park” is which?");
      expect(await finding(page)).toMatch(
        /^Besides itself, “park₄” looks most at “decided” \(\d+ %\) and “park₉” at “the₈” \(\d+ %\)\./,
      );
      const whole = (await page.locator(".picture .whole table").boundingBox())!;
      expect(whole.y + whole.height).toBeLessThanOrEqual(viewport.height);
      expect(await faults(page)).toEqual([]);

      // edits: the model comes, with its progress
      const model = await hold(page, "**/model/weights-3*");
      await page.getByLabel("Sentences, one per line").fill(SENTENCE);
      await page.locator("#busy-amount", { hasText: /of \d+ MB$/ }).waitFor();
      expect(await faults(page)).toEqual([]);
      model();
      await page.locator("h1", { hasText: "Which “bank” is which?" }).waitFor();
      await lab.ready("sentence", page);
      expect(await faults(page)).toEqual([]);

      // ablates: a head is switched off, and maps before and after appear
      expect(await page.getByText("Nothing is changed.").count()).toBe(1);
      await page.getByLabel("layer 1 head 3 is on").uncheck();
      await page.getByText("Nothing is changed.").waitFor({ state: "detached" });
      await lab.ready("sentence", page);
      expect(await page.textContent(".effect")).toMatch(/cosine with the original is 0\.\d{4}/);
      expect(await faults(page)).toEqual([]);

      // goes on to the next room
      await page.waitForFunction(() => location.hash.includes("gains="));
      const [there, effect] = [await hash(page), await page.textContent(".effect")];
      await page.locator("a.next, .next a").click();
      await lab.ready("matrix", page);
      expect(await page.evaluate(() => scrollY)).toBe(0);
      expect(await faults(page)).toEqual([]);

      // shares: the address shows another visitor the same
      const other = await context.newPage();
      await other.goto(lab.url + there);
      await lab.ready("sentence", other);
      expect([await question(other), await other.textContent(".effect")]).toEqual(["Which “bank” is which?", effect]);
      await other.close();

      // comes back: the sentence and the change are still there
      await page.goBack();
      await lab.ready("sentence", page);
      expect(await page.getByLabel("Sentences, one per line").inputValue()).toBe(SENTENCE);
      expect(await page.getByLabel("layer 1 head 3 is on").isChecked()).toBe(false);
      expect([await hash(page), await page.textContent(".effect")]).toEqual([there, effect]);
      expect(errors).toEqual([]);
      await context.close();
    },
  );
});
