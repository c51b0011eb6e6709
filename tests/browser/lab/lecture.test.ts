// Lectures: figures in an order, with hidden answers, large type, the arrow keys, and sheets to print.

import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";

import { stopAddress, type Lecture } from "../../../web/demo/lab/lecture/lecture.js";
import { LECTURES } from "../../../web/demo/lab/lecture/lectures.js";
import { LabPage, leave } from "./labPage.js";

const lab = new LabPage();
lab.staysFolded = true;

const panel = (page: Page) => page.locator("#lecture");
const answer = (page: Page) => page.locator("#lecture .lecture-answer");

/** Waits for a stop, its room, and its figure in view. */
async function arrived(lecture: Lecture, number: number, page: Page): Promise<void> {
  const { title, room, figure, settings } = lecture.stops[number - 1]!;
  await panel(page).getByText(`${lecture.title}, ${number} of ${lecture.stops.length}`, { exact: true }).waitFor();
  await panel(page).getByRole("heading", { name: title }).waitFor();
  await lab.ready(room, page);
  await page.waitForFunction(
    ({ selector, ends }) => {
      const top = document.querySelector(`main ${selector}`)?.getBoundingClientRect().top ?? Infinity;
      return top >= -1 && top < innerHeight / 2 && location.hash.includes(ends);
    },
    { selector: figure, ends: `lecture=${lecture.id}-${number}` },
  );
  const shown = await page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.split("?")[1])));
  expect(shown).toEqual({ ...settings, lecture: `${lecture.id}-${number}` });
  expect(await page.locator(".failure:visible").count()).toBe(0);
}

/** A page at a stop. */
async function at(lecture: Lecture, number: number): Promise<Page> {
  const page = await lab.open();
  await lab.enter(stopAddress(lecture, number).replace("#/", ""), page);
  await arrived(lecture, number, page);
  return page;
}

test.each(LECTURES)(
  "the arrow keys alone lead through “$title”: the answer first, then the next figure",
  async (lecture) => {
    const page = await at(lecture, 1);
    for (const [index, { quiz }] of lecture.stops.entries()) {
      expect(await answer(page).textContent()).toBe("Show the answer");
      await page.keyboard.press("ArrowRight");
      expect(await answer(page).textContent()).toBe(quiz!.answer);
      if (index + 1 === lecture.stops.length) break;
      await page.keyboard.press("ArrowRight");
      await arrived(lecture, index + 2, page);
    }
    await page.keyboard.press("ArrowLeft");
    await arrived(lecture, lecture.stops.length - 1, page);
    await page.close();
  },
);

test("the focus goes to the answer, and to the next stop; an embedded figure has no panel", async () => {
  const [, matrices] = LECTURES as [Lecture, Lecture];
  const page = await at(matrices, 1);
  const focused = () => page.evaluate(() => document.activeElement!.textContent);
  await panel(page).getByRole("button", { name: "Show the answer" }).press("Enter");
  expect(await focused()).toBe(matrices.stops[0]!.quiz!.answer);
  await panel(page).getByRole("link", { name: "Next →" }).press("Enter");
  await arrived(matrices, 2, page);
  expect(await focused()).toBe(matrices.stops[1]!.title);
  await leave(page, lab.url);
  await page.goto(`${lab.url}?embed#/masks?left=48&lecture=matrices-8`);
  await lab.ready("masks", page);
  expect(await panel(page).count()).toBe(0);
  await page.close();
});

test("a link to an answer shows it; leaving the lecture leaves the figure", async () => {
  const [words] = LECTURES as [Lecture];
  const page = await lab.open();
  await lab.enter("lesson?scene=3&lecture=words-3&answer=true", page);
  await answer(page).getByText(words.stops[2]!.quiz!.answer).waitFor();
  await page.getByRole("button", { name: "Leave the lecture" }).click();
  expect(await panel(page).isVisible()).toBe(false);
  await page.waitForFunction(() => location.hash === "#/lesson?scene=3");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => location.hash === "#/lesson?scene=4");
  await page.close();
});

test("full screen has large type and no bar, and a presenter’s remote leads on", async () => {
  const [words] = LECTURES as [Lecture];
  const page = await at(words, 2);
  await page.setViewportSize({ width: 1920, height: 1080 });
  const size = () => page.evaluate(() => parseFloat(getComputedStyle(document.body).fontSize));
  const before = await size();
  await panel(page).getByRole("button", { name: "Full screen" }).click();
  await page.waitForFunction(() => document.fullscreenElement !== null);
  expect(await size()).toBeGreaterThan(1.5 * before);
  expect(await page.locator("#bar").isVisible()).toBe(false);
  expect(await lab.axe(page)).toEqual([]);
  await page.keyboard.press("PageDown");
  expect(await answer(page).textContent()).toBe(words.stops[1]!.quiz!.answer);
  await page.keyboard.press("PageDown");
  await arrived(words, 3, page);
  await panel(page).getByRole("button", { name: "Leave full screen" }).click();
  expect(await size()).toBe(before);
  expect(await page.locator("#bar").isVisible()).toBe(true);
  await page.close();
});

/** Counts how often a fold of the room is opened that is open: to a handout, that is a figure which still changes. */
async function watchFolds(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const watched = ((globalThis as unknown as { opened: { again: number } }).opened = { again: 0 });
    new MutationObserver((seen) => {
      watched.again += seen.filter(
        ({ target, oldValue }) => oldValue !== null && (target as HTMLDetailsElement).open,
      ).length;
    }).observe(document.getElementById("main")!, { subtree: true, attributeFilter: ["open"], attributeOldValue: true });
  });
  return () => page.evaluate(() => (globalThis as unknown as { opened: { again: number } }).opened.again);
}

test("a handout has every figure and question; its answers come on a last page, if they are wanted", async () => {
  const [words] = LECTURES as [Lecture];
  const page = await at(words, 2);
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" }); // each figure is drawn at once
  const folds = await watchFolds(page);
  await panel(page).getByRole("button", { name: "Handout to print" }).click();
  const handout = page.locator("#handout");
  await handout.waitFor();
  await page.waitForFunction(() => document.activeElement!.id === "handout");
  await page.keyboard.press("ArrowRight"); // leads on in the lecture only
  expect(await handout.isVisible()).toBe(true);
  expect(await folds()).toBe(0);
  expect(await handout.locator("article h2").allTextContents()).toEqual(
    words.stops.map(({ title }, index) => `${index + 1} · ${title}`),
  );
  const sizes = await handout.locator("img").evaluateAll((images) =>
    Promise.all(
      (images as HTMLImageElement[]).map(async (image) => {
        await image.decode();
        return image.naturalWidth * image.naturalHeight;
      }),
    ),
  );
  expect(sizes.filter((size) => size > 200 * 200)).toHaveLength(words.stops.length);
  for (const { quiz } of words.stops) expect(await handout.getByText(quiz!.question).count()).toBe(1);
  expect(await lab.axe(page)).toEqual([]);
  const answers = handout.locator(".answers li");
  expect(await answers.first().isVisible()).toBe(false);
  await handout.getByLabel("With the answers").check();
  expect(await answers.allTextContents()).toEqual(words.stops.map(({ quiz }) => quiz!.answer));
  expect(await answers.first().isVisible()).toBe(true);
  await page.pdf({ format: "A4" });
  await page.mouse.wheel(0, 5000);
  await handout.getByRole("button", { name: "Close" }).click();
  expect(await page.evaluate(() => document.activeElement!.matches("#lecture h2"))).toBe(true);
  await lab.frames(page);
  await arrived(words, 2, page);
  await page.close();
});

test("one handout is made at a time, and the theme stays", async () => {
  const [, matrices] = LECTURES as [Lecture, Lecture];
  const page = await at(matrices, 1);
  await page.emulateMedia({ reducedMotion: "reduce" });
  await panel(page).getByRole("button", { name: "Handout to print" }).dblclick();
  expect(await panel(page).getByRole("button", { name: "Handout to print" }).isDisabled()).toBe(true);
  await page.locator("#handout").waitFor();
  await lab.frames(page);
  expect(await page.locator("#handout").count()).toBe(1);
  expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBeUndefined();
  await page.close();
});

test("a handout that cannot be made can be tried again", async () => {
  const [, matrices] = LECTURES as [Lecture, Lecture];
  const page = await at(matrices, 1);
  await page.route("**/assets/handout-*.js", (route) => route.abort());
  await panel(page).getByRole("button", { name: "Handout to print" }).click();
  await panel(page).getByText("It could not be drawn").waitFor();
  expect(await panel(page).getByRole("button", { name: "Handout to print" }).isEnabled()).toBe(true);
  await page.close();
});

test("a visitor’s own list keeps figures in the order of the visitor, after a reload too", async () => {
  const page = await lab.open();
  const add = async (place: string) => {
    await lab.enter(place, page);
    await page.getByRole("button", { name: "Lectures" }).click();
    await page.getByRole("button", { name: "Add what is shown now" }).click();
    await page.locator(".own-list li").last().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  };
  await add("masks?queries=5");
  await add("flash?length=8");
  await lab.enter("matrix", page);
  await page.getByRole("button", { name: "Lectures" }).click();
  await page.getByRole("dialog").waitFor();
  const list = page.locator(".own-list li a");
  expect(await list.count()).toBe(2);
  expect(await lab.axe(page)).toEqual([]);
  const [masks, flash] = await list.allTextContents();
  await page.getByRole("button", { name: `Move “${flash}” up` }).click();
  expect(await list.allTextContents()).toEqual([flash, masks]);
  const focused = () => page.evaluate(() => document.activeElement!.ariaLabel ?? document.activeElement!.textContent);
  expect(await focused()).toBe(`Remove “${flash}”`);
  await list.first().click();
  await lab.ready("flash", page);
  await page.waitForFunction(() => location.hash === "#/flash?length=8&lecture=own-1");
  await page.locator("#lecture").getByText("Your own list, 1 of 2").waitFor();
  await page.keyboard.press("ArrowRight");
  await lab.ready("masks", page);
  await page.waitForFunction(() => location.hash === "#/masks?queries=5&lecture=own-2");
  await page.getByRole("button", { name: "Lectures" }).click();
  await page.getByRole("button", { name: `Remove “${flash}”` }).click();
  expect(await list.allTextContents()).toEqual([masks]);
  expect(await focused()).toBe(`Remove “${masks}”`);
  await page.getByRole("button", { name: `Remove “${masks}”` }).press("Enter");
  expect(await focused()).toBe("Add what is shown now");
  await page.close();
});

test.each([
  [
    "full",
    () => {
      Storage.prototype.setItem = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    },
  ],
  ["denied", () => Object.defineProperty(window, "localStorage", { get() { throw new DOMException("denied", "SecurityError"); } })], // oxfmt-ignore
])(
  "a list that the browser does not store, because storage is %s, holds until the page is closed, and says so",
  async (_, spoil) => {
    const page = await lab.open();
    await lab.enter("masks?queries=5", page);
    await page.evaluate(spoil);
    await page.getByRole("button", { name: "Lectures" }).click();
    await page.getByRole("button", { name: "Add what is shown now" }).click();
    expect(await page.locator(".own-list li").count()).toBe(1);
    await page.getByText("This browser does not store your list.").waitFor();
    await page.getByRole("button", { name: "Add what is shown now" }).click();
    expect(await page.locator(".own-list li").count()).toBe(2);
    await page.close();
  },
);

test("a list that another tab changes is shown as it is: a stop that is removed is the one that is named", async () => {
  const context = await lab.browser.newContext();
  const [one, two] = [await context.newPage(), await context.newPage()];
  const open = async (page: Page, place: string) => {
    await lab.enter(place, page);
    await page.getByRole("button", { name: "Lectures" }).click();
  };
  const add = (page: Page) => page.getByRole("button", { name: "Add what is shown now" }).click();
  await open(one, "masks");
  await add(one);
  await open(two, "flash");
  await add(two);
  await two.getByRole("button", { name: /^Move/ }).last().click();
  await one.locator(".own-list li").nth(1).waitFor();
  const links = (page: Page) => page.locator(".own-list li a").allTextContents();
  const [first, second] = await links(two);
  expect(await links(one)).toEqual([first, second]);
  await one.getByRole("button", { name: `Remove “${first}”` }).click();
  expect(await links(one)).toEqual([second]);
  await context.close();
});

test("who leaves a lecture by keyboard is in the room; its arrow keys move in a table of numbers", async () => {
  const [, matrices] = LECTURES as [Lecture, Lecture];
  const page = await at(matrices, 1);
  const { hash } = new URL(page.url());
  const cell = (await page.$("td[tabindex='0']"))!;
  await cell.focus();
  await page.keyboard.press("ArrowRight");
  expect(await page.evaluate(() => document.activeElement!.tagName)).toBe("TD");
  expect(await cell.evaluate((node) => node !== document.activeElement)).toBe(true);
  expect(new URL(page.url()).hash).toBe(hash);
  await panel(page).getByRole("button", { name: "Leave the lecture" }).press("Enter");
  expect(await page.evaluate(() => document.activeElement!.id)).toBe("main");
  await page.close();
});

test("an address of a stop that is not there says so", async () => {
  const page = await lab.open();
  await lab.enter("masks?lecture=own-7", page);
  await panel(page).getByText("There is no stop “own-7”").waitFor();
  await panel(page).getByRole("button", { name: "Leave the lecture" }).click();
  expect(await panel(page).isVisible()).toBe(false);
  await page.close();
});
