// Labels have room of their own, what is pointed at is told beside it, and both can be seen in every mode of display.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { rgb } from "d3-color";
import { type Browser, type Locator, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { causalProbs, cellAt, drawn, end, openElement, WORDS, type VizWindow } from "./vizPage.js";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => end(browser));

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

const LONG = WORDS.map((word) => `${word}-incomprehensibilities`);
const WIDE = WORDS.map((_, i) => `${"W".repeat(20)}${i}`);
const many = (count: number) => Array.from({ length: count }, (_, i) => `${i}-antidisestablish`);
const TWICE = ["the", "park", "by", "the", "park"];

/** Every text and size that the labels must cope with. */
const CASES = [320, 390, 768, 1366].flatMap((width) =>
  [
    ["short tokens", WORDS],
    ["long tokens", LONG],
    ["wide tokens", WIDE],
    ["many long tokens", many(60)],
    ["one wide token", WIDE.slice(0, 1)],
    ["positions", [] as string[]],
  ].map(([name, tokens]) => ({ width, name: name as string, tokens: tokens as string[] })),
);

/** A map of these tokens in a window of this width. */
async function openMap(width: number, tokens: readonly string[], options = {}) {
  const size = tokens.length || 40;
  const opened = await openElement(browser, "attention-map", causalProbs(1, size), {
    viewport: { width, height: 800 },
    ...options,
  });
  await opened.page.evaluate((given) => ((window as unknown as VizWindow).map.tokens = given), [...tokens]);
  await drawn(opened.page);
  return { ...opened, size };
}

/** The corners of every text on the map's canvas, in CSS pixels of the canvas. */
function labelCorners(page: Page): Promise<{ text: string; corners: [number, number][] }[]> {
  return page.evaluate(async () => {
    const { map } = window as unknown as VizWindow;
    const seen: { text: string; corners: [number, number][] }[] = [];
    // oxlint-disable-next-line typescript/unbound-method -- called with its canvas below
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (this: CanvasRenderingContext2D, ...args) {
      const [text, x, y] = args;
      const { width, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = this.measureText(text);
      const left = x - { left: 0, center: width / 2, right: width, start: 0, end: width }[this.textAlign];
      const corners = [
        [left, y - up],
        [left + width, y - up],
        [left, y + down],
        [left + width, y + down],
      ].map(([cx, cy]) => {
        const point = this.getTransform().transformPoint({ x: cx!, y: cy! });
        return [point.x / devicePixelRatio, point.y / devicePixelRatio] as [number, number];
      });
      if (this.canvas.isConnected || map.shadowRoot!.contains(this.canvas)) seen.push({ text, corners });
      Reflect.apply(write, this, args);
    };
    map.redraw();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    CanvasRenderingContext2D.prototype.fillText = write;
    return seen;
  });
}

/** Where the cells are on the canvas, and how large the canvas is. */
function plotBoxes(page: Page): Promise<{ cells: Box; canvas: { width: number; height: number } }> {
  return page.evaluate(() => {
    const root = (window as unknown as VizWindow).map.shadowRoot!;
    const grid = root.querySelector<HTMLElement>("[role=grid]")!;
    const { offsetLeft: left, offsetTop: top, clientWidth, clientHeight } = grid;
    const { width, height } = root.querySelector("[part=plot] canvas")!.getBoundingClientRect();
    return {
      cells: { left, top, right: left + clientWidth, bottom: top + clientHeight },
      canvas: { width, height },
    };
  });
}

const boxOf = (found: Locator) =>
  found.evaluate((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom };
  });
const overlap = (a: Box, b: Box) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;

const tooltip = (page: Page) => page.locator("[part=tooltip]");
const viewport = (page: Page) => page.evaluate(() => ({ left: 0, top: 0, right: innerWidth, bottom: innerHeight }));

/** Asserts that the text beside a cell can be read, and hides neither its cell nor runs out of the window. */
async function expectBeside(page: Page): Promise<void> {
  const [box, frame, window] = [
    await boxOf(tooltip(page)),
    await boxOf(page.locator("[role=gridcell]")),
    await viewport(page),
  ];
  expect(await tooltip(page).isVisible()).toBe(true);
  expect(overlap(box, frame)).toBe(false);
  const inside =
    box.left >= window.left && box.top >= window.top && box.right <= window.right && box.bottom <= window.bottom;
  expect({ box, inside }).toEqual({ box, inside: true });
  const gap = Math.max(box.left - frame.right, frame.left - box.right, box.top - frame.bottom, frame.top - box.bottom);
  expect(gap).toBeLessThan(24); // beside the cell
}

describe.each(CASES)("$name in $width pixels:", ({ width, tokens }) => {
  let page: Page;
  let size: number;
  beforeAll(async () => {
    ({ page, size } = await openMap(width, tokens));
  });
  afterAll(() => page.close());

  test("labels stay outside the cells and inside the picture", async () => {
    const look = async () => {
      const { cells, canvas } = await plotBoxes(page);
      const labels = await labelCorners(page);
      expect(labels.length).toBeGreaterThan(0);
      for (const { text, corners } of labels) {
        const isBeside = corners.every(([x]) => x <= cells.left) || corners.every(([, y]) => y <= cells.top);
        expect([text, isBeside]).toEqual([text, true]);
        for (const [x, y] of corners) {
          expect([text, x >= -1 && x <= canvas.width + 1, y >= -1]).toEqual([text, true, true]);
        }
      }
      return cells;
    };
    const cells = await look();
    expect(cells.right - cells.left).toBeGreaterThanOrEqual(Math.min(0.4 * width, 64 * size) - 1); // the cells have the larger part of the room
    if (size < 30) return;
    await page.evaluate(() => ((window as unknown as VizWindow).map.view = { queries: [7, 17], keys: [31, 40] }));
    await drawn(page);
    await look();
    await page.evaluate(() => ((window as unknown as VizWindow).map.view = undefined));
  });

  test("the tooltip is beside the pointed cell", async () => {
    const last = size - 1;
    const middle = Math.floor(size / 2);
    for (const [query, key] of [
      [0, 0],
      [0, last],
      [middle, middle],
      [last, 0],
      [last, last],
    ] as const) {
      const { x, y } = await cellAt(page, query, key, size);
      await page.mouse.move(x, y);
      await drawn(page);
      await expectBeside(page);
      const grid = await boxOf(page.locator("[role=grid]"));
      for (const header of ["rowheader", "columnheader"] as const) {
        expect([header, overlap(await boxOf(page.locator(`[role=${header}]`)), grid)]).toEqual([header, false]);
      }
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await page.mouse.move(1, 1);
    await drawn(page);
    expect(await tooltip(page).isVisible()).toBe(false);
  });
});

describe("labels", () => {
  test("of a cut token are told in full beside the cell", async () => {
    const { page, close } = await openMap(390, WIDE);
    const texts = (await labelCorners(page)).map(({ text }) => text);
    expect(texts.every((text) => text.endsWith("…"))).toBe(true);
    await page.evaluate(() => ((window as unknown as VizWindow).map.cell = { query: 4, key: 2 }));
    await drawn(page);
    expect(await page.locator("[part=tooltip]").textContent()).toContain(`“${WIDE[4]}” → “${WIDE[2]}”`);
    await close();
  });
});

describe("the numbering of tokens", () => {
  test("is there for tokens that occur twice, from 0, and for no others", async () => {
    const { page, close } = await openMap(800, TWICE);
    const said = async (query: number, key: number) => {
      await page.evaluate((cell) => ((window as unknown as VizWindow).map.cell = cell), { query, key });
      await drawn(page);
      return [
        await page.textContent("[part=readout]"),
        await page.getAttribute("[role=rowheader]", "aria-label"),
        await page.getAttribute("[role=columnheader]", "aria-label"),
      ];
    };
    const [text, row, column] = await said(4, 2);
    expect(text).toMatch(/^“park” \(4\) gives [\d.]+\u00a0% of its attention to “by”\.$/);
    expect([row, column]).toEqual(["“park” (4)", "“by”"]);
    expect((await said(2, 3))[0]).toBe("“by” may not attend to “the” (3).");
    await page.evaluate(
      (tokens) => ((window as unknown as VizWindow).map.tokens = tokens),
      ["the₁", "park₂", "by", "the₄", "park₅"],
    );
    await drawn(page);
    expect((await said(4, 1))[0]).toMatch(/^“park₅” gives [\d.]+\u00a0% of its attention to “park₂”\.$/);
    await close();
  });
});

describe("the tooltip", () => {
  test("tells the exact share, and follows the keyboard and the scrolled page", async () => {
    const { page, close } = await openMap(390, WORDS);
    await page.evaluate(() => {
      document.body.style.padding = "900px 0";
      scrollTo(0, 900);
    });
    await page.locator("[role=grid]").focus();
    await page.keyboard.press("Control+End");
    await drawn(page);
    await expectBeside(page);
    const value = await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      return map.probs!.data[35]!;
    });
    const share = `${Number((100 * value).toPrecision(4))}\u00a0%`;
    expect(await tooltip(page).locator("strong").textContent()).toBe(share);
    expect(await tooltip(page).textContent()).toContain("“mat” → “mat”");
    const frame = await boxOf(page.locator("[role=gridcell]"));
    for (const top of [2, 760 - (frame.bottom - frame.top)]) {
      await page.evaluate((by) => scrollBy(0, by), (await boxOf(page.locator("[role=gridcell]"))).top - top);
      await drawn(page);
      await expectBeside(page);
    }
    await page.evaluate(() => scrollTo(0, 0));
    await drawn(page);
    expect(await tooltip(page).isVisible()).toBe(false); // its cell is out of sight
    await close();
  });

  test("has the page's own words if it has some, and is silent for assistive technology, which has the read-out", async () => {
    const { page, close } = await openMap(800, WORDS);
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      map.describe = ({ query, key }) => `${query} sees ${key}`;
      map.cell = { query: 3, key: 1 };
    });
    await drawn(page);
    expect(await tooltip(page).textContent()).toBe("3 sees 1");
    expect(await tooltip(page).getAttribute("aria-hidden")).toBe("true");
    await close();
  });
});

/** The contrast of WCAG 2. */
function contrast(a: readonly number[], b: readonly number[]): number {
  const luminance = (colour: readonly number[]) => {
    const [r, g, blue] = colour.map((x) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * blue!;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

describe("numbers in the cells", () => {
  /** Each number that is drawn in a cell: its text and colour, and the cell's own colour. */
  const numbers = (page: Page) =>
    page.evaluate(async () => {
      const { map } = window as unknown as VizWindow;
      const root = map.shadowRoot!;
      const canvas = root.querySelector<HTMLCanvasElement>("[part=plot] canvas")!;
      const grid = root.querySelector<HTMLElement>("[role=grid]")!;
      const [rows, columns] = map.probs!.shape.slice(-2) as [number, number];
      const scale = devicePixelRatio;
      const [left, top] = [grid.offsetLeft * scale, grid.offsetTop * scale];
      const [w, h] = [(grid.clientWidth * scale) / columns, (grid.clientHeight * scale) / rows];
      const found: { text: string; row: number; column: number; ink: string; fits: boolean }[] = [];
      // oxlint-disable-next-line typescript/unbound-method -- called with its canvas below
      const write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (this: CanvasRenderingContext2D, ...args) {
        const [text, x, y] = args;
        const isLabel = this.getTransform().a !== 1 || this.getTransform().e !== 0;
        const [row, column] = [Math.floor((y - top) / h), Math.floor((x - left) / w)];
        const fits = this.measureText(text).width <= w - 2;
        if (this.canvas === canvas && (scale === 1 || !isLabel) && row >= 0 && column >= 0)
          found.push({ text, row, column, ink: this.fillStyle as string, fits });
        Reflect.apply(write, this, args);
      };
      map.redraw();
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      CanvasRenderingContext2D.prototype.fillText = write;
      const context = canvas.getContext("2d")!;
      return found.map((number) => ({
        ...number,
        cell: [...context.getImageData(left + number.column * w + 3, top + number.row * h + 3, 1, 1).data].slice(0, 3),
      }));
    });

  test.each([
    ["light", "auto"],
    ["dark", "auto"],
    ["light", "viridis"],
    ["dark", "cividis"],
    ["light", "magma"],
  ] as const)("are percents that can be read, %s, %s", async (colorScheme, palette) => {
    const { page, close } = await openMap(390, WORDS, { colorScheme });
    await page.evaluate((name) => {
      const { map } = window as unknown as VizWindow;
      map.causal = false;
      map.palette = name;
      map.values = true;
    }, palette);
    const probs = await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      const data = map.probs!.data;
      data[7] = NaN;
      return [...data];
    });
    const found = await numbers(page);
    expect(found).toHaveLength(36);
    for (const { text, row, column, ink, cell, fits } of found) {
      const value = probs[row * 6 + column]!;
      const percent = Number.isNaN(value) ? "NaN" : String(Math.round(100 * value));
      expect([row, column, text, fits]).toEqual([row, column, percent, true]);
      const { r, g, b } = rgb(ink);
      expect(contrast([r, g, b], cell)).toBeGreaterThanOrEqual(4.5);
    }
    expect(await page.locator(".legend").textContent()).toContain("numbers: %");
    await close();
  });

  test("are scores with two decimals, and nothing where they have no room", async () => {
    const { page, close } = await openMap(900, WORDS);
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      map.causal = false;
      map.kind = "scores";
      map.values = true;
      map.probs = { data: Float32Array.from({ length: 36 }, (_, i) => (i - 18) / 8), shape: [6, 6] };
    });
    const found = await numbers(page);
    expect(found.map(({ text }) => text)).toEqual(
      Array.from({ length: 36 }, (_, i) => ((i - 18) / 8).toFixed(2).replace("-", "−")),
    );
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      map.tokens = [];
      map.probs = { data: new Float32Array(1600).fill(-0.5), shape: [40, 40] };
    });
    expect(await numbers(page)).toEqual([]);
    expect(await page.locator(".legend").textContent()).not.toContain("numbers:");
    await close();
  });

  test("are in the SVG file too", async () => {
    const { page, close } = await openMap(600, WORDS);
    const texts = await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      map.values = true;
      return [...map.toSVG().matchAll(/<text[^>]*>([^<]*)/g)].map(([, text]) => text!);
    });
    expect(texts.filter((text) => /^\d+$/.test(text))).toHaveLength(21); // the visible cells of a causal map
    await close();
  });
});

describe("in forced colours", () => {
  /** How many pixels of two pictures of the same part of the screen have a contrast of 3 or more. */
  function different(page: Page, before: Buffer, after: Buffer): Promise<number> {
    const compare = async (pictures: readonly string[]) => {
      const [a, b] = (await Promise.all(
        pictures.map(async (text) => {
          const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
          const { width, height } = await createImageBitmap(new Blob([bytes]));
          const context = new OffscreenCanvas(width, height).getContext("2d")!;
          context.drawImage(await createImageBitmap(new Blob([bytes])), 0, 0);
          const { data } = context.getImageData(0, 0, width, height);
          const linear = (x: number) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
          return Array.from({ length: width * height }, (_, i) => {
            const [r, g, blue] = [...data.subarray(4 * i, 4 * i + 3)].map(linear) as [number, number, number];
            return 0.2126 * r + 0.7152 * g + 0.0722 * blue + 0.05;
          });
        }),
      )) as [number[], number[]];
      return a.filter((luminance, i) => Math.max(luminance / b[i]!, b[i]! / luminance) >= 3).length;
    };
    return page.evaluate(
      compare,
      [before, after].map((picture) => picture.toString("base64")),
    );
  }
  const shot = async (found: Locator) => {
    const { left, top, right, bottom } = await boxOf(found);
    const clip = { x: left - 6, y: top - 6, width: right - left + 12, height: bottom - top + 12 };
    return found.page().screenshot({ clip });
  };

  test.each(["light", "dark"] as const)(
    "the chosen head, the focus and the cell stay visible, %s",
    async (colorScheme) => {
      const { page, close } = await openElement(browser, "attention-map", causalProbs(3, 6), {
        forcedColors: "active",
        colorScheme,
      });
      const second = page.getByRole("radio").nth(1);
      const unchosen = await shot(second);
      await page.evaluate(() => ((window as unknown as VizWindow).map.head = 1));
      await drawn(page);
      const { left, right, top, bottom } = await boxOf(second);
      const rim = 2 * (right - left + bottom - top);
      expect(await different(page, unchosen, await shot(second))).toBeGreaterThan(rim / 2);

      const plot = page.locator("[part=plot]");
      const without = await shot(plot);
      await page.evaluate(() => ((window as unknown as VizWindow).map.cell = { query: 4, key: 1 }));
      await drawn(page);
      const frame = await boxOf(page.locator("[role=gridcell]"));
      expect(await different(page, without, await shot(plot))).toBeGreaterThan(2 * (frame.right - frame.left));
      for (const role of ["rowheader", "columnheader"]) {
        const colours = await page.locator(`[role=${role}]`).evaluate((label) => {
          const { color, backgroundColor } = getComputedStyle(label);
          return [color, backgroundColor];
        });
        const [ink, ground] = colours.map((colour) => [rgb(colour).r, rgb(colour).g, rgb(colour).b]) as [
          number[],
          number[],
        ];
        expect(contrast(ink, ground)).toBeGreaterThanOrEqual(4.5);
      }
      const border = await page.locator("[part=tooltip]").evaluate((tip) => getComputedStyle(tip).borderTopWidth);
      expect(Number.parseFloat(border)).toBeGreaterThanOrEqual(1);
      await page.evaluate(() => ((window as unknown as VizWindow).map.cell = null));
      await drawn(page);

      const unfocused = await shot(plot);
      await page.locator("[role=grid]").focus();
      await page.keyboard.press("Escape");
      await drawn(page);
      const grid = await boxOf(page.locator("[role=grid]"));
      expect(await different(page, unfocused, await shot(plot))).toBeGreaterThan(grid.right - grid.left);
      await close();
    },
  );

  test("heads keep their colours, and switched ones and chosen tokens differ from the others", async () => {
    const { page, close } = await openElement(browser, "attention-heads", causalProbs(3, 6), {
      forcedColors: "active",
    });
    const dots = await page
      .locator("[part=heads] i")
      .evaluateAll((all) => all.map((dot) => getComputedStyle(dot).borderTopColor));
    expect(new Set(dots).size).toBe(3);
    const chip = page.getByRole("button", { name: "head 1" });
    const on = await shot(chip);
    await chip.click();
    await page.mouse.move(1, 1);
    await page.evaluate(() => ((window as unknown as VizWindow).heads.shadowRoot!.activeElement as HTMLElement).blur());
    await drawn(page);
    expect(await different(page, on, await shot(chip))).toBeGreaterThan(60);
    const token = page.locator("ul.query li").nth(3);
    const plain = await shot(token);
    await page.evaluate(() => ((window as unknown as VizWindow).heads.selection = { queries: [3] }));
    await drawn(page);
    expect(await different(page, plain, await shot(token))).toBeGreaterThan(200);
    await close();
  });
});

test("colours are printed as they are shown", async () => {
  for (const tag of ["attention-map", "attention-heads"] as const) {
    const { page, close } = await openElement(browser, tag, causalProbs(3, 6));
    await page.emulateMedia({ media: "print" });
    const adjusts = await page.evaluate(() => {
      const { shadowRoot } = (window as unknown as VizWindow).map;
      return [...shadowRoot!.querySelectorAll(".bar, .swatch, [part=heads] *, li, canvas")].map((part) =>
        getComputedStyle(part).getPropertyValue("print-color-adjust"),
      );
    });
    expect(new Set(adjusts)).toEqual(new Set(["exact"]));
    await close();
  }
});

test("of a page or of tokens that are read from right to left, the tooltip names the query first, and the legend 0", async () => {
  for (const direction of ["ltr", "rtl"]) {
    const { page, close } = await openMap(700, ["שלום", "עולם", "ג", "ד", "ה", "ו"]);
    await page.evaluate((dir) => {
      document.documentElement.dir = dir;
      (window as unknown as VizWindow).map.cell = { query: 0, key: 1 };
    }, direction);
    await drawn(page);
    await drawn(page);
    const places = await page.evaluate(() => {
      const root = (window as unknown as VizWindow).map.shadowRoot!;
      const lefts = (from: Node, letters: readonly string[]) => {
        const texts = document.createNodeIterator(from, NodeFilter.SHOW_TEXT);
        const places: (readonly [letter: string, left: number])[] = [];
        for (let text = texts.nextNode(); text; text = texts.nextNode())
          for (const letter of letters) {
            const at = text.textContent!.indexOf(letter);
            if (at < 0) continue;
            const range = new Range();
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            places.push([letter, range.getBoundingClientRect().left]);
          }
        return places.toSorted((a, b) => a[1] - b[1]).map(([letter]) => letter);
      };
      const parts = [...root.querySelector("[part=legend]")!.firstElementChild!.children];
      const lefts2 = parts.map((part) => part.getBoundingClientRect().left);
      return {
        ends: lefts(root.querySelector("[part=tooltip]")!, ["ש", "→", "ע"]),
        isLowFirst: lefts2[0]! < lefts2[1]! && lefts2[1]! < lefts2[2]!,
      };
    });
    expect([direction, places]).toEqual([direction, { ends: ["ש", "→", "ע"], isLowFirst: true }]);
    await close();
  }
});
