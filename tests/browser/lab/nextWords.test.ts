// The bars of next words in the room Your model: a click on one asks which heads bring it.

import { describe, expect, test } from "@jest/globals";
import { random } from "headwise/train";

import { ReadModel } from "../../../web/demo/lab/engine/readModel.js";
import { EXAMPLE_TEXT } from "../../../web/demo/lab/rooms/tensors/model/settings.js";
import { effectsOf, type HeadEffect } from "../../../web/demo/lab/rooms/tensors/model/studyWords.js";
import { gpt2Files } from "../../../web/demo/train/gpt2Files.js";
import { initialParameters } from "../../../web/demo/train/model.js";
import { REPEAT_CHARACTERS } from "../../../web/demo/train/repeat.js";
import { exampleFiles } from "../../lab/exampleModel.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, type Files } from "../../web/smallModels.js";
import { placeName } from "../../../web/demo/lab/shell/headPlace.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();
const PHONE = { width: 390, height: 844 };
const words = () => lab.page.locator(".effect-bars button");
/** The cell of the last head, once it has its number. */
const lastCell = () => cells().last().and(lab.page.locator(":not(:empty)"));
const cells = () => lab.page.locator(".effect-grid button");
const brings = (word: string) => lab.page.locator(".finding", { hasText: new RegExp(`brings “${word}”`) });
const width = (name: string) =>
  words()
    .first()
    .locator("i")
    .evaluate((bar: HTMLElement, part) => Number.parseFloat(bar.style.getPropertyValue(part)), name);

/** What each head of the example adds to the log-odds of its likeliest next token, computed in Node. */
async function wantedEffects(): Promise<HeadEffect[]> {
  const model = await ReadModel.open(lab.hw, exampleFiles());
  const order = { input: { text: EXAMPLE_TEXT }, at: undefined, changes: [], word: undefined, threshold: 0.5 };
  const { effect } = await model.see(order);
  if (effect.kind !== "prediction") throw new Error("a GPT-2 predicts tokens");
  let effects: HeadEffect[] = [];
  for await (const study of model.study({ ...order, word: effect.candidates[0]!.token })) effects = effectsOf(study);
  model.dispose();
  return effects;
}

async function load(files: Files): Promise<void> {
  const given = Object.entries(files).map(([name, bytes]) => ({ name, mimeType: "", buffer: Buffer.from(bytes) }));
  await lab.page.setInputFiles("#model-files", given);
  await lab.page.getByRole("button", { name: "Load the model" }).click();
  await lab.page.locator(".main-finding", { hasText: /after “.*” the (model expects|probability of)/i }).waitFor();
}

/**
 * In the page: notes how many heads have been tried, for each question. After the first heads of the first question it clicks
 * the second word, and after the first heads of that one it switches a head off.
 */
function triedHeads(): Promise<{ title: string; counts: number[] }[]> {
  const found: { title: string; counts: number[] }[] = [];
  const click = (selector: string) => document.querySelector<HTMLElement>(selector)!.click();
  return new Promise((resolve) => {
    const look = () => {
      const progress = document.querySelector<HTMLProgressElement>(".card:has(.effect-grid) progress")!;
      const title = progress.closest(".card")!.querySelector("h2")!.textContent;
      if (!title) return;
      if (found.at(-1)?.title !== title) found.push({ title, counts: [] });
      const { counts } = found.at(-1)!;
      if (counts.at(-1) === progress.value) return;
      counts.push(progress.value);
      if (counts.length === 2)
        click(found.length === 1 ? ".effect-bars li:nth-child(2) button" : "[data-effect='1.1']");
      if (progress.value === progress.max) resolve(found);
    };
    new MutationObserver(look).observe(document.querySelector("main")!, {
      ...{ subtree: true, childList: true, characterData: true, attributes: true },
    });
  });
}

describe("Next words", () => {
  test("are buttons that a finger meets, on a phone too", async () => {
    await lab.enter("tensors");
    for (const size of [{ width: 1280, height: 900 }, PHONE]) {
      await lab.page.setViewportSize(size);
      const heights = await words().evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().height));
      expect(heights).toHaveLength(10);
      expect(Math.min(...heights)).toBeGreaterThanOrEqual(24);
    }
    expect(await lab.page.locator(".effect-bars [aria-pressed=true]").count()).toBe(0);
    expect(await lab.page.getByRole("heading", { name: /^Which heads bring/ }).count()).toBe(0);
    await lab.page.setViewportSize({ width: 1280, height: 900 });
  });

  test("a click on one shows what each head adds to it, and a click on the strongest head lowers its bar", async () => {
    await words().first().click();
    await brings("L").waitFor();
    expect(await words().first().getAttribute("aria-pressed")).toBe("true");
    const wanted = await wantedEffects();
    const found = (await cells().allTextContents()).map((text) => Number(text.replace("−", "-")));
    expect(found).toHaveLength(8);
    // One decimal is shown.
    found.forEach((number, n) => expect(Math.abs(number - wanted[n]!.effect)).toBeLessThan(0.051));

    const strongest = wanted.reduce((best, each) => (each.effect > best.effect ? each : best));
    const name = `Layer ${strongest.layer} head ${strongest.head + 1}`;
    expect(await brings("L").textContent()).toMatch(
      new RegExp(`^${name} brings “L”: without this head its probability`),
    );
    await lab.page.locator(`[data-effect="${placeName(strongest)}"]`).click();
    await lab.page.locator(".main-finding", { hasText: `${name} is off: ` }).waitFor();
    expect(await width("--now")).toBeLessThan((await width("--before")) - 1);
    expect(await width("--now")).toBeCloseTo(100 * strongest.without, 0);
    expect(await lab.page.locator(".effect-grid [aria-pressed=true]").count()).toBe(1);
    expect(await lab.page.getByLabel(`${name.toLowerCase()} is on`).isChecked()).toBe(false);
    expect(await lab.axe()).toEqual([]);
  });

  test("the address keeps the word and the heads that are off", async () => {
    const address = await lab.page.evaluate(() => location.hash.slice(2));
    const numbers = await cells().allTextContents();
    await lab.enter(address);
    await brings("L").waitFor();
    expect(await cells().allTextContents()).toEqual(numbers);
    expect(await lab.page.locator(".effect-grid [aria-pressed=true]").count()).toBe(1);
  });

  test("the keyboard asks, goes from head to head, switches one off, and asks no more", async () => {
    await lab.enter("tensors");
    const { keyboard } = lab.page;
    await words().nth(1).focus();
    await keyboard.press("Enter");
    await lab.page.locator(".effect-bars button:focus[aria-pressed=true]").waitFor();
    await lastCell().waitFor();
    await cells().first().focus();
    for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"]) await keyboard.press(key);
    expect(await lab.page.evaluate(() => (document.activeElement as HTMLElement).dataset["effect"])).toBe("1.3");
    expect(await lab.page.locator(".effect-grid [tabindex='0']").count()).toBe(1);
    await keyboard.press("Space");
    await lab.page.locator(".main-finding", { hasText: /^Layer 1 head 3 is off/ }).waitFor();
    await lab.page.locator(".effect-bars button[aria-pressed=true]").focus();
    await keyboard.press("Enter");
    await lab.page.locator(".effect-bars button:focus[aria-pressed=false]").waitFor();
    expect(await lab.page.getByRole("heading", { name: /^Which heads bring/ }).count()).toBe(0);
  });

  test("another text asks about the same word again", async () => {
    await lab.enter("tensors");
    await words().first().click();
    await brings("L").waitFor();
    const numbers = await cells().allTextContents();
    await lab.page.getByLabel("Text", { exact: true }).fill("LQWERTYLQWERTY");
    await lab.page.locator(".main-finding", { hasText: /^After “Y” the model expects “L”/ }).waitFor();
    await brings("L").waitFor();
    expect(await cells().allTextContents()).not.toEqual(numbers);
  });
});

describe("A model with 144 heads", () => {
  const sizes = { vocabulary: REPEAT_CHARACTERS.count, width: 48, layers: 12, heads: 12, length: 32 };
  const parameters = initialParameters({ ...sizes, position: "learned", feedForward: 0 }, random(5), 0.3);

  test("tells how many heads have been tried; another click ends the study, a head that is switched off does not", async () => {
    await lab.enter("tensors");
    await load(gpt2Files(parameters, { heads: 12, length: 32, characters: REPEAT_CHARACTERS }));
    const [first, second] = (await lab.page.locator(".effect-bars b").allTextContents()) as [string, string];
    const tried = lab.page.evaluate(triedHeads);
    await words().first().click();
    const found = await tried;
    expect(found.map(({ title }) => title)).toEqual([first, second].map((word) => `Which heads bring “${word}”?`));
    const [ended, done] = found.map(({ counts }) => counts) as [number[], number[]];
    expect(Math.max(...ended)).toBeLessThan(144);
    expect(done).toEqual(done.toSorted((a, b) => a - b)); // it has not begun anew
    await lab.page.locator(".main-finding", { hasText: /^Layer 1 head 1 is off/ }).waitFor();
    expect(await cells().count()).toBe(144);
    expect(await lab.page.locator(".effect-grid button:empty").count()).toBe(0);
    expect(await lab.page.locator(".effect-grid [aria-pressed=true]").count()).toBe(1);
  });

  test("has its table in a place that scrolls by itself on a phone", async () => {
    await lab.page.setViewportSize(PHONE);
    await lab.frames();
    expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
    const isWider = await lab.page
      .locator(".scroll:has(.effect-grid)")
      .evaluate((node) => node.scrollWidth > node.clientWidth);
    expect(isWider).toBe(true);
    const sides = await cells().evaluateAll((all) =>
      all.map((cell) => cell.getBoundingClientRect()).map((box) => Math.min(box.width, box.height)),
    );
    expect(Math.min(...sides)).toBeGreaterThanOrEqual(24);
    expect(await lab.axe()).toEqual([]);
    await lab.page.setViewportSize({ width: 1280, height: 900 });
  });

  test("is another model: the word of the one before is not asked about", async () => {
    await load(filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"))));
    expect(await lab.page.locator(".effect-bars [aria-pressed=true]").count()).toBe(0);
    await lab.page.waitForFunction(() => !location.hash.includes("word")); // written a moment later
  });

  test("asks about the word again after numbers that it could not read", async () => {
    await words().first().click();
    await lastCell().waitFor();
    const numbers = lab.page.getByLabel("Numbers of tokens (none: random ones that are repeated)");
    await numbers.fill("1 2 99");
    await lab.page.getByText(/This did not work: model\.run: tokens\[2\]/).waitFor();
    expect(await cells().first().isVisible()).toBe(false);
    await numbers.fill("1 2 3");
    await lastCell().waitFor();
    expect(await lab.page.locator(".effect-bars [aria-pressed=true]").count()).toBe(1);
    expect(await lab.page.getByText("This did not work").count()).toBe(0);
  });
});
