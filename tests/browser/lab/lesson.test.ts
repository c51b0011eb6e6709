// The lesson, as a visitor has it. The way through it by the keyboard, and on to a room, is in visitor.test.ts.

import { beforeAll, describe, expect, test } from "@jest/globals";
import { type Page } from "playwright-core";

import { type Encoder } from "../../../web/demo/model/encoder.js";
import { PARK } from "../../../web/demo/model/story.js";
import { encoderHeadName } from "../../../web/demo/lab/shell/encoderHead.js";
import { expectSeenFocus } from "./keyboard.js";
import { LabPage, withoutOwnFont } from "./labPage.js";
import { threadTimes } from "./pageThread.js";
import { atScene, loadEncoder, SCENES, watchShifts, weightsShown, weightsWanted } from "./scenes.js";

const SIZES = [
  { width: 1366, height: 768 },
  { width: 820, height: 1180 },
  { width: 390, height: 844 },
];

const lab = new LabPage();
let encoder: Encoder;
beforeAll(async () => {
  encoder = await loadEncoder(lab.hw);
});

/** Waits until a scene is shown, and has come to rest. */
const scene = (page: Page, number: number) => atScene(lab, page, number);

describe("the first screen", () => {
  test.each(SIZES)(
    "has the visitor’s sentence and the diagram at $width × $height, without scripts and with them",
    async (viewport) => {
      const seen: unknown[] = [];
      for (const javaScriptEnabled of [false, true]) {
        const context = await lab.browser.newContext({ viewport, javaScriptEnabled });
        await withoutOwnFont(context); // it may come in time for one page and not for the other
        const page = await context.newPage();
        const asked: string[] = [];
        page.on("request", (request) => /\/model\//.test(request.url()) && asked.push(request.url()));
        await page.goto(lab.url);
        if (javaScriptEnabled) await lab.ready("lesson", page);
        const boxes = [];
        for (const part of [page.getByLabel("Your sentence"), page.locator(".flow"), page.locator(".scene-bar")]) {
          const box = (await part.boundingBox())!;
          expect(box.y).toBeGreaterThan(0);
          expect(box.y + box.height).toBeLessThanOrEqual(viewport.height);
          expect(box.x + box.width).toBeLessThanOrEqual(viewport.width);
          boxes.push(box);
        }
        seen.push({ boxes, words: await page.locator(".room .stage, .room header").allTextContents() });
        expect(asked).toEqual([]);
        await context.close();
      }
      expect(seen[1]).toEqual(seen[0]); // the live room takes the place of the picture without a shift
    },
  );
});

test.each(SIZES)(
  "scrolling goes through all scenes, and the page does not move by itself: $width pixels",
  async (viewport) => {
    const context = await lab.browser.newContext({ viewport });
    const page = await context.newPage();
    const shifts = await watchShifts(page);
    await page.goto(lab.url);
    await lab.ready("lesson", page);
    await page.mouse.move(viewport.width / 2, viewport.height / 2);
    const seen = new Set<string>();
    const end = () => page.evaluate(() => scrollY + innerHeight >= document.documentElement.scrollHeight - 2);
    while (!(await end())) {
      await page.mouse.wheel(0, 120);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      seen.add((await page.locator(".scene-bar [aria-pressed=true]").getAttribute("data-scene"))!);
    }
    await scene(page, SCENES);
    seen.add(String(SCENES));
    expect([...seen].sort()).toEqual(["1", "2", "3", "4", "5", "6", "7"]);
    expect(await shifts()).toBeLessThan(0.02);
    await context.close();
  },
);

test("the diagram’s numbers are the package’s, for each word and each head that is chosen", async () => {
  await lab.enter("lesson?scene=4");
  expect(await weightsShown(lab.page)).toEqual(await weightsWanted(encoder, PARK, 0, 3));
  await lab.page.locator("select[data-field=head]").selectOption("layer 2 head 3");
  await lab.page.locator("select[data-field=word]").selectOption("car");
  await lab.page.locator(".flow tr.asks", { hasText: "car" }).waitFor();
  await lab.page.waitForFunction(() => location.hash.includes("head=2.3") && location.hash.includes("word=6"));
  await lab.ready("lesson");
  expect(await weightsShown(lab.page)).toEqual(await weightsWanted(encoder, PARK, 6, 5));
  await lab.page.locator(".flow tbody th", { hasText: "decided" }).click();
  await lab.page.locator(".flow tr.asks", { hasText: "decided" }).waitFor();
  await lab.ready("lesson");
  expect(await weightsShown(lab.page)).toEqual(await weightsWanted(encoder, PARK, 6, 1));
});

/** Watches what travels: the properties of each number that was set on its way. Returns what was until now. */
async function watchFlights(page: Page): Promise<() => Promise<readonly string[][]>> {
  await page.evaluate(() => {
    const flights: string[][] = ((globalThis as unknown as { flights: string[][] }).flights = []);
    const animate = Reflect.get(Element.prototype, "animate") as (this: Element, ...given: unknown[]) => Animation;
    Element.prototype.animate = function (frames, options) {
      flights.push((frames as Keyframe[]).flatMap((frame) => Object.keys(frame)));
      return animate.call(this, frames, options);
    };
  });
  return () => page.evaluate(() => (globalThis as unknown as { flights: string[][] }).flights);
}

/** Waits until so many numbers have been set on their way. */
async function waitForFlights(page: Page, count: number): Promise<void> {
  const are = (least: number) => (globalThis as unknown as { flights: unknown[] }).flights.length >= least;
  await page.waitForFunction(are, count);
}

test("numbers travel from where they come from; with reduced motion they are there at once", async () => {
  for (const reducedMotion of ["no-preference", "reduce"] as const) {
    const page = await lab.open();
    await page.emulateMedia({ reducedMotion });
    await lab.enter("lesson", page);
    const flights = await watchFlights(page);
    for (let number = 2; number <= SCENES; number++) {
      const before = (await flights()).length;
      await page.locator(".scene-bar .primary").click();
      if (reducedMotion === "no-preference") await waitForFlights(page, before + 1);
      await scene(page, number);
    }
    expect((await flights()).length > 0).toBe(reducedMotion === "no-preference");
    await page.close();
  }
});

test("when the lesson is opened its vectors leave their words; with reduced motion they are there at once", async () => {
  for (const reducedMotion of ["no-preference", "reduce"] as const) {
    const page = await lab.open();
    await page.emulateMedia({ reducedMotion });
    await lab.enter("matrix", page);
    const flights = await watchFlights(page);
    await page.goto(`${lab.url}#/lesson`);
    await lab.ready("lesson", page);
    const words = await page.locator(".flow tr[data-token]").count();
    if (reducedMotion === "no-preference") await waitForFlights(page, words);
    else expect(await flights()).toEqual([]);
    await page.waitForFunction(() => !document.querySelector(".arriving")); // all have set off
    await page.close();
  }
});

test("what travels changes in place and opacity only, which need no layout", async () => {
  const page = await lab.open();
  await lab.enter("lesson", page);
  const flights = await watchFlights(page);
  await threadTimes(page, "the scenes of the lesson", 50, async () => {
    for (let number = 2; number <= SCENES; number++) {
      await page.keyboard.press("ArrowRight");
      await scene(page, number);
    }
  });
  const changed = new Set((await flights()).flat());
  expect([...changed].sort()).toEqual(["offset", "opacity", "transform"]);
  await page.close();
});

test("a question says whether an answer is right, and why, after it was answered", async () => {
  await lab.enter("lesson?scene=7");
  const card = lab.page.locator('.scene[data-scene="7"]');
  expect(await card.locator(".said").textContent()).toBe("");
  await card.getByRole("button", { name: "As far as with positions" }).click();
  expect(await card.locator(".said").textContent()).toMatch(/^Not so\. With positions \d+\.\d, without them 0\.0\./);
  await card.getByRole("button", { name: "Not apart" }).click();
  expect(await card.locator(".said").textContent()).toMatch(/^Right\. /);
  expect(await lab.axe()).toEqual([]);
});

test("an address opens its scene, and a reload keeps it", async () => {
  await lab.enter("lesson?scene=5&head=2.1");
  await scene(lab.page, 5);
  expect(await lab.page.locator(".pane h2").textContent()).toMatch(/^Apart: 35\.\d before, 41\.\d after$/);
  await lab.page.reload();
  await lab.ready("lesson");
  await scene(lab.page, 5);
});

test.each([
  ["an empty sentence", "", "0 tokens."],
  ["a sentence of spaces", "    ", "0 tokens."],
  ["one word", "park", "1 token."],
  ["a word that the model does not know", "headwise", "read in pieces"],
  ["more words than the diagram has rows for", "word ".repeat(40), "The lesson shows the first 14"],
])("%s is no trouble", async (_, text, said) => {
  await lab.enter("lesson?scene=2");
  await lab.page.getByLabel("Your sentence").fill(text);
  await lab.page.locator(".lesson-controls .hint", { hasText: said }).waitFor();
  await lab.ready("lesson");
  expect(await lab.page.locator(".failure:visible").count()).toBe(0);
  expect(await lab.axe()).toEqual([]);
});

test.each([
  { device: "a phone", hasTouch: true, end: "Scroll." },
  { device: "a keyboard", hasTouch: false, end: "Keys: → and ←." },
])("before any script and after it, $device is told the ways that it has", async ({ hasTouch, end }) => {
  for (const javaScriptEnabled of [false, true]) {
    const context = await lab.browser.newContext({ hasTouch, isMobile: hasTouch, javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(lab.url);
    if (javaScriptEnabled) await lab.ready("lesson", page);
    const lede = page.locator(".lede");
    expect(await lede.innerText()).toMatch(new RegExp(`${end}$`));
    await context.close();
  }
});

test("the lists show the word and the head that are followed, and the arrow keys reach every entry", async () => {
  await lab.enter("lesson");
  const shown = (field: string) =>
    lab.page.locator(`select[data-field=${field}]`).evaluate((list: HTMLSelectElement) => Number(list.value));
  for (const [field, first, entries, inAddress] of [
    ["head", 0, 8, encoderHeadName],
    ["word", 3, 10, (word: number) => String(word + 1)],
  ] as const) {
    // oxfmt-ignore
    const list = lab.page.locator(`select[data-field=${field}]`);
    expect(await list.locator("option").count()).toBe(entries);
    await list.focus();
    for (let entry = first + 1; entry < entries; entry++) {
      await list.press("ArrowDown");
      await lab.page.waitForFunction((wanted) => location.hash.includes(wanted), `${field}=${inAddress(entry)}`);
      await lab.ready("lesson");
      await lab.frames();
      expect([field, await shown(field)]).toEqual([field, entry]);
    }
  }
  await lab.page.getByRole("button", { name: "Reset", exact: true }).dispatchEvent("click"); // without scrolling to it
  await lab.page.waitForFunction(() => location.hash === "#/lesson");
  await lab.frames();
  expect([await shown("head"), await shown("word")]).toEqual([0, 3]);
});

/** Where the text of a scene begins in the window. */
const topOf = async (page: Page, number: number) =>
  (await page.locator(`.scene[data-scene="${number}"] h2`).boundingBox())!.y;

/** Waits until the page does not scroll any more. */
const atRest = (page: Page) =>
  page.evaluate(async () => {
    for (let [same, last] = [0, -1]; same < 10; last = scrollY) {
      await new Promise(requestAnimationFrame);
      same = scrollY === last ? same + 1 : 0;
    }
  });

test.each([
  ["scene=6", "scene=4&head=2.2", 4],
  ["", "scene=5", 5],
])("an address that is followed inside the page, from “%s” to “%s”, leads to its scene", async (from, to, number) => {
  const page = await lab.open();
  await lab.enter(`lesson?${from}`, page);
  await atRest(page);
  await page.evaluate((hash) => (location.hash = hash), `#/lesson?${to}`);
  await scene(page, number);
  await atRest(page);
  await scene(page, number);
  expect(await page.evaluate(() => location.hash)).toBe(`#/lesson?${to}`);
  expect(await topOf(page, number)).toBeGreaterThan(0);
  expect(await topOf(page, number)).toBeLessThan(300);
  await page.close();
});

test("printing leaves the scene, the address and the place in the text", async () => {
  const page = await lab.open();
  await lab.enter("lesson?scene=3", page);
  await scene(page, 3);
  await atRest(page);
  for (const print of [
    () => page.pdf({ format: "A4" }),
    async () => {
      await page.emulateMedia({ media: "print" });
      await lab.frames(page);
      await page.emulateMedia({ media: "screen" });
    },
  ]) {
    await print();
    await atRest(page);
    await scene(page, 3);
    expect(await page.evaluate(() => location.hash)).toBe("#/lesson?scene=3");
    expect(await topOf(page, 3)).toBeLessThan(300);
  }
  await page.close();
});

test("on a phone the keyboard’s focus is not hidden under the bar or the diagram, nor left out of the window", async () => {
  const page = await lab.browser.newPage({ viewport: { width: 390, height: 844 }, reducedMotion: "reduce" });
  await page.goto(lab.url);
  await lab.ready("lesson", page);
  /** The stops of one scene after another, from the first one's link; or back. */
  const ways = [
    ["ArrowRight", "Tab"],
    ["ArrowLeft", "Shift+Tab"],
  ] as const;
  await page.locator('.scene[data-scene="1"] .door a').focus();
  for (const [arrow, tab] of ways)
    for (let scenes = 0; scenes < 3; scenes++) {
      await page.keyboard.press(arrow);
      await atRest(page);
      for (let stops = 0; stops < 3; stops++) {
        await page.keyboard.press(tab);
        await atRest(page);
        await expectSeenFocus(page);
      }
    }
  // from the texts to what stands below them
  await page.keyboard.press("End");
  await page.locator('.scene[data-scene="7"] .door a').focus();
  for (let stops = 0; stops < 4; stops++) {
    await page.keyboard.press("Tab");
    await atRest(page);
    await expectSeenFocus(page);
  }
  await page.close();
});

test("on a phone the keyboard’s focus comes out from under a diagram that grows", async () => {
  const page = await lab.browser.newPage({ viewport: { width: 390, height: 844 }, reducedMotion: "reduce" });
  await page.goto(`${lab.url}#/lesson?scene=3`);
  await lab.ready("lesson", page);
  const door = page.locator('.scene[data-scene="3"] .door a');
  await door.focus();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Tab");
  await atRest(page);
  const isCovered = () =>
    page.evaluate(() => {
      const [{ bottom }, { top }] = [document.querySelector(".scene-diagram")!, document.activeElement!].map((node) => node.getBoundingClientRect()) as [DOMRect, DOMRect]; // oxfmt-ignore
      return top < bottom;
    });
  await page.evaluate(() => scrollTo(0, scrollY + document.activeElement!.getBoundingClientRect().top - document.querySelector(".scene-diagram")!.getBoundingClientRect().bottom - 20)); // oxfmt-ignore
  await atRest(page);
  expect(await isCovered()).toBe(false);
  await page.evaluate(() => (document.querySelector<HTMLElement>(".scene-diagram")!.style.paddingBottom = "120px"));
  await lab.frames(page);
  expect(await isCovered()).toBe(false);
  await page.close();
});

test.each(["en", "de"])(
  "on the narrowest phones the buttons of the scenes stay in their card, in %s",
  async (locale) => {
    const page = await lab.browser.newPage({ viewport: { width: 320, height: 640 }, reducedMotion: "reduce", locale });
    await page.goto(lab.url);
    await lab.ready("lesson", page);
    const beyond = await page.evaluate(() => {
      const { right } = document.querySelector(".scene-diagram")!.getBoundingClientRect();
      const buttons = [...document.querySelectorAll(".scene-bar button")];
      return buttons.filter((button) => button.getBoundingClientRect().right > right).length;
    });
    expect(beyond).toBe(0);
    await page.close();
  },
);

test("scrolling while the first picture is still computed does no harm", async () => {
  const page = await lab.open();
  const errors: string[] = [];
  page.on("pageerror", ({ message }) => errors.push(message));
  await page.setViewportSize({ width: 390, height: 844 });
  await lab.enter("matrix", page);
  await page.evaluate(async () => {
    location.hash = "#/lesson?text=A+sentence+of+my+own.";
    while (!document.querySelector("[data-room=lesson] .scene-diagram")) {
      dispatchEvent(new Event("scroll"));
      await new Promise(requestAnimationFrame);
    }
  });
  await lab.ready("lesson", page);
  expect(errors).toEqual([]);
  await page.close();
});
