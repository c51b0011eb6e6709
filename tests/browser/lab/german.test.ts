// The lab in German: a visitor whose browser prefers German reads no English, and English stays what others get.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Page } from "playwright-core";

import { LabPage, ROOMS } from "./labPage.js";

/** Words that German does not have. */
const ENGLISH_WORDS =
  /\b(the|and|of|is|are|with|this|that|each|every|which|not|what|how|by|from|at|for|you|your|it)\b/i;

const lab = new LabPage();
let german: Page;
beforeAll(async () => (german = await open("de-AT")));
afterAll(() => german.context().close());

async function open(locale: string): Promise<Page> {
  const context = await lab.browser.newContext({ locale, viewport: { width: 1280, height: 900 } });
  return context.newPage();
}

/** What a page says in English, to eyes or to a screen reader, except where it marks that as English or as code. */
function englishOf(page: Page): Promise<string[]> {
  return page.evaluate(
    ([words, flags]) => {
      const found = new Set<string>();
      const english = new RegExp(words!, flags);
      const look = (text: string | null) => {
        const own = text?.replace(/„[^“]*“/g, "„“").trim() ?? ""; // what is quoted are words of the visitor's sentence
        if (english.test(own)) found.add(own);
      };
      const walk = (node: Element) => {
        if (node.matches('[translate="no"], [lang="en"], script, style, noscript')) return;
        if (!node.checkVisibility({ visibilityProperty: true })) return;
        for (const name of ["aria-label", "title", "placeholder", "alt", "aria-valuetext"])
          look(node.getAttribute(name));
        for (const child of node.childNodes) if (child instanceof Text) look(child.data);
        for (const child of [...(node.shadowRoot?.children ?? []), ...node.children]) walk(child);
      };
      look(document.title);
      walk(document.body);
      return [...found];
    },
    [ENGLISH_WORDS.source, ENGLISH_WORDS.flags],
  );
}

describe("a browser that prefers German", () => {
  test.each(ROOMS)("reads no English in the room %s", async (room) => {
    await lab.enter(room, german);
    expect(await german.evaluate(() => document.documentElement.lang)).toBe("de");
    await german.locator("#engine summary").click();
    await german
      .locator("main details:not([open]) > summary")
      .evaluateAll((all) => all.forEach((closed) => (closed as HTMLElement).click()));
    const compare = german.getByRole("button", { name: "Mit doppelter Genauigkeit vergleichen" });
    if ((await compare.count()) > 0) {
      await compare.click();
      await german.locator(".verdict", { hasText: "Verglichen mit der Definition" }).waitFor();
    }
    expect(await englishOf(german)).toEqual([]);
  });

  test("reads the names of things in full: tensors, captions and the table of the room Flash", async () => {
    await lab.enter("tensors?mode=attention", german);
    for (const name of ["Anfrage", "Schlüssel", "Wert"])
      await german.getByText(name, { exact: true }).first().waitFor();
    expect(await german.getByText(/^(Key|Value)$/).count()).toBe(0);
    await lab.enter("sentence", german);
    for (const words of await german.locator(".matrix figcaption").allTextContents())
      expect(words).toMatch(/ \d+ × \d+$/);
    await lab.enter("flash", german);
    const cut = await german
      .locator(".costs tbody th")
      .evaluateAll((names) => names.filter((name) => name.scrollWidth > name.clientWidth).map((name) => name.textContent)); // oxfmt-ignore
    expect(cut).toEqual([]);
  });

  test("reads no English in all scenes of the lesson, in its answers, and beside it", async () => {
    await lab.enter("lesson", german);
    for (let scene = 1; scene <= 7; scene++) {
      await german.locator(`.scene-bar [data-scene="${scene}"]`).click();
      await german.locator(`.scene-bar [data-scene="${scene}"][aria-pressed=true]`).waitFor();
      for (const answer of await german.locator(`.scene[data-scene="${scene}"] [data-answer]`).all()) {
        await answer.click();
        expect(await englishOf(german)).toEqual([]);
      }
    }
    expect(await german.locator(".flow [data-column=score] b").first().textContent()).toMatch(/^−?\d+,\d$/);
    await german.getByRole("button", { name: "Diese Abbildung teilen" }).click();
    await german.getByText("In eine andere Seite einbauen").click();
    expect(await englishOf(german)).toEqual([]);
    await german.getByRole("button", { name: "Schließen" }).click();
  });

  test("is asked and answered in German by the tour", async () => {
    await lab.enter("positions?tour=1", german);
    const panel = german.locator("#tour");
    await panel.locator(".chips button").first().click();
    await panel.getByText("Mit Positionen unterscheiden sich die zwei Zeilen").waitFor();
    const said = await panel.innerText();
    expect(said.replace(/„[^“]*“/g, "")).not.toMatch(ENGLISH_WORDS);
    await panel.getByRole("button", { name: "Tour verlassen" }).click();
  });

  test("finds a lesson that axe does not complain of, and that fits a phone", async () => {
    await lab.enter("lesson", german);
    expect(await lab.axe(german)).toEqual([]);
    await german.setViewportSize({ width: 390, height: 844 });
    for (let scene = 1; scene <= 7; scene++) {
      await german.locator(`.scene-bar [data-scene="${scene}"]`).click();
      await german.locator(`.scene-bar [data-scene="${scene}"][aria-pressed=true]`).waitFor();
      expect(await german.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    }
    await german.setViewportSize({ width: 1280, height: 900 });
  });

  test("loads the file of German, which others do not", async () => {
    const loaded = (page: Page) =>
      page.evaluate(() => performance.getEntriesByType("resource").some(({ name }) => /\/de-[^/]*\.js$/.test(name)));
    await lab.enter("lesson");
    expect([await loaded(german), await loaded(lab.page)]).toEqual([true, false]);
  });
});

test.each([1280, 390])("the headings of the lesson’s diagram do not touch: %s pixels", async (width) => {
  await german.setViewportSize({ width, height: 900 });
  await lab.enter("lesson?scene=2", german);
  const gaps = await german.evaluate(() => {
    const texts = [...document.querySelectorAll(".flow thead tr:first-child th")].map((heading) => {
      const range = document.createRange();
      range.selectNodeContents(heading);
      return range.getBoundingClientRect();
    });
    return texts.slice(1).map((text, at) => text.left - texts[at]!.right);
  });
  expect(gaps).toHaveLength(5);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3);
  await german.setViewportSize({ width: 1280, height: 900 });
});

test("numbers have a comma before their decimals, those that can be typed over too", async () => {
  await lab.enter("matrix", german);
  const typed = german.locator(".numbers input");
  const shown = await typed.evaluateAll((all) => all.map((input) => (input as HTMLInputElement).value));
  expect(shown).toContain("−0,5");
  expect(shown.filter((value) => value.includes("."))).toEqual([]);
  await typed.first().fill("1,25");
  await typed.nth(1).focus();
  const first = await typed.first().elementHandle();
  await german.waitForFunction((input) => (input as HTMLInputElement).value === "1,25", first); // when it is drawn
  expect(await first.getAttribute("aria-invalid")).toBe("false");
});

test.each(["masks", "positions"])("on a phone the words of a slider do not stand out of it: %s", async (room) => {
  await german.setViewportSize({ width: 390, height: 844 });
  await lab.enter(room, german);
  const wide = await german
    .locator("main .slider")
    .evaluateAll((all) => all.filter((node) => node.scrollWidth > node.clientWidth).map((node) => node.textContent));
  expect(wide).toEqual([]);
  await german.setViewportSize({ width: 1280, height: 900 });
});

test("on a phone the threshold of links stands in one line", async () => {
  await german.setViewportSize({ width: 390, height: 844 });
  await lab.enter("sentence", german);
  const threshold = german.locator("attention-heads label span:last-child");
  expect(await threshold.textContent()).toBe("5\u00a0%");
  expect(await threshold.evaluate((node) => node.getBoundingClientRect().height)).toBeLessThan(30);
  await german.setViewportSize({ width: 1280, height: 900 });
});

test("on a phone the table of heads of the room Sentence is as wide as the words above it", async () => {
  await german.setViewportSize({ width: 390, height: 844 });
  await lab.enter("sentence", german);
  const heads = german.locator("table.heads");
  expect(await heads.evaluate((table: HTMLElement) => table.offsetWidth - table.parentElement!.querySelector("p")!.offsetWidth)).toBeLessThanOrEqual(0); // oxfmt-ignore
  await german.setViewportSize({ width: 1280, height: 900 });
});

describe("another language", () => {
  const spoken = (page: Page) => page.evaluate(() => document.documentElement.lang);

  test("is chosen in the bar; the room and its settings stay, and so does the language", async () => {
    const page = await open("en-US");
    await lab.enter("masks?queries=3", page);
    expect(await spoken(page)).toBe("en");
    const list = page.getByRole("combobox", { name: "Language" });
    expect(await list.locator("option").allTextContents()).toEqual(["English", "Deutsch"]);
    await list.selectOption("de");
    await page.getByRole("combobox", { name: "Sprache" }).waitFor();
    await lab.ready("masks", page);
    expect(page.url()).toBe(`${lab.url}#/masks?queries=3`);
    await page.reload();
    await lab.ready("masks", page);
    expect(await spoken(page)).toBe("de");
    await page.getByRole("combobox", { name: "Sprache" }).selectOption("en");
    await page.getByRole("combobox", { name: "Language" }).waitFor();
    expect(await spoken(page)).toBe("en");
    await page.context().close();
  });

  test("can be said by the address, and a choice is written there", async () => {
    const page = await open("fr");
    await page.goto(`${lab.url}?lang=de#/lesson?scene=2`);
    await lab.ready("lesson", page);
    expect([await spoken(page), page.url()]).toEqual(["de", `${lab.url}?lang=de#/lesson?scene=2`]);
    await page.getByRole("combobox", { name: "Sprache" }).selectOption("en");
    await page.getByRole("combobox", { name: "Language" }).waitFor();
    await lab.ready("lesson", page);
    expect(page.url()).toBe(`${lab.url}?lang=en#/lesson?scene=2`);
    await page.goto(lab.url); // a browser with neither language
    await lab.ready("lesson", page);
    expect(await spoken(page)).toBe("en");
    await page.context().close();
  });
});
