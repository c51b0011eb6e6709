// Every room has its figure in the first window of a laptop. What comes after it is folded until something asks for it.

import { afterEach, beforeAll, describe, expect, test } from "@jest/globals";

import { LabPage, leave } from "./labPage.js";

const lab = new LabPage();
lab.staysFolded = true;
const WINDOW = { width: 1366, height: 768 };
/** The figure of each room, and what changes it. The figures of some rooms are higher than a window. */
const FIGURES = [
  ["lesson", ".scene-diagram", ".lesson-controls", "whole"],
  ["sentence", ".picture", ".panel", "whole"],
  ["matrix", ".diagram", ".matrix-controls", "most"],
  ["positions", ".halves", ".panel", "most"],
  ["masks", ".halves", ".presets", "most"],
  ["flash", ".halves .card", ".panel", "most"],
  ["train", ".run-columns", ".run-bar", "most"],
  ["generate", ".run-columns", ".run-bar", "most"],
  ["tensors", ".card", ".panel", "whole"],
  ["device", ".card", ".panel", "most"],
  ["bench", ".card", ".panel", "most"],
] as const;

beforeAll(() => lab.page.setViewportSize(WINDOW));

afterEach(() => lab.page.evaluate(() => sessionStorage.clear()));

const open = () => lab.page.locator(".stage details[open] > summary").allTextContents();

test.each(FIGURES)("the figure of the room %s lies in the first window", async (room, figure, controls, part) => {
  await lab.walk(room);
  await lab.page.evaluate(() => document.fonts.ready);
  await lab.frames();
  const [shown, touched] = await lab.page.evaluate(
    (places) =>
      places.map((place) => {
        const { top, height } = document.querySelector(`.stage ${place}`)!.getBoundingClientRect();
        return { top: top + scrollY, height };
      }),
    [figure, controls],
  );
  const seen = Math.min(shown!.height, WINDOW.height - shown!.top);
  expect(seen / Math.min(shown!.height, WINDOW.height)).toBeGreaterThan(part === "whole" ? 0.999 : 0.5);
  expect(touched!.top).toBeLessThan(WINDOW.height - 150);
  expect(await open()).toEqual([]);
});

describe("a folded card", () => {
  test("opens by the keyboard, and is still open when the visitor comes back, and after a reload", async () => {
    await lab.enter("matrix");
    const table = lab.page.locator("table.dictionary");
    expect(await table.isVisible()).toBe(false);
    await lab.page.locator("summary", { hasText: "A dictionary that softens" }).press("Enter");
    await table.waitFor();
    await lab.walk("flash");
    await lab.page.goBack();
    await lab.ready("matrix");
    await table.waitFor();
    expect(await open()).toEqual(["A dictionary that softens into attention"]);
    await lab.page.reload();
    await lab.ready("matrix");
    await table.waitFor();
  });

  test.each([
    ["matrix?dim=512", "Why 1/√D"],
    ["sentence?gains=1,1,0,1,1,1,1,1", "What if …"],
    ["sentence?show=scores", "Look closer"],
    ["generate?dtype=int8", "The cache of keys and values"],
    ["masks?rules=formulas&visible=k+%3C%3D+q", "Formulas"],
    ["flash?long=12", "What it costs, at length"],
    ["tensors?head=1.2", "Layer 1 head 2"],
  ])("is open if the address has a setting of it: %s", async (place, title) => {
    await lab.enter(place);
    await lab.page.waitForFunction(() => document.querySelector(".stage details[open]"));
    expect(await open()).toEqual([title]);
  });

  test("opens when a setting of it changes elsewhere, and not when what is open has that setting, too", async () => {
    await lab.enter("masks");
    await lab.page.getByRole("button", { name: "Prefix-LM" }).click();
    await lab.page.locator(".formulas[open]").waitFor();
    await lab.enter("positions");
    await lab.page.locator("[data-field=base]").first().press("ArrowLeft");
    await lab.page.waitForFunction(() => location.hash.includes("base="));
    expect(await open()).toEqual([]);
  });

  test("is a figure of its own in another page", async () => {
    await leave(lab.page, lab.url);
    await lab.page.goto(`${lab.url}?embed&card=4#/positions`);
    await lab.ready("positions");
    await lab.page.locator(".card[data-chosen] .sums").waitFor();
  });

  test("opens when it is chosen to be shared", async () => {
    await lab.enter("positions");
    await lab.page.getByRole("button", { name: "Share this figure" }).click();
    await lab.page.getByRole("dialog").getByRole("combobox").selectOption({ index: 4 });
    expect(await open()).toEqual(["Added: every place has its row"]);
  });
});

test("code and double precision are in one place", async () => {
  await lab.enter("flash");
  const [code, compare] = [
    lab.page.locator(".check pre"),
    lab.page.getByRole("button", { name: "Compare with double" }),
  ];
  expect([await code.isVisible(), await compare.isVisible()]).toEqual([false, false]);
  await lab.page.getByText("Check this", { exact: true }).click();
  expect(await code.innerText()).toContain('from "headwise"');
  await compare.click();
  await lab.page.locator(".verdict", { hasText: "Against the definition" }).waitFor();
});
