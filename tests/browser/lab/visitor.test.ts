// A fresh visitor, by the keyboard alone: the lesson with a sentence of their own, a room, and what another visitor gets of it.

import { beforeAll, describe, expect, test } from "@jest/globals";
import { type Page } from "playwright-core";

import { type Encoder } from "../../../web/demo/model/encoder.js";
import { expectSeenFocus, tabTo } from "./keyboard.js";
import { COLOURS, LabPage } from "./labPage.js";
import { atScene, loadEncoder, SCENES, watchShifts, weightsShown, weightsWanted } from "./scenes.js";

const SENTENCE = "The bank lends money by the bank of the river.";
const EDITED = "The bat hit the ball before the bat flew away.";
/** Each width, and the schemes in which its colours are looked at. A phone has the colours of the widest screen. */
const SCREENS = [
  { width: 1366, height: 768, schemes: ["light", "dark"] },
  { width: 820, height: 1180, schemes: ["dark"] },
  { width: 390, height: 844, schemes: [] },
] as const;
type Scheme = "light" | "dark";

const lab = new LabPage();
let encoder: Encoder;
beforeAll(async () => {
  encoder = await loadEncoder(lab.hw);
});

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
const sentences = (page: Page) => page.getByLabel("Sentences, one per line");
const head = (page: Page) => page.getByLabel("layer 1 head 3 is on");

/** What is wrong with the page as it is now: axe's findings, of colours in these schemes, and a width beyond the window's. */
async function faultsOf(page: Page, schemes: readonly Scheme[]): Promise<string[]> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const found = wide > 0 ? [`${wide} pixels too wide`] : [];
  found.push(...(await lab.axe(page, "all but colours")));
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await lab.axe(page, COLOURS)).map((each) => `${colorScheme}: ${each}`));
  }
  return found;
}

describe("a fresh visitor with a keyboard", () => {
  test.each(SCREENS)(
    "types, walks the scenes, opens a room, edits, ablates, shares, goes on and comes back, at $width pixels",
    async ({ schemes, ...viewport }) => {
      const faults = (shown: Page) => faultsOf(shown, schemes);
      const errors: string[] = [];
      const visit = async () => {
        const context = await lab.browser.newContext({
          viewport,
          colorScheme: schemes[0] ?? "light",
          reducedMotion: "reduce",
        });
        const opened = await context.newPage();
        opened.on("pageerror", ({ message }) => errors.push(message));
        return opened;
      };
      const page = await visit();
      const shifts = await watchShifts(page);
      const { keyboard } = page;

      // opens, and sees the picture before any script has come
      const start = await hold(page, "**/assets/*.js");
      await page.goto(lab.url, { waitUntil: "commit" });
      const diagram = page.locator(".scene-diagram .flow");
      await diagram.waitFor();
      expect(await question(page)).toBe("What does attention do to a word?");
      const box = (await diagram.boundingBox())!;
      expect(box.y + box.height).toBeLessThanOrEqual(viewport.height);
      expect(await faults(page)).toEqual([]);
      start();
      await lab.ready("lesson", page);
      expect(await diagram.boundingBox()).toEqual(box);

      // types a sentence: the model comes, with its progress
      await tabTo(page, page.getByRole("button", { name: "Skip to the room" }));
      await keyboard.press("Enter");
      await tabTo(page, page.getByLabel("Your sentence"));
      const model = await hold(page, "**/model/weights-3*");
      const before = await shifts();
      await keyboard.type(SENTENCE);
      await page.locator("#busy-amount", { hasText: /of \d+ MB$/ }).waitFor();
      expect(await faults(page)).toEqual([]);
      model();
      await page.locator(".flow th", { hasText: "river" }).waitFor();
      await lab.ready("lesson", page);
      expect(await page.getByLabel("Your sentence").inputValue()).toBe(SENTENCE);
      expect(await page.locator(".flow tr.asks th").textContent()).toBe("bank₂");
      const grown = (await shifts()) - before; // for the rows of a sentence that is longer

      // walks the scenes: beside the field, where the arrows move the caret
      await tabTo(page, page.getByRole("button", { name: "Scene 1" }));
      const titles: (string | null)[] = [];
      for (let number = 1; number <= SCENES; number++) {
        if (number > 1) await keyboard.press("ArrowRight");
        await atScene(lab, page, number);
        await expectSeenFocus(page);
        titles.push(await page.locator(".pane h2").textContent());
        expect([number, ...(await faults(page))]).toEqual([number]);
        // The text of the scene is in sight, and the diagram too.
        const text = (await page.locator(`.scene[data-scene="${number}"] h2`).boundingBox())!;
        const shown = (await diagram.boundingBox())!;
        if (number > 1 || viewport.width > 960) expect(text.y).toBeLessThan(viewport.height);
        expect(text.y).toBeGreaterThan(0);
        expect(shown.y).toBeGreaterThan(0);
        expect(shown.y + shown.height).toBeLessThanOrEqual(viewport.height);
      }
      expect(new Set(titles).size).toBe(SCENES);
      expect(await weightsShown(page)).toEqual(await weightsWanted(encoder, SENTENCE, 0, 1));
      await keyboard.press("ArrowRight"); // there is no eighth scene
      await keyboard.press("ArrowLeft");
      await atScene(lab, page, 6);
      await page.waitForFunction(() => location.hash.includes("scene=6"));
      expect((await shifts()) - grown).toBeLessThan(0.02);

      // opens the room of this scene, past the bar and without leaving the scene
      const inLesson = await hash(page);
      await tabTo(page, page.locator('.scene[data-scene="6"] .door a'));
      expect(await hash(page)).toBe(inLesson);
      await keyboard.press("Enter");
      await lab.ready("sentence", page);
      expect(await sentences(page).inputValue()).toBe(SENTENCE);
      expect(await question(page)).toBe("Which “bank” is which?");
      expect(await finding(page)).toMatch(/“bank₂” looks most at “[A-Za-z]+” \(\d+\u00a0%\)/);
      expect(await page.textContent(".effect")).toMatch(/cosine with the original is 0\.\d{4}/);
      expect(await faults(page)).toEqual([]);

      // edits
      await tabTo(page, sentences(page));
      await keyboard.press("Control+A");
      await keyboard.type(EDITED);
      await page.locator("h1", { hasText: "Which “bat” is which?" }).waitFor();
      await lab.ready("sentence", page);
      expect(await sentences(page).inputValue()).toBe(EDITED);
      await expectSeenFocus(page);

      // takes the scene's change back, and switches off another head: maps before and after appear
      await tabTo(page, page.getByRole("button", { name: "Undo all changes" }));
      await keyboard.press("Enter");
      await page.getByText("Nothing is changed.").waitFor();
      await expectSeenFocus(page);
      expect(await faults(page)).toEqual([]);
      await tabTo(page, head(page), "Shift+Tab");
      await keyboard.press("Space");
      await page.getByText("Nothing is changed.").waitFor({ state: "detached" });
      await lab.ready("sentence", page);
      await expectSeenFocus(page);
      expect(await head(page).isChecked()).toBe(false);
      expect(await page.textContent(".effect")).toMatch(/cosine with the original is 0\.\d{4}/);
      await page.waitForFunction(() => location.hash.includes("gains="));
      const [there, effect] = [await hash(page), await page.textContent(".effect")];
      expect(await faults(page)).toEqual([]);

      // shares: the address shows another visitor the same
      const share = page.getByRole("button", { name: "Share this figure" });
      await tabTo(page, share);
      await keyboard.press("Enter");
      const address = page.getByRole("dialog").getByLabel("Its address, with all settings");
      await address.waitFor();
      await expectSeenFocus(page);
      const shared = await address.inputValue();
      expect(shared).toBe(await page.evaluate(() => location.href));
      expect(await faults(page)).toEqual([]);
      await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Save as SVG" }));
      await keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await expectSeenFocus(page);
      expect(await share.evaluate((node) => node === document.activeElement)).toBe(true);
      const other = await visit();
      await other.goto(shared);
      await lab.ready("sentence", other);
      expect([await question(other), await other.textContent(".effect")]).toEqual(["Which “bat” is which?", effect]);
      const picture = (await other.locator(".picture .whole table").boundingBox())!;
      expect(picture.y + picture.height).toBeLessThanOrEqual(viewport.height);
      expect(await sentences(other).inputValue()).toBe(EDITED);
      expect(await head(other).isChecked()).toBe(false);
      await other.context().close();

      // goes on to the next room
      await tabTo(page, page.locator("a.next, .next a"));
      await keyboard.press("Enter");
      await lab.ready("matrix", page);
      expect(await page.evaluate(() => scrollY)).toBe(0);
      expect(await faults(page)).toEqual([]);

      // comes back: the sentence and the change are still there, and so is the scene
      await page.goBack();
      await lab.ready("sentence", page);
      expect(await sentences(page).inputValue()).toBe(EDITED);
      expect(await head(page).isChecked()).toBe(false);
      expect([await hash(page), await page.textContent(".effect")]).toEqual([there, effect]);
      await page.goBack();
      await lab.ready("lesson", page);
      await atScene(lab, page, 6);
      expect(await page.getByLabel("Your sentence").inputValue()).toBe(SENTENCE);
      expect(errors).toEqual([]);
      await page.context().close();
    },
  );
});
