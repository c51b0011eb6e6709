import path from "node:path";
import { fileURLToPath } from "node:url";

import { beforeAll, describe, expect, test } from "@jest/globals";
import { type Page } from "playwright-core";

import { storedFiles } from "../../../web/demo/ahead/storedModel.js";
import { Encoder } from "../../../web/demo/model/encoder.js";
import { headsOf, rowOf } from "../../../web/demo/model/heads.js";
import { PARK, PHONE } from "../../../web/demo/model/story.js";
import { expectClose, LabPage } from "./labPage.js";

const MODEL = path.join(fileURLToPath(new URL("../../../", import.meta.url)), "dist-demo/model");
const SIZES = [
  { width: 1366, height: 768 },
  { width: 390, height: 844 },
];

const lab = new LabPage();
let encoder: Encoder;
beforeAll(async () => {
  encoder = await Encoder.load(lab.hw, storedFiles(MODEL));
});

/** Records what a page asks of the model's folder. */
function modelRequests(page: Page): string[] {
  const asked: string[] = [];
  page.on("request", (request) => {
    const [, file] = /\/model\/(.+)$/.exec(request.url()) ?? [];
    if (file) asked.push(file);
  });
  return asked;
}

/** The texts of a table's cells, row by row. */
const cellsOf = (page: Page, selector: string) =>
  page
    .locator(selector)
    .evaluate((table) => [...table.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent))); // oxfmt-ignore

const percents = (row: Float32Array) => Array.from(row, (prob) => String(Math.round(100 * prob)));

test("the sentence room computes what the package computes in Node, with and without changes", async () => {
  const probs = async (options: Parameters<Encoder["encode"]>[1]) =>
    (await encoder.encode(PARK, options)).layers.flatMap((layer) => [...layer.probs]);
  await lab.enter("sentence?show=weights");
  expectClose(await lab.mapNumbers(), await probs({}));
  await lab.enter("sentence?show=weights&gains=1,0,1,1,1.5,1,1,1&hidden=6&positions=false");
  const headGain = [
    [1, 0, 1, 1],
    [1.5, 1, 1, 1],
  ];
  expectClose(await lab.mapNumbers(), await probs({ positions: false, headGain, hiddenTokens: [5] }));
  expect(await lab.page.textContent(".effect")).toMatch(/cosine with the original is 0\.\d{4}/);
});

describe("the first screen", () => {
  test.each(SIZES)("shows the whole map at $width × $height, without the model", async (viewport) => {
    const context = await lab.browser.newContext({ viewport });
    const page = await context.newPage();
    const asked = modelRequests(page);
    await lab.enter("sentence", page);
    const map = page.locator(".picture .whole table");
    const box = (await map.boundingBox())!;
    expect(box.y).toBeGreaterThan(0);
    expect(box.y + box.height).toBeLessThanOrEqual(viewport.height);
    expect(box.x + box.width).toBeLessThanOrEqual(viewport.width);
    expect(asked).toEqual([]);
    await context.close();
  });

  test("its cells are the package's numbers: the map, and the two rows of “park” with positions and without", async () => {
    await lab.enter("sentence");
    const [placed, unplaced] = [await encoder.encode(PARK), await encoder.encode(PARK, { positions: false })];
    const [on, off] = [headsOf(placed)[0]!.probs, headsOf(unplaced)[0]!.probs];
    const map = await cellsOf(lab.page, ".whole table");
    expect(map).toEqual(placed.tokens.map((_, token) => percents(rowOf(on, token))));
    const rows = (await cellsOf(lab.page, ".twins table")).filter((row) => row.length > 0);
    expect(rows).toEqual([on, on, off, off].map((probs, i) => percents(rowOf(probs, [3, 8][i % 2]!))));
    expect(rows[2]).toEqual(rows[3]);
    expect(rows[0]).not.toEqual(rows[1]);
    expect(await lab.page.textContent("h1")).toBe("Which “park” is which?");
  });

  test("a number can be pointed at, or reached with the arrow keys, and both directions are said in sight", async () => {
    await lab.enter("sentence");
    await lab.page.hover('.whole td[data-row="5"][data-column="3"]');
    const reading = lab.page.locator(".reading");
    expect(await reading.textContent()).toMatch(
      /^“car” gives \d+\u00a0% of its attention to “park₄” \(score .+\)\. The other way/,
    );
    expect(await reading.evaluate((line) => line.getBoundingClientRect().bottom)).toBeLessThanOrEqual(900);
    await lab.page.focus(".whole td[data-row]");
    await lab.page.keyboard.press("ArrowDown");
    expect(await reading.textContent()).toMatch(/^“decided” gives \d+\u00a0% of its attention to “They”/);
  });
});

describe("the model", () => {
  test("is loaded when the visitor edits, with its progress in MB", async () => {
    const page = await lab.open();
    const asked = modelRequests(page);
    await lab.enter("sentence", page);
    await page.getByLabel("Tell the model where each word stands").click();
    await page.getByRole("button", { name: PHONE }).click();
    await page.getByRole("button", { name: "layer 2 head 3", exact: true }).first().click();
    await lab.ready("sentence", page);
    expect(asked).toEqual([]); // these numbers came with the page

    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    await page.route("**/model/weights-2*", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel("Sentences, one per line").fill("The bank lends money by the bank of the river.");
    await page.locator("#busy-amount", { hasText: /^\d+ of 13 MB$/ }).waitFor();
    expect(await lab.axe(page)).toEqual([]);
    goOn();
    await page.locator("h1", { hasText: "Which “bank” is which?" }).waitFor();
    expect(asked.filter((file) => file.startsWith("weights"))).toHaveLength(4);
    await page.close();
  });

  test("shows nothing nameless while it loads", async () => {
    const page = await lab.open();
    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    await page.route("**/model/weights-1*", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${lab.url}#/sentence?texts=Hello`);
    await page.locator("#busy-amount", { hasText: "MB" }).waitFor();
    expect(await lab.axe(page)).toEqual([]);
    expect(await page.locator("main input:visible").count()).toBe(1); // the switch for positions
    goOn();
    await lab.ready("sentence", page);
    await lab.unfold(page);
    expect(await page.locator("main input[type=checkbox]:visible").count()).toBe(9);
    await page.close();
  });

  test("that fails says which file and why, and another try works", async () => {
    const page = await lab.browser.newPage();
    let isBroken = true;
    await page.route("**/model/weights-3*", (route) =>
      isBroken ? route.fulfill({ status: 503, body: "" }) : route.continue(),
    );
    await page.goto(`${lab.url}#/sentence?texts=Hello`);
    await page.getByText(/the model’s file weights-3of4 could not be loaded: the server answered 503/).waitFor();
    const asked = modelRequests(page);
    isBroken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".whole table").waitFor();
    expect(await page.locator(".failure:visible").count()).toBe(0);
    expect(asked.filter((file) => file.startsWith("weights"))).toEqual(["weights-3of4"]);
    await page.close();
  });
});

test.each([400, 4000])("%d lines are no trouble, and the room says how many are read", async (count) => {
  await lab.enter("sentence");
  // As after pasting. Playwright's `fill` types, which Chromium does slowly for so many lines.
  await lab.page.getByLabel("Sentences, one per line").evaluate((area, lines) => {
    (area as HTMLTextAreaElement).value = Array.from({ length: lines }, (_, i) => `Line ${i}`).join("\n");
    area.dispatchEvent(new Event("input"));
  }, count);
  await lab.page.getByText(`The first 12 sentences of ${count} are read.`).waitFor();
  await lab.ready("sentence");
  expect(await lab.page.locator(".failure:visible").count()).toBe(0);
  expect(await lab.page.locator("table[aria-label=Cosines] tbody tr").count()).toBe(12);
});

test("a head that is switched off shows a map before, a map after, and where they differ", async () => {
  await lab.enter("sentence?head=2.1");
  expect(await lab.page.locator(".before-after table").count()).toBe(0);
  await lab.page.getByLabel("layer 1 head 2 is on").click();
  await lab.page.locator(".before-after table").nth(2).waitFor();
  const headGain = [
    [1, 0, 1, 1],
    [1, 1, 1, 1],
  ];
  const [before, after] = [await encoder.encode(PARK), await encoder.encode(PARK, { headGain })];
  const [was, is] = [headsOf(before)[4]!.probs, headsOf(after)[4]!.probs];
  const maps = [0, 1, 2].map((index) => cellsOf(lab.page, `.before-after table >> nth=${index}`));
  const rows = (map: Float32Array) => before.tokens.map((_, token) => percents(rowOf(map, token)));
  expect(await maps[0]).toEqual(rows(was));
  expect(await maps[1]).toEqual(rows(is));
  const differences = (await maps[2])!.flat().map((text) => Number(text.replace("−", "-")));
  differences.forEach((difference, i) => expect(Math.abs(difference - 100 * (is[i]! - was[i]!))).toBeLessThan(0.51));
  expect(Math.max(...differences)).toBeGreaterThan(0);
  expect(await lab.page.locator("h3", { hasText: "layer 2 head 1" }).count()).toBe(1);
});

test("“phone” and “RAM” have a score in each direction, side by side", async () => {
  await lab.enter("sentence");
  await lab.page.getByRole("button", { name: "phone and RAM" }).click();
  await lab.page.getByText("phone → RAM").waitFor();
  const { scores } = headsOf(await encoder.encode(PHONE))[0]!;
  const shown = await lab.page.locator(".direction b").allTextContents();
  const wanted = [rowOf(scores, 1)[4]!, rowOf(scores, 4)[1]!];
  shown.forEach((text, i) => expect(Math.abs(Number(text.replace("−", "-")) - wanted[i]!)).toBeLessThan(0.00501));
  expect(shown[0]).not.toBe(shown[1]);
});

test.each([
  ["one back", "layer 1 head 4"],
  ["at the first", "layer 1 head 1"],
  ["at itself", "layer 1 head 2"],
])("the visitor can jump to the head that looks most %s: %s", async (habit, head) => {
  await lab.enter("sentence?head=2.4");
  await lab.page.getByRole("button", { name: `${habit}: ${head}` }).click();
  await lab.page.locator(".picture small", { hasText: head }).waitFor();
  expect(
    await lab.page.locator(".habits").getByRole("button", { name: head, exact: true, pressed: true }).count(),
  ).toBe(1);
});

test.each([390, 1366])("no name and no row is cut, %i px wide", async (width) => {
  await lab.page.setViewportSize({ width, height: 844 });
  const text = encodeURIComponent("One example and another example, children.");
  for (const query of [`?texts=${text}`, ""]) {
    await lab.enter(`sentence${query}`);
    const cut = await lab.page.evaluate(() =>
      [...document.querySelectorAll(".weights th[scope=row], .weights th[scope=col] span, table.habits, .board th")]
        .filter((node) => node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1)
        .map((node) => node.textContent),
    );
    expect(cut).toEqual([]);
  }
  await lab.page.setViewportSize({ width: 1280, height: 900 });
});
