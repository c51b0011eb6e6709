import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type * as axeCore from "axe-core";
import type * as viz from "headwise/viz";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import { causalProbs, cellAt, drawn, end, openElement, seenAt, told, WORDS, type VizWindow } from "./vizPage.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SIZE = WORDS.length;
const PROBS = causalProbs(3, SIZE);
const probAt = (head: number, query: number, key: number) => PROBS.data[(head * SIZE + query) * SIZE + key]!;

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => end(browser));

const readout = (page: Page) => page.textContent("[part=readout]");
const activeCell = (page: Page) => page.getAttribute("[role=gridcell]", "aria-label");

describe("the map", () => {
  let page: Page;
  let troubles: string[];
  let close: () => Promise<void>;
  beforeAll(async () => ({ page, troubles, close } = await openElement(browser, "attention-map", PROBS)));
  afterAll(() => close());

  const pointAt = async (query: number, key: number) => {
    const { x, y } = await cellAt(page, query, key, SIZE);
    await page.mouse.move(x, y);
    await drawn(page);
  };
  const leave = async () => {
    await page.mouse.move(1, 1);
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      (map.shadowRoot!.activeElement as HTMLElement | null)?.blur();
      map.locked = false;
      map.cell = null;
    });
    await told(page, "");
  };

  test("reads the cell under the pointer, exactly", async () => {
    for (const [query, key] of [
      [0, 0],
      [5, 2],
      [3, 3],
      [5, 5],
    ] as const) {
      await pointAt(query, key);
      const value = probAt(0, query, key);
      expect(await told(page, "cellchange")).toEqual([{ head: 0, query, key, value, hidden: false, locked: false }]);
      const percent = `${Number((100 * value).toPrecision(4))}\u00a0%`;
      expect(await readout(page)).toBe(`“${WORDS[query]}” gives ${percent} of its attention to “${WORDS[key]}”.`);
    }
    await pointAt(1, 4);
    expect(await readout(page)).toBe("“cat” may not attend to “the”.");
    await leave();
    expect(await readout(page)).toMatch(/^Point at a cell/);
  });

  test("a click locks, another unlocks, and so does Escape", async () => {
    await pointAt(4, 1);
    await page.mouse.down();
    await page.mouse.up();
    expect(await told(page, "celllock")).toMatchObject([{ query: 4, key: 1, locked: true }]);
    const text = await readout(page);
    await pointAt(2, 2);
    expect(await readout(page)).toBe(text);
    await page.keyboard.press("Escape");
    expect(await told(page, "celllock")).toMatchObject([{ query: 4, key: 1, locked: false }]);
    await pointAt(3, 0);
    expect(await readout(page)).toMatch(/^“on” gives .* to “The”\.$/);
    await leave();
  });

  test("says on paper what was read, and not what can be done", async () => {
    const isSeen = () => page.evaluate(() => (window as unknown as VizWindow).map.shadowRoot!.querySelector("[part=readout]")!.checkVisibility()); // oxfmt-ignore
    await page.emulateMedia({ media: "print" });
    expect(await isSeen()).toBe(false);
    await page.emulateMedia({ media: "screen" });
    await pointAt(3, 0);
    await page.emulateMedia({ media: "print" });
    expect(await isSeen()).toBe(true);
    await page.emulateMedia({ media: "screen" });
    await leave();
  });

  test("walks with the keyboard alone, from the first Tab on", async () => {
    const focused = () => page.evaluate(() => (window as unknown as VizWindow).map.shadowRoot!.activeElement?.role);
    for (let tabs = 0; tabs < 12 && (await focused()) !== "grid"; ++tabs) await page.keyboard.press("Tab");
    expect(await focused()).toBe("grid");
    expect(await activeCell(page)).toMatch(/^“The” gives 100\u00a0% .* “The”\.$/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    expect(await told(page, "cellchange")).toMatchObject([
      { query: 0, key: 0 },
      { query: 1, key: 0 },
      { query: 2, key: 0 },
      { query: 2, key: 1, value: probAt(0, 2, 1) },
    ]);
    const cell = page.locator("[role=gridcell]");
    expect(await cell.getAttribute("aria-colindex")).toBe("3");
    expect(await page.locator("[role=row]").last().getAttribute("aria-rowindex")).toBe("4");
    expect(await page.locator("[role=rowheader]").getAttribute("aria-label")).toBe("“sat”");
    expect(await page.locator("[role=columnheader]").getAttribute("aria-label")).toBe("“cat”");
    expect(await page.locator("[role=grid]").getAttribute("aria-activedescendant")).toBe(await cell.getAttribute("id"));
    for (const [key, query, column] of [
      ["End", 2, 5],
      ["Home", 2, 0],
      ["Control+End", 5, 5],
      ["ArrowRight", 5, 5],
      ["Control+Home", 0, 0],
      ["PageDown", 5, 0],
    ] as const) {
      await page.keyboard.press(key);
      const cell = await page.evaluate(() => (window as unknown as VizWindow).map.cell);
      expect([key, cell]).toEqual([key, { query, key: column }]);
    }
    await page.keyboard.press("Enter");
    expect(await told(page, "celllock")).toMatchObject([{ query: 5, key: 0, locked: true }]);
    expect(await page.getAttribute("[part=readout]", "aria-live")).toBe("polite");
    await leave();
  });

  test("shows another head by brackets, by the strip, and by the property", async () => {
    await page.locator("[role=grid]").focus();
    await page.keyboard.press("]");
    expect(await told(page, "headchange")).toEqual([{ head: 1 }]);
    await pointAt(5, 1);
    expect(await told(page, "cellchange")).toMatchObject([{ head: 1, value: probAt(1, 5, 1) }]);
    await page.getByRole("radio", { name: "head 1" }).focus();
    await page.keyboard.press("ArrowRight");
    expect(await told(page, "headchange")).toEqual([{ head: 2 }]);
    await drawn(page);
    expect(await page.getByRole("radio", { name: "head 2" }).getAttribute("aria-checked")).toBe("true");
    await page.evaluate(() => ((window as unknown as VizWindow).map.head = 0));
    await drawn(page);
    expect(await told(page, "headchange")).toEqual([]);
    expect(await page.getByRole("radio", { checked: true }).textContent()).toBe("head 0");
    await leave();
  });

  test("zooms under the pointer, drags without locking, and fits again", async () => {
    const { x, y } = await cellAt(page, 4, 1, SIZE);
    await page.mouse.move(x, y);
    const view = () => page.evaluate(() => (window as unknown as VizWindow).map.view);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await drawn(page);
    expect(await view()).toEqual({ queries: [0, 6], keys: [0, 6] }); // cells have their largest size
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      const data = Float32Array.from({ length: 1600 }, (_, i) => i / 1600);
      map.tokens = [];
      map.probs = { data, shape: [40, 40] };
    });
    await drawn(page);
    const at = await cellAt(page, 30, 10, 40);
    await page.mouse.move(at.x, at.y);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await drawn(page);
    const near = await view();
    expect(near.queries[1] - near.queries[0]).toBeLessThan(16);
    await told(page, "");
    await page.mouse.move(at.x + 1, at.y);
    await drawn(page);
    expect(await page.evaluate(() => (window as unknown as VizWindow).map.cell)).toEqual({ query: 30, key: 10 });
    await page.mouse.down();
    await page.mouse.move(at.x + 150, at.y, { steps: 5 });
    await page.mouse.up();
    await drawn(page);
    expect((await view()).keys[0]).toBeLessThan(near.keys[0]);
    expect((await view()).queries).toEqual(near.queries);
    expect(await told(page, "celllock")).toEqual([]);
    await page.getByRole("button", { name: "Fit all of it" }).click();
    await page.waitForFunction(() => (window as unknown as VizWindow).map.view.keys[1] === 40);
    await page.evaluate(
      ({ data, shape, words }) => {
        const { map } = window as unknown as VizWindow;
        map.tokens = words;
        map.probs = { data: Float32Array.from(data), shape };
      },
      { ...PROBS, words: WORDS },
    );
    await drawn(page);
    await leave();
  });

  test("saves exact numbers as CSV", async () => {
    const text = await page.evaluate(() => (window as unknown as VizWindow).map.toCSV());
    const lines = text.trimEnd().split("\r\n");
    expect(lines[0]).toBe(",The,cat,sat,on,the,mat");
    lines.slice(1).forEach((line, query) => {
      const [token, ...fields] = line.split(",");
      expect(token).toBe(WORDS[query]);
      fields.forEach((field, key) => expect(field).toBe(key > query ? "" : String(probAt(0, query, key))));
    });
  });

  test("saves SVG that can be drawn, with a rectangle where each number is", async () => {
    const { error, squares, texts } = await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      const bytes = map.toSVG();
      return {
        error: !bytes.startsWith("<svg") || !bytes.trimEnd().endsWith("</svg>"),
        squares: (bytes.match(/<rect x=/g) ?? []).length,
        texts: [...bytes.matchAll(/<text[^>]*>([^<]*)/g)].map(([, text]) => text),
      };
    });
    expect(error).toBe(false);
    expect(texts).toEqual([...WORDS, ...WORDS]);
    // One square for every visible cell, and one for all hidden cells of a row together.
    expect(squares).toBe((SIZE * (SIZE + 1)) / 2 + SIZE - 1);
  });

  test("saves PNG at the size asked for, with the colours of the screen", async () => {
    const { width, height, near } = await page.evaluate(async () => {
      const { map } = window as unknown as VizWindow;
      const picture = await createImageBitmap(await map.toPNG({ pixelRatio: 3 }));
      const screen = map.shadowRoot!.querySelector<HTMLCanvasElement>("[part=plot] canvas")!;
      const grid = map.shadowRoot!.querySelector<HTMLElement>("[role=grid]")!;
      const pixel = (image: CanvasImageSource, x: number, y: number) => {
        const context = document.createElement("canvas").getContext("2d")!;
        context.drawImage(image, -x, -y);
        return [...context.getImageData(0, 0, 1, 1).data];
      };
      const [x, y, side] = [grid.offsetLeft, grid.offsetTop, grid.clientWidth / 6];
      const at = [x + 0.3 * side, y + 0.3 * side] as const;
      const shown = pixel(screen, at[0] * devicePixelRatio, at[1] * devicePixelRatio);
      const saved = pixel(picture, at[0] * 3, at[1] * 3);
      return { width: picture.width, height: picture.height, near: [shown, saved] };
    });
    expect(near[0]).toEqual(near[1]);
    expect(near[0]![3]).toBe(255);
    expect([width % 3, height % 3]).toEqual([0, 0]);
    expect(width).toBeGreaterThan(3 * 384);
  });

  test("saves from its buttons, under the name of what is shown", async () => {
    for (const [name, file] of [
      ["SVG", "Layer 1, head 0.svg"],
      ["PNG", "Layer 1, head 0.png"],
      ["CSV", "Layer 1, head 0.csv"],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByText(name, { exact: true }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(file);
    }
  });

  test("says why a button saves nothing, until something else is read", async () => {
    await page.evaluate(() => {
      HTMLCanvasElement.prototype.toBlob = (callback) => callback(null);
      (window as unknown as VizWindow).map.toCSV = () => Promise.reject(new Error("no rows today"));
    });
    const said = async (button: string, wanted: RegExp) => {
      await page.getByText(button, { exact: true }).click();
      expect(
        await seenAt(
          page,
          () => readout(page),
          (text) => wanted.test(text!),
        ),
      ).toMatch(wanted);
    };
    await said("PNG", /toPNG: a picture of \d+ × \d+ pixels is too large for this browser/);
    await said("CSV", /^no rows today$/);
    await page.evaluate(() => delete (window as unknown as { map: Partial<VizWindow["map"]> }).map.toCSV);
    await pointAt(0, 0);
    expect(await readout(page)).toMatch(/^“The” gives/);
    await leave();
  });

  test("takes the colours of the page, when they change too", async () => {
    const corner = () =>
      page.evaluate(() => {
        const canvas = (window as unknown as VizWindow).map.shadowRoot!.querySelector<HTMLCanvasElement>(
          "[part=plot] canvas",
        )!;
        const grid = (window as unknown as VizWindow).map.shadowRoot!.querySelector<HTMLElement>("[role=grid]")!;
        const x = (grid.offsetLeft + 8) * devicePixelRatio;
        return [...canvas.getContext("2d")!.getImageData(x, (grid.offsetTop + 8) * devicePixelRatio, 1, 1).data];
      });
    const bright = await corner();
    expect(Math.max(...bright.slice(0, 3))).toBeLessThan(110); // the strongest cell is dark on a light ground
    await page.emulateMedia({ colorScheme: "dark" });
    const isDark = ([red, green]: number[]) => Math.min(red!, green!) > 200;
    expect(isDark(await seenAt(page, corner, isDark))).toBe(true);
    await page.evaluate(() => (window as unknown as VizWindow).map.style.setProperty("--headwise-surface", "#ffe"));
    const isBright = (colour: number[]) => String(colour) === String(bright);
    expect(await seenAt(page, corner, isBright)).toEqual(bright);
    await page.evaluate(() => (window as unknown as VizWindow).map.style.removeProperty("--headwise-surface"));
    await page.emulateMedia({ colorScheme: "light" });
  });

  test("refuses what does not fit where it is given, and says what fails later", async () => {
    const message = await page.evaluate(() => {
      try {
        (window as unknown as VizWindow).map.probs = { data: new Float32Array(5), shape: [2, 3] };
        return "accepted";
      } catch (error) {
        return (error as Error).message;
      }
    });
    expect(message).toMatch(/probs\.data\.length must be the product of shape \[2, 3\], got 5 and 6/);
    await page.evaluate(() => ((window as unknown as VizWindow).map.mask = { data: new Uint8Array(5), shape: [5] }));
    await drawn(page);
    expect(await readout(page)).toMatch(/mask must broadcast to \[3, 6, 6\], got shape \[5\]/);
    await page.evaluate(() => ((window as unknown as VizWindow).map.mask = undefined));
    await drawn(page);
    expect(await readout(page)).toMatch(/^Point at a cell/);
  });

  test("nothing of this disturbed a page with the strictest policy", () => {
    expect(troubles).toEqual([]);
  });
});

describe("accessibility", () => {
  test.each([
    ["attention-map", "light"],
    ["attention-map", "dark"],
    ["attention-heads", "light"],
    ["attention-heads", "dark"],
  ] as const)("axe finds nothing in <%s>, %s", async (tag, colorScheme) => {
    const { page, close } = await openElement(browser, tag, PROBS, { colorScheme });
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      map.cell = { query: 4, key: 2 };
      map.locked = true;
    });
    await drawn(page);
    await page.evaluate(AXE);
    const found = await page.evaluate(async (name) => {
      const { axe } = window as unknown as { axe: typeof axeCore };
      const { violations, passes } = await axe.run({ include: [name] });
      return {
        violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
        passes: passes.map(({ id }) => id),
      };
    }, tag);
    expect(found.violations).toEqual([]);
    expect(found.passes).toContain("color-contrast");
    await close();
  });
});

describe("movement", () => {
  const SMOOTH = causalProbs(1, 200);
  /** How many views are shown after a click on Zoom in, if frames are 20 ms apart by the test's own clock. */
  const views = (page: Page) =>
    page.evaluate(async () => {
      const { map } = window as unknown as VizWindow;
      const realFrame = window.requestAnimationFrame.bind(window);
      let now = performance.now();
      performance.now = () => now;
      window.requestAnimationFrame = (callback) => realFrame(() => callback(now));
      map.zoomBy(4);
      const seen = new Set<string>();
      for (let frame = 0; frame < 60; ++frame) {
        seen.add(JSON.stringify(map.view));
        await new Promise((resolve) => realFrame(resolve));
        now += 20;
      }
      return seen.size;
    });

  test("is smooth, and none where the visitor wants none", async () => {
    const moving = await openElement(browser, "attention-map", SMOOTH, { reducedMotion: "no-preference" });
    expect(await views(moving.page)).toBeGreaterThan(5);
    await moving.close();
    const still = await openElement(browser, "attention-map", SMOOTH, { reducedMotion: "reduce" });
    expect(await views(still.page)).toBe(1);
    await still.close();
  });
});

test("a button that was released outside of the map drags nothing later", async () => {
  const { page, close } = await openElement(browser, "attention-map", causalProbs(1, 60));
  const view = () => page.evaluate(() => (window as unknown as VizWindow).map.view);
  const { x, y } = await cellAt(page, 20, 20, 60);
  await page.mouse.move(x, y);
  await page.mouse.down(); // the whole map is in sight, which cannot be dragged
  await page.mouse.move(990, y);
  await page.mouse.up();
  await page.evaluate(() => {
    const { map } = window as unknown as VizWindow;
    map.view = { queries: [20, 30], keys: [20, 30] };
  });
  const before = await view();
  for (const by of [0, 30, 60]) await page.mouse.move(x + by, y + by);
  expect(await view()).toEqual(before);
  await close();
});

describe("a phone", () => {
  test("shows all within its width, reads on a tap, zooms by pinching", async () => {
    const phone = { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true, deviceScaleFactor: 3 };
    const { page, close, troubles } = await openElement(browser, "attention-map", causalProbs(8, 100), phone);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const canvas = page.locator("[part=plot] canvas");
    const [pixels, width] = await canvas.evaluate((c) => [(c as HTMLCanvasElement).width, c.clientWidth]);
    expect(pixels).toBe(3 * width);
    const { x, y } = await cellAt(page, 80, 20, 100);
    await page.touchscreen.tap(x, y);
    expect(await told(page, "celllock")).toMatchObject([{ query: 80, key: 20, locked: true }]);
    const devtools = await page.context().newCDPSession(page);
    const touch = (type: "touchStart" | "touchMove" | "touchEnd", spread: number) =>
      devtools.send("Input.dispatchTouchEvent", {
        type,
        touchPoints: type === "touchEnd" ? [] : [{ x: x - spread, y, id: 0 }, { x: x + spread, y, id: 1 }], // oxfmt-ignore
      });
    await touch("touchStart", 10);
    for (const spread of [15, 20, 30, 40]) await touch("touchMove", spread);
    await touch("touchEnd", 40);
    await drawn(page);
    const { queries } = await page.evaluate(() => (window as unknown as VizWindow).map.view);
    expect(queries[1] - queries[0]).toBeLessThan(35);
    expect(queries[0]).toBeLessThanOrEqual(80);
    expect(queries[1]).toBeGreaterThan(80);
    expect(troubles).toEqual([]);
    await close();
  });
});

describe("512 × 512 cells", () => {
  test("hovering draws nothing anew and reads a cell for every picture of the screen", async () => {
    const { page, close } = await openElement(browser, "attention-map", undefined);
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      map.causal = true;
      map.probs = {
        data: Float32Array.from({ length: 8 * 512 * 512 }, (_, i) => (i % 997) / 997),
        shape: [8, 512, 512],
      };
    });
    await drawn(page);
    const box = (await page.locator("[role=grid]").boundingBox())!;
    const { pictures, cells } = await page.evaluate(async ({ x, y, width, height }) => {
      const { map, told } = window as unknown as VizWindow;
      const grid = map.shadowRoot!.querySelector("[role=grid]")!;
      let pictures = 0;
      // oxlint-disable-next-line typescript/unbound-method -- called with its canvas below
      const put = CanvasRenderingContext2D.prototype.drawImage;
      CanvasRenderingContext2D.prototype.drawImage = function (this: CanvasRenderingContext2D, ...args: unknown[]) {
        ++pictures;
        Reflect.apply(put, this, args);
      };
      told.length = 0;
      for (let frame = 0; frame < 120; ++frame) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        const [clientX, clientY] = [x + (width * frame) / 121, y + (height * (120 - frame)) / 121];
        grid.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, bubbles: true, composed: true }));
      }
      return { pictures, cells: told.length };
    }, box);
    expect(pictures).toBe(0);
    expect(cells).toBeGreaterThan(100);
    await close();
  });
});

describe("a source of 8192 × 8192", () => {
  let page: Page;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ page, close } = await openElement(browser, "attention-map", undefined));
    await page.evaluate(() => {
      const calls: number[][] = [];
      const rows = async (head: number, from: number, to: number) => {
        calls.push([head, from, to]);
        await Promise.resolve();
        const numbers = new Float32Array((to - from) * 8192);
        for (let query = from; query < to; ++query) numbers[(query - from) * 8192 + query] = 0.5;
        return numbers;
      };
      const { map } = window as unknown as VizWindow;
      Object.assign(window, { calls });
      map.source = { heads: 2, queries: 8192, keys: 8192, rows };
      map.view = { queries: [5000, 5100], keys: [5000, 5100] };
    });
  });
  afterAll(() => close());
  const calls = () => page.evaluate(() => (window as unknown as VizWindow).calls);
  /** Waits until this many slices have been requested and have arrived. */
  const finished = (slices: number) =>
    page.waitForFunction((wanted) => {
      const { told } = window as unknown as VizWindow;
      const last = told.filter(({ type }) => type === "slices").at(-1)?.detail as
        | { done: number; total: number }
        | undefined;
      return last?.done === wanted && last.total === wanted;
    }, slices);

  test("is asked for the slices in sight and for no others", async () => {
    await finished(4);
    expect(await calls()).toEqual([4992, 5024, 5056, 5088].map((from) => [0, from, from + 32]));
    const { x, y } = await cellAt(page, 50, 50, 100);
    await page.mouse.move(x, y);
    await drawn(page);
    const { query, key, value } = (await told(page, "cellchange"))[0] as { query: number; key: number; value: number };
    expect([query, key, value]).toEqual([5050, 5050, 0.5]);
  });

  test("is summed up by block maxima, and not asked again when the view returns to where it was", async () => {
    await page.mouse.move(1, 1);
    await drawn(page);
    await told(page, "");
    await page.evaluate(() => (window as unknown as VizWindow).map.resetView());
    await page.waitForFunction(() => (window as unknown as VizWindow).map.view.keys[1] === 8192);
    await finished(256);
    const all = await calls();
    expect(new Set(all.map(String)).size).toBe(256);
    expect(all.length).toBeLessThanOrEqual(257);
    const svg = await page.evaluate(() => (window as unknown as VizWindow).map.toSVG());
    expect(svg).toMatch(/strongest of 48 × 48 cells/);
    await page.evaluate(() => ((window as unknown as VizWindow).map.view = { queries: [0, 8192], keys: [0, 8192] }));
    await drawn(page);
    expect((await calls()).length).toBe(all.length);
  });

  test("says when it fails, and is asked again on demand", async () => {
    await page.evaluate(() => {
      const { map } = window as unknown as VizWindow;
      let tries = 0;
      const rows = () =>
        ++tries === 1 ? Promise.reject(new Error("device lost")) : Promise.resolve(new Float32Array(16));
      map.source = { heads: 1, queries: 4, keys: 4, rows };
    });
    await page.getByText("device lost").waitFor();
    expect(await told(page, "sourceerror")).toHaveLength(1);
    await page.evaluate(() => (window as unknown as VizWindow).map.redraw());
    await page.getByText("Point at a cell").waitFor();
  });
});

test("properties that were set before the definition count", async () => {
  const { page, close } = await openElement(browser, "attention-map", undefined);
  const head = await page.evaluate(async () => {
    const early = document.createElement("early-map");
    Object.assign(early, {
      probs: { data: new Float32Array(8).fill(0.5), shape: [2, 2, 2] },
      head: 1,
      tokens: ["a", "b"],
    });
    document.body.append(early);
    const address = "/viz.js";
    const { AttentionMap } = (await import(address)) as typeof viz;
    AttentionMap.define("early-map");
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return early.shadowRoot!.querySelector("[aria-checked=true]")!.textContent;
  });
  expect(head).toBe("head 1");
  await close();
});
