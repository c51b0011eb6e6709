import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { causalProbs, drawn, end, openElement, seenAt, told, WORDS, type VizWindow } from "./vizPage.js";

const SIZE = WORDS.length;
const PROBS = causalProbs(3, SIZE);
/** The links of these heads and queries whose weight is at least the threshold. */
const linksAbove = (threshold: number, heads: readonly number[], queries: readonly number[]) =>
  heads.flatMap((head) =>
    queries.flatMap((query) =>
      WORDS.flatMap((_, key) =>
        PROBS.data[(head * SIZE + query) * SIZE + key]! >= Math.max(threshold, 1e-9) ? [key] : [],
      ),
    ),
  ).length;
const ALL = [0, 1, 2, 3, 4, 5];

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => end(browser));

describe("the links", () => {
  let page: Page;
  let troubles: string[];
  let close: () => Promise<void>;
  beforeAll(async () => ({ page, troubles, close } = await openElement(browser, "attention-heads", PROBS)));
  afterAll(() => close());

  const query = (index: number) => page.locator("ul.query li").nth(index);
  const key = (index: number) => page.locator("ul.key li").nth(index);
  const readout = () => page.textContent("[part=readout]");
  /** The lines that the next frame draws. */
  const lines = () =>
    page.evaluate(async () => {
      const { heads } = window as unknown as VizWindow;
      // oxlint-disable-next-line typescript/unbound-method -- called with its canvas below
      const stroke = CanvasRenderingContext2D.prototype.stroke;
      let lines = 0;
      CanvasRenderingContext2D.prototype.stroke = function (this: CanvasRenderingContext2D) {
        ++lines;
        Reflect.apply(stroke, this, []);
      };
      heads.redraw();
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      CanvasRenderingContext2D.prototype.stroke = stroke;
      return lines;
    });

  test("are all that reach the threshold", async () => {
    expect(await lines()).toBe(linksAbove(0.05, [0, 1, 2], ALL));
    await page.evaluate(() => ((window as unknown as VizWindow).heads.threshold = 0.3));
    expect(await lines()).toBe(linksAbove(0.3, [0, 1, 2], ALL));
    await page.getByRole("slider").focus();
    await page.keyboard.press("Home");
    expect(await told(page, "thresholdchange")).toEqual([{ threshold: 0 }]);
    expect(await lines()).toBe(linksAbove(0, [0, 1, 2], ALL));
    await page.evaluate(() => ((window as unknown as VizWindow).heads.threshold = 0.05));
  });

  test("of a token alone while the pointer is on it, told in words", async () => {
    await query(4).hover();
    await drawn(page);
    const strongest = [0, 1, 2]
      .flatMap((head) => ALL.map((to) => ({ head, to, weight: PROBS.data[(head * SIZE + 4) * SIZE + to]! })))
      .sort((a, b) => b.weight - a.weight)[0]!;
    const percent = `${Number((100 * strongest.weight).toPrecision(4))}\u00a0%`;
    expect(await readout()).toContain(
      `Strongest links of “the”: to “${WORDS[strongest.to]}” ${percent} (head ${strongest.head})`,
    );
    await key(2).hover();
    await drawn(page);
    expect(await readout()).toMatch(/^Strongest links to “sat”: from “/);
    await page.mouse.move(1, 1);
  });

  test("of several selected tokens, by clicks, Shift and keys", async () => {
    await query(2).click();
    expect(await told(page, "tokenselect")).toEqual([{ queries: [2], keys: [] }]);
    await query(4).click({ modifiers: ["Shift"] });
    expect(await told(page, "tokenselect")).toEqual([{ queries: [2, 3, 4], keys: [] }]);
    await page.mouse.move(1, 1);
    await page.evaluate(() =>
      ((window as unknown as VizWindow).heads.shadowRoot!.activeElement as HTMLElement | null)?.blur(),
    );
    expect(await lines()).toBe(linksAbove(0.05, [0, 1, 2], [2, 3, 4]));
    await query(4).focus();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press(" ");
    expect(await told(page, "tokenselect")).toEqual([{ queries: [2, 4], keys: [] }]);
    await page.keyboard.press("ArrowRight"); // moves to the keys
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    expect(await told(page, "tokenselect")).toEqual([{ queries: [2, 4], keys: [0] }]);
    await drawn(page);
    expect(await key(0).getAttribute("aria-selected")).toBe("true");
    await page.keyboard.press("Escape");
    expect(await told(page, "tokenselect")).toEqual([{ queries: [2, 4], keys: [] }]);
    await page.evaluate(() => ((window as unknown as VizWindow).heads.selection = {}));
    await page.evaluate(() =>
      ((window as unknown as VizWindow).heads.shadowRoot!.activeElement as HTMLElement | null)?.blur(),
    );
    await drawn(page);
  });

  test("of the heads that are on", async () => {
    const chip = (head: number) => page.getByRole("button", { name: `head ${head}` });
    await chip(1).focus();
    await page.keyboard.press(" ");
    expect(await told(page, "headschange")).toEqual([{ enabled: [0, 2] }]);
    await drawn(page);
    expect(await chip(1).getAttribute("aria-pressed")).toBe("false");
    expect(await lines()).toBe(linksAbove(0.05, [0, 2], ALL));
    await chip(2).click({ modifiers: ["Shift"] });
    expect(await told(page, "headschange")).toEqual([{ enabled: [2] }]);
    await chip(2).click({ modifiers: ["Shift"] });
    expect(await told(page, "headschange")).toEqual([{ enabled: [0, 1, 2] }]);
    await chip(0).dblclick();
    expect((await told(page, "headschange")).at(-1)).toEqual({ enabled: [0] });
    await page.evaluate(() => ((window as unknown as VizWindow).heads.enabled = [1]));
    await told(page, "");
    expect(await lines()).toBe(linksAbove(0.05, [1], ALL));
    expect(await told(page, "headschange")).toEqual([]);
    await page.evaluate(() => ((window as unknown as VizWindow).heads.enabled = undefined));
  });

  test("nothing of this disturbed a page with the strictest policy", () => {
    expect(troubles).toEqual([]);
  });
});

test("a long source is asked for the rows in sight, and followed as it scrolls", async () => {
  const { page, close } = await openElement(browser, "attention-heads", undefined);
  await page.evaluate(() => {
    const calls: number[] = [];
    const rows = (_: number, from: number, to: number) => {
      calls.push(from);
      const numbers = new Float32Array((to - from) * 4096);
      for (let query = from; query < to; ++query) numbers[(query - from) * 4096 + query] = 1;
      return Promise.resolve(numbers);
    };
    Object.assign(window, { calls });
    (window as unknown as VizWindow).heads.source = { heads: 1, queries: 4096, keys: 4096, rows };
  });
  const asked = () => page.evaluate(() => (window as unknown as { calls: number[] }).calls);
  await page.waitForFunction(() => (window as unknown as { calls: number[] }).calls.length > 0);
  await drawn(page);
  expect(await asked()).toEqual([0]);
  await page.locator("[part=plot]").evaluate((scroll) => (scroll.scrollTop = 26 * 2000));
  await page.waitForFunction(() => (window as unknown as { calls: number[] }).calls.length > 1);
  await drawn(page);
  expect(await asked()).toEqual([0, 1984]);
  expect(await page.textContent("[part=readout]")).toMatch(/query \d+ to key \d+ 100\u00a0%/);
  await close();
});

test.each(["attention-map", "attention-heads"] as const)(
  "before %s is drawn, nothing of its empty plot scrolls or takes the focus",
  async (tag) => {
    const { page, close } = await openElement(browser, tag, PROBS);
    const plots = await page.evaluate((name) => {
      const next = document.body.appendChild(document.createElement(name));
      const plot = next.shadowRoot!.querySelector<HTMLElement>("[part=plot]")!;
      const candidates = [plot, ...plot.querySelectorAll<HTMLElement>("*")];
      return candidates.filter((part) => {
        if (!part.checkVisibility()) return false;
        const scrolls = part.scrollHeight > part.clientHeight && getComputedStyle(part).overflowY === "auto";
        return scrolls || part.tabIndex === 0;
      }).length;
    }, tag);
    expect(plots).toBe(0);
    await close();
  },
);

test("fits a phone", async () => {
  const { page, close } = await openElement(browser, "attention-heads", PROBS, {
    viewport: { width: 390, height: 800 },
  });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await close();
});

test("on a page that is read from right to left, links still start at the queries", async () => {
  const { page, close } = await openElement(browser, "attention-heads", PROBS);
  await page.evaluate(() => (document.documentElement.dir = "rtl"));
  await drawn(page);
  const lefts = await page.evaluate(() => {
    const { shadowRoot } = (window as unknown as VizWindow).heads;
    return ["ul.query", "canvas", "ul.key"].map(
      (part) => shadowRoot!.querySelector(part)!.getBoundingClientRect().left,
    );
  });
  expect(lefts).toEqual(lefts.toSorted((a, b) => a - b)); // the lines are drawn from left to right
  await close();
});

test("tokens and heads without a letter have a name", async () => {
  const { page, close } = await openElement(browser, "attention-heads", PROBS);
  await page.evaluate(() => {
    const { heads } = window as unknown as VizWindow;
    heads.tokens = ["", "", "c", "d", "e", "f"];
    heads.headNames = ["", "one", "two"];
    heads.label = "";
  });
  await drawn(page);
  const option = page.getByRole("listbox", { name: "Queries" }).getByRole("option", { name: "empty token" });
  expect(await option.allTextContents()).toEqual(["∅", "∅"]);
  expect(await option.nth(1).getAttribute("title")).toBe("empty token (1)");
  expect(await page.getByRole("button", { name: "head 0" }).count()).toBe(1);
  expect(await page.getByRole("group", { name: "Attention" }).count()).toBe(1);
  await close();
});

test("tokens that go take their titles, and the start of a selection, with them", async () => {
  const { page, close } = await openElement(browser, "attention-heads", PROBS);
  const queries = page.getByRole("listbox", { name: "Queries" }).getByRole("option");
  await queries.last().click();
  await page.evaluate(() => {
    const { heads } = window as unknown as VizWindow;
    heads.tokens = undefined;
    heads.probs = { data: new Float32Array(9).fill(1 / 3), shape: [3, 3] };
  });
  await drawn(page);
  expect(await queries.first().getAttribute("title")).toBeNull();
  await told(page, "");
  await queries.nth(1).click({ modifiers: ["Shift"] });
  expect(await told(page, "tokenselect")).toEqual([{ queries: [0, 1], keys: [] }]);
  await close();
});

test("a source is not asked again and again for more rows than are kept", async () => {
  const { page, close } = await openElement(browser, "attention-heads", undefined);
  await page.evaluate(() => {
    const calls: number[][] = [];
    const [heads, length] = [35, 2000];
    const rows = (head: number, from: number, to: number) => {
      calls.push([head, from]);
      return Promise.resolve(new Float32Array((to - from) * length));
    };
    Object.assign(window, { calls });
    const { heads: element } = window as unknown as VizWindow;
    element.selection = { queries: [3, 4, 900, 1999], keys: [] }; // three slices of each head, each of a megabyte
    element.source = { heads, queries: length, keys: length, rows };
  });
  const asked = () => page.evaluate(() => (window as unknown as VizWindow).calls);
  const calls = await seenAt(page, asked, (seen) => seen.length > 60);
  for (let frame = 0; frame < 20; ++frame) await drawn(page);
  expect((await asked()).length).toBeLessThan(70);
  // 105 are needed, and 65 fit in 64 MiB
  expect(await page.textContent("[part=readout]")).toBe("computed 65 of 105 slices");
  expect(calls.slice(0, 2)).toEqual([
    [0, 0],
    [1, 0],
  ]);
  await close();
});
