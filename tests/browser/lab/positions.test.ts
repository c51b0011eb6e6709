import { describe, expect, test } from "@jest/globals";

import { calculate, type Calculation } from "../../../web/demo/lab/rooms/positions/calculation.js";
import { HANDS } from "../../../web/demo/lab/rooms/positions/handmade.js";
import { type Computer } from "../../../web/demo/lab/rooms/positions/placing.js";
import { fields, settled, type Settings } from "../../../web/demo/lab/rooms/positions/settings.js";
import {
  addedWords,
  beginning,
  curvesWords,
  finding,
  handWords,
  planeWords,
  splitting,
  waveWords,
} from "../../../web/demo/lab/rooms/positions/words.js";
import { State } from "../../../web/demo/lab/shell/state.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();
const settingsOf = (changes: Partial<Settings>) => settled({ ...new State(fields).values, ...changes });
const calculated = (settings: Settings) => calculate(lab.hw as unknown as Computer, settings);

/** The numbers of all maps of the room, in order. */
const allMaps = () =>
  lab.page
    .locator("attention-map")
    .evaluateAll((maps) => maps.map((map) => [...(map as unknown as { probs: { data: Float32Array } }).probs.data]));
const card = (title: string) => lab.page.locator(".card", { hasText: title });

/** The sentences of the room as they are shown. Those of computed numbers may differ in the last digit. */
const digits = (text: string) => text.replaceAll(/\d+\.\d+/g, "#").replaceAll(/\s+/g, " ");
async function expectSentences(found: Calculation, settings: Settings): Promise<void> {
  const shown = await lab.page.locator("[data-room=positions]").innerText();
  for (const sentence of [
    finding(found, settings),
    splitting(settings),
    beginning(found, settings),
    curvesWords(found, settings),
    addedWords(found, settings),
    waveWords(settings),
    planeWords(found, settings),
    handWords(found, settings),
  ])
    expect(digits(shown)).toContain(digits(sentence));
}

test.each(["learned", "sinusoidal", "rotary"] as const)(
  "positions, %s: the room draws and says what the package computes in Node",
  async (kind) => {
    const settings = settingsOf({ kind, words: "the park by the park" });
    const found = await calculated(settings);
    await lab.enter(`positions?kind=${kind}&words=the+park+by+the+park`);
    const [plain, placed, hands] = await allMaps();
    expectClose(plain!, found.plain);
    expectClose(placed!, found.placed);
    expectClose(hands!, found.hands);
    await expectSentences(found, settings);
  },
);

describe("the room as it opens", () => {
  test("shows park and park without and with positions, and says what is random", async () => {
    const settings = settingsOf({});
    await lab.enter("positions");
    await expectSentences(await calculated(settings), settings);
    expect(await lab.page.textContent(".main-finding")).toMatch(/^Without positions the rows of “park₄” and “park₉” are the same/); // oxfmt-ignore
    expect(await lab.page.textContent(".random")).toMatch(/^Random numbers stand for/);
    const top = async (selector: string) => (await lab.page.locator(selector).boundingBox())!.y;
    expect(await top(".random")).toBeLessThan(await top(".stage")); // before the numbers that it is about
    const [without, withThem] = await Promise.all(
      ["Without positions", "With sinusoidal positions"].map((title) => card(title).first().boundingBox()),
    );
    expect(without!.y).toBe(withThem!.y); // side by side
  });

  test("fits a phone without clipped formulas, and axe finds nothing in it", async () => {
    await lab.page.setViewportSize({ width: 390, height: 844 });
    await lab.enter("positions");
    const clipped = await lab.page
      .locator(".formula, .card, .main-finding")
      .evaluateAll((parts) =>
        parts.filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.textContent.slice(0, 60)),
      );
    expect(clipped).toEqual([]);
    expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(await lab.axe()).toEqual([]);
    await lab.page.setViewportSize({ width: 1280, height: 900 });
  });
});

describe("what can be touched", () => {
  test("the sliders of words end at the last word, show its name, and do not stay beyond it", async () => {
    await lab.enter("positions?query=12&key=10&words=one+two+three");
    const slider = lab.page.locator("[data-field=query]");
    expect([await slider.getAttribute("max"), await slider.inputValue()]).toEqual(["2", "2"]);
    expect(await slider.getAttribute("aria-valuetext")).toBe("three");
    await lab.page.waitForFunction(() => location.hash.includes("query=3"));
    await slider.fill("0");
    await lab.page.getByText("The query of “one” at place 21").waitFor();
    await lab.page.getByLabel("Words, some of them twice").fill("four");
    await lab.page.getByText("The query of “four” at place 21").waitFor();
    expect(await slider.isDisabled()).toBe(true);
  });

  test("a head made by hand is chosen by its name or in the map", async () => {
    await lab.enter("positions");
    for (const [hand, words] of [
      ["first", "Every word looks most at the first one"],
      ["itself", "Every word looks most at itself"],
      ["back", "Every word after the first looks most at the word before it"],
    ] as const) {
      await lab.page.locator(`input[value=${hand}]`).check({ force: true });
      await lab.page.getByText(words).waitFor();
    }
    const map = lab.page.locator("attention-map").last();
    await map.getByRole("radio", { name: "itself" }).click();
    await lab.page.getByText("Every word looks most at itself").waitFor();
    expect(await lab.page.locator("input[value=itself]").isChecked()).toBe(true);
    expect(HANDS).toHaveLength(await map.getByRole("radio").count());
  });

  test("the frames in the table are the chosen pair and the places of the text", async () => {
    await lab.enter("positions?pair=4&offset=10&words=one+two");
    const rims = await lab.page
      .locator(".heat-grid .rim")
      .evaluateAll((all) =>
        all.map((rim) => ["x", "y", "width", "height"].map((name) => Number(rim.getAttribute(name)))),
      );
    expect(rims).toEqual([
      [0, 60, 480, 20],
      [66, 0, 12, 160],
    ]);
  });

  test("compares all its maps with double precision", async () => {
    await lab.enter("positions?kind=rotary");
    await lab.compare();
    const verdict = lab.page.getByText("Against the definition in double precision");
    await verdict.waitFor();
    const text = await verdict.textContent();
    for (const name of ["without positions", "rotary", "hand-made"]) expect(text).toContain(`probabilities (${name})`);
  });
});

test("the names of matrices have their letter as an index", async () => {
  await lab.enter("positions");
  expect(await lab.page.locator("main").innerText()).not.toMatch(/[A-Z]_[A-Z]/);
  expect(await lab.page.locator(".hint sub").allTextContents()).toEqual(["Q", "Q"]);
});

test("no more of a text is shown than its address is read with", async () => {
  await lab.enter("positions");
  const words = lab.page.getByLabel("Words, some of them twice");
  await words.fill("a ".repeat(300));
  expect(await words.inputValue()).toBe("a ".repeat(100));
  await words.press("End");
  await words.press("b");
  expect(await words.inputValue()).toBe("a ".repeat(100));
  await lab.ready("positions");
  const shown = await lab.page.locator(".main-finding").textContent();
  await lab.page.reload();
  await lab.ready("positions");
  expect(await lab.page.locator(".main-finding").textContent()).toBe(shown);
});
