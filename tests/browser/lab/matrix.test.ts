import { describe, expect, test } from "@jest/globals";
import type { ForwardOptions, LayerOptions } from "headwise";

import type { Engine } from "../../../web/demo/lab/engine/engine.js";
import type { Floats } from "../../../web/demo/lab/engine/floats.js";
import { calculate } from "../../../web/demo/lab/rooms/matrix/calculation.js";
import { fields, headOf, inputsOf } from "../../../web/demo/lab/rooms/matrix/settings.js";
import { STOPS, VARIANCE_STOP } from "../../../web/demo/lab/rooms/matrix/stops.js";
import { transposed, type Matrix } from "../../../web/demo/lab/shell/matrix.js";
import { State } from "../../../web/demo/lab/shell/state.js";
import { COLOURS, LabPage } from "./labPage.js";

const lab = new LabPage();

/** The package in Node, with the engine's methods that the room calls. */
const engine = {
  async forward(options: LayerOptions, x: Floats, call: ForwardOptions) {
    const layer = await lab.hw.multiHeadAttention(options);
    return layer.forward(x, call).finally(() => layer.dispose());
  },
} as unknown as Engine;

const sentences = () => lab.page.locator(".said").first().textContent();
const table = (name: string) => lab.page.getByRole("table", { name, exact: true });
const lit = (name: string) => table(name).locator("td.marked").count();
const changed = (name: string) => table(name).locator("td.changed").count();

describe("what is said is what is shown", () => {
  test("in column form one head's weights are the same numbers wherever they stand", async () => {
    await lab.enter("matrix?form=columns&causal=true");
    const [shown, inHeads, beside] = [
      await lab.tableNumbers("weights P"),
      await lab.tableNumbers("P of head 1"),
      await lab.tableNumbers("P, as columns"),
    ];
    expect(shown).toHaveLength(25);
    expect(inHeads).toEqual(shown);
    expect(beside).toEqual(shown);
  });

  test("no sentence says that every row sums to 1 beside an empty row", async () => {
    await lab.enter("matrix?causal=true&excludeSelf=true");
    const said = await sentences();
    expect(said).not.toMatch(/Every row of (P|queries) sums to 1/);
    expect(said).toContain("“my” sees nothing: its row of P is all 0. Every other row sums to 1.");
  });

  test("the formulas of the column form have one notation", async () => {
    await lab.enter("matrix?form=columns");
    const formulas = (await lab.page.locator(".formula annotation").allTextContents()).join(" ");
    for (const part of ["p_{ji}", "s_{ji}", "K^{\\mathsf T} Q", "softmax by columns", "V P"])
      expect(formulas).toContain(part);
    expect(formulas).not.toMatch(/[ps]_\{ij\}/);
  });

  test.each(["", "form=columns&"])("no formula has a scale or a softmax that is off: %s", async (form) => {
    await lab.enter(`matrix?${form}scale=false&softmax=false`);
    const formulas = (await lab.page.locator(".diagram .formula annotation").allTextContents()).join(" ");
    expect(formulas).not.toMatch(/sqrt|softmax|e\^/);
    expect((await lab.page.locator(".stage").textContent())!).not.toContain("a softmax of its own");
  });

  test.each([
    ["numHeads=2&form=columns", 2],
    ["numHeads=3&softmax=false", 3],
    ["causal=true&excludeSelf=true&scale=false&bias=false", 2],
  ])(
    "the comparison with double precision takes all heads and what follows, in both forms: %s",
    async (query, heads) => {
      await lab.enter(`matrix?${query}`);
      await lab.compare();
      const said = await lab.page.locator(".verdict", { hasText: "Against the definition" }).textContent();
      expect(said).toContain(`scores: ${2 * 2 * heads * 25} numbers`);
      expect(said).toContain(`weights: ${2 * heads * 25} numbers`);
      expect(said).toContain(`Y: ${2 * 5 * heads * 4} numbers`);
      expect(said).toContain(`output: ${2 * 5 * 7} numbers`);
      for (const [, apart] of said!.matchAll(/at most (\S+) apart/g)) expect(Number(apart)).toBeLessThan(1e-5);
    },
  );
});

test.each([
  "",
  "form=columns&causal=true",
  "numHeads=3&head=3&excludeSelf=true&scale=false",
  "softmax=false&headDim=1",
])("matrix, %s: the room shows what the package computes in Node", async (query) => {
  const { values } = new State(fields, new URLSearchParams(query));
  const inputs = inputsOf(values);
  const steps = await calculate(engine, inputs, values.form);
  await lab.enter(`matrix?${query}`);
  const near = async (name: string, wanted: Matrix) => {
    const { data } = values.form === "columns" ? transposed(wanted) : wanted;
    const found = await lab.tableNumbers(name);
    expect(found).toHaveLength(data.length);
    data.forEach((value, i) => expect(Math.abs(found[i]! - value)).toBeLessThanOrEqual(0.00501));
  };
  const { raw, weights } = steps.heads[headOf(values)]!;
  await near("scores", raw);
  await near("weights P", weights);
  await near("Y", steps.y);
  await near("output", steps.out);
});

/** The numbers of X, which stand in fields. */
const typed = () =>
  table("X")
    .locator("input")
    .evaluateAll((inputs) => inputs.map((input) => Number((input as HTMLInputElement).value.replace("−", "-"))));

test("days of a time series and patches of an image are X, are drawn, and are named in sentences and tables", async () => {
  await lab.enter("matrix?x=9 9");
  const card = lab.page.getByRole("group", { name: "What X holds" });
  expect(await card.locator("svg").count()).toBe(0);
  await card.getByRole("radio", { name: "words" }).focus();
  await lab.page.keyboard.press("ArrowDown");
  await card.getByRole("img", { name: "Curves of temperature, wind, rain over 6 days" }).waitFor();
  await lab.ready("matrix");
  expect((await typed()).slice(0, 6)).toEqual([0.5, -0.5, 0, 1, -0.5, 0]);
  expect(await lab.page.textContent(".main-finding")).toMatch(/“(Mon|Tue|Wed|Thu|Fri|Sat)”/);
  expect(await card.textContent()).toContain("A row of X is a moment");
  await card.getByText("patches of an image", { exact: true }).click();
  await card.getByRole("img", { name: "An image in 6 patches of 2 × 2 pixels" }).waitFor();
  await lab.ready("matrix");
  expect(await typed()).toHaveLength(24);
  expect(await lab.page.textContent(".main-finding")).toMatch(/“[A-F]”/);
  const pixel = card.locator("svg rect").first();
  expect(await pixel.getAttribute("style")).toBe("fill: rgb(128 128 128)");
  await table("X").locator("input").first().fill("1");
  await lab.page.keyboard.press("Enter");
  await card.locator('svg rect[style="fill: rgb(255 255 255)"]').nth(4).waitFor();
  await card.getByText("words", { exact: true }).click();
  await card.locator("svg").waitFor({ state: "detached" });
  await lab.ready("matrix");
  expect(await typed()).toHaveLength(35);
  await lab.page.waitForFunction(() => !/source|x=/.test(location.hash)); // written a moment later
});

test("pointing at a number lights the row and the column that made it, and says how", async () => {
  await lab.enter("matrix");
  await table("Q").locator("tbody tr").nth(1).locator("td").nth(0).hover();
  expect([await lit("X"), await lit("W_Q"), await lit("b_Q"), await lit("Q")]).toEqual([7, 7, 1, 1]);
  await lab.page.getByText(/^Row “phone” of X times column 1 of WQ: .*\(bQ\) = −0\.75\.$/).waitFor();
  await table("scores").locator("td").first().focus();
  await lab.page.keyboard.press("ArrowDown");
  expect([await lit("Q₁"), await lit("K₁ᵀ"), await lit("Q"), await lit("K"), await lit("X")]).toEqual([3, 3, 3, 3, 0]);
  await lab.page.getByText(/^Row “phone” of Q₁ times column “my” of K₁ᵀ: /).waitFor();
  await lab.page.getByText("mixtures", { exact: true }).click();
  await lab.ready("matrix");
  // Query "phone" is (−0.75, 0, 1.75): two of the three rows of K₁ᵀ are mixed.
  expect([await lit("scores"), await lit("K₁ᵀ")]).toEqual([5, 10]);
});

test("pointing at a number in rows lights it in columns", async () => {
  await lab.enter("matrix");
  await table("Y₁, as rows").locator("tbody tr").nth(1).locator("td").nth(3).hover();
  const marked = table("Y₁, as columns").locator("tbody tr").nth(3).locator("td").nth(1);
  expect(await marked.getAttribute("class")).toContain("marked");
  expect(await lit("Y₁, as columns")).toBe(1);
  expect([await lit("P, as columns"), await lit("V₁, as columns")]).toEqual([5, 5]);
});

test("an edit ripples downstream, is kept in the address, and survives a reload", async () => {
  await lab.page.emulateMedia({ reducedMotion: "no-preference" });
  await lab.enter("matrix");
  const input = lab.page.getByLabel("W_V, row 1, column 2", { exact: true });
  await input.fill("−7,5");
  await lab.page.waitForFunction(() => location.hash.includes("wv="));
  await table("output").locator("td.changed").first().waitFor();
  expect([await changed("W_V"), await changed("Q"), await changed("weights P")]).toEqual([1, 0, 0]);
  // Feature 1 of X is 0 for the token "RAM" only.
  expect(await changed("V")).toBe(4);
  expect(await changed("Y₁")).toBe(5);
  const waves = await lab.page.$$eval("td.changed", (cells) =>
    cells.map(
      (cell) =>
        [cell.closest("table")!.ariaLabel!, Number((cell as HTMLElement).style.getPropertyValue("--wave"))] as const,
    ),
  );
  const wave = Object.fromEntries(waves);
  const order = ["W_V", "V", "Y₁", "Y", "output"].map((name) => wave[name]!);
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(new Set(order).size).toBe(order.length);
  const before = await lab.tableNumbers("output");
  await lab.page.reload();
  await lab.ready("matrix");
  expect(await lab.tableNumbers("output")).toEqual(before);
  expect(await lab.page.getByLabel("W_V, row 1, column 2", { exact: true }).inputValue()).toBe("−7.5");
});

test.each(["rows", "columns"])("a table is pasted where it is seen, and counts as one change: %s", async (form) => {
  await lab.enter(`matrix?form=${form}`);
  const paste = (label: string, text: string) =>
    lab.page.getByLabel(label, { exact: true }).evaluate((input, words) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", words);
      input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, text);
  const value = (row: number, column: number) =>
    lab.page.getByLabel(`X, row ${row}, column ${column}`, { exact: true }).inputValue();
  const kept = await value(1, 2);
  await paste("X, row 2, column 2", "[[1, 2, 3], [4.25, 5, 6]]");
  await lab.page.waitForFunction(() => location.hash.includes("x="));
  await lab.ready("matrix");
  expect([await value(2, 2), await value(2, 4), await value(3, 2), await value(1, 2)]).toEqual([
    "1",
    "3",
    "4.25",
    kept,
  ]);
});

describe("on a phone", () => {
  test("the room is a way of steps, each of few screens, and its numbers are large enough for a finger", async () => {
    const page = await lab.browser.newPage({ viewport: { width: 390, height: 844 }, hasTouch: true });
    await lab.enter("matrix", page);
    const names: string[] = [];
    for (let stop = 1; stop <= STOPS; stop++) {
      const { step, height, small } = await page.evaluate(() => ({
        step: document.querySelector<HTMLSelectElement>(".stepper select")!.selectedOptions[0]!.text,
        height: document.documentElement.scrollHeight,
        small: [...document.querySelectorAll(".numbers td[tabindex], .numbers input, .stepper > *")]
          .filter((node) => node.checkVisibility())
          .map((node) => node.getBoundingClientRect())
          .filter((box) => box.width < 43.9 || box.height < 43.9).length,
      }));
      names.push(step);
      expect([step, small, height < 3200]).toEqual([step, 0, true]);
      // A wide screen has the same elements, and the tests below look at their colours there.
      expect(await lab.axe(page, stop === 1 ? undefined : "all but colours")).toEqual([]);
      if (stop === STOPS) break;
      await page.getByRole("button", { name: "Next", exact: true }).click();
      await lab.ready("matrix", page);
      // Sizes are observed once a frame.
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    }
    expect(new Set(names).size).toBe(STOPS);
    expect(await page.getByRole("button", { name: "Next", exact: true }).isDisabled()).toBe(true);
    expect(await page.evaluate(() => document.activeElement!.textContent)).toBe("Next"); // it keeps the focus
    await page.waitForFunction((stop) => location.hash.includes(`stop=${stop}`), STOPS);
    await page.getByLabel("Step", { exact: true }).selectOption({ index: VARIANCE_STOP - 1 });
    await page.getByRole("heading", { name: "Why 1/√D" }).waitFor(); // where the tour leads
    await page.close();
  });

  test("a wide screen and paper show everything", async () => {
    await lab.enter("matrix?stop=3");
    expect(await lab.page.locator(".stepper").isVisible()).toBe(false);
    expect(await table("output").isVisible()).toBe(true);
    await lab.page.emulateMedia({ media: "print" });
    await lab.page.setViewportSize({ width: 390, height: 844 });
    expect(await table("output").isVisible()).toBe(true);
    await lab.page.setViewportSize({ width: 1280, height: 900 });
    await lab.page.emulateMedia({ media: null });
  });
});

test("nothing moves with prefers-reduced-motion", async () => {
  await lab.page.emulateMedia({ reducedMotion: "reduce" });
  await lab.enter("matrix");
  await lab.page.getByLabel("X, row 1, column 1", { exact: true }).fill("3");
  await table("output").locator("td.changed").first().waitFor();
  expect(await lab.page.evaluate(() => document.getAnimations().length)).toBe(0);
});

test("what is no number is marked, and changes nothing", async () => {
  await lab.enter("matrix");
  const input = lab.page.getByLabel("X, row 1, column 1", { exact: true });
  for (const typed of ["abc", "1e3", "1000", ""]) {
    await input.fill(typed);
    expect(await input.getAttribute("aria-invalid")).toBe("true");
  }
  await input.press("ArrowDown");
  expect(await input.inputValue()).toBe("0.5");
  expect(lab.page.url()).not.toContain("x=");
});

test("a number of many decimals is kept, in the address too", async () => {
  await lab.enter("matrix");
  const input = lab.page.getByLabel("X, row 1, column 1", { exact: true });
  await input.fill("0.0000001");
  await lab.page.waitForFunction(() => location.hash.includes("x=1e-7"));
  await lab.ready("matrix");
  await input.press("ArrowDown");
  expect(await input.inputValue()).toBe("0");
  await lab.page.reload();
  await lab.ready("matrix");
  await input.focus();
  expect(await input.inputValue()).toBe("1e−7");
});

test("names of any length leave the matrix its place", async () => {
  await lab.enter(`matrix?names=${"x".repeat(399)}`);
  const widths = await lab.page.locator(".numbers th").evaluateAll((nodes) => nodes.map((node) => node.clientWidth));
  expect(Math.max(...widths)).toBeLessThan(200);
});

// The dark rows are those of the test of all rooms.
test.each([
  ["light", "causal=true"],
  ["light", "form=columns&reading=mixtures&softmax=false"],
  ["dark", "form=columns&reading=mixtures&softmax=false"],
] as const)("axe finds nothing to complain of in %s, %s", async (colorScheme, query) => {
  await lab.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await lab.enter(`matrix?${query}`);
  expect(await lab.axe(lab.page, colorScheme === "dark" ? COLOURS : undefined)).toEqual([]);
});
