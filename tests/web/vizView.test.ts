import { describe, expect, test } from "@jest/globals";

import { cellAt, moveInto, pixelOf, thinned, whole } from "../../web/src/viz/axis.js";
import { mapLayout } from "../../web/src/viz/mapLayout.js";
import { AxisTexts, labelText, shortened } from "../../web/src/viz/labels.js";
import { placeBeside } from "../../web/src/viz/tooltip.js";
import { between, panned, sightOf, viewOf, WHOLE, zoomed } from "../../web/src/viz/view.js";

const CELLS = { rows: 300, columns: 200 };
const MOST = 100;

describe("an axis", () => {
  const sight = { from: 10.25, to: 20.75 };

  test("finds the cell that is drawn at a pixel", () => {
    for (let cell = 11; cell < 20; ++cell) {
      const start = pixelOf(cell, sight, 333);
      expect(cellAt(start + 0.01, sight, 333)).toBe(cell);
      expect(cellAt(start - 0.01, sight, 333)).toBe(cell - 1);
    }
  });

  test("has no cell outside the plot, and the last one at its very edge", () => {
    expect(cellAt(-0.1, sight, 333)).toBeUndefined();
    expect(cellAt(333, sight, 333)).toBeUndefined();
    expect(cellAt(332.999, { from: 0, to: 3 }, 333)).toBe(2);
  });

  test("touches whole cells, and not one for what rounding leaves", () => {
    expect(whole(sight)).toEqual({ from: 10, to: 21 });
    expect(whole({ from: 3 - 1e-9, to: 7 + 1e-9 })).toEqual({ from: 3, to: 7 });
  });

  test.each([
    [100, 10, "every cell", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [100, 11, "every second", [0, 2, 4, 6, 8]],
    [100, 25, "every fifth", [0, 5]],
  ])("of ten cells on %i pixels with labels of %i names %s", (size, room, _, cells) => {
    expect(thinned({ from: 0, to: 10 }, size, room)).toEqual(cells);
  });

  test("moves by as little as brings a cell into sight", () => {
    expect(moveInto(15, sight)).toBe(0);
    expect(moveInto(10, sight)).toBe(-0.25);
    expect(moveInto(20, sight)).toBe(0.25);
    expect(moveInto(99, sight)).toBe(79.25);
  });
});

describe("a view", () => {
  const at = { x: 0.3, y: 0.8 };
  const cellUnder = (view: typeof WHOLE) => {
    const { rows, columns } = sightOf(view, CELLS);
    return [pixel(columns, at.x), pixel(rows, at.y)];
  };
  const pixel = ({ from, to }: { from: number; to: number }, share: number) => from + share * (to - from);

  test("keeps what is under the pointer in place while it is enlarged and made smaller", () => {
    const near = zoomed(WHOLE, 7, at, MOST);
    expect(near.zoom).toBe(7);
    cellUnder(near).forEach((cell, axis) => expect(cell).toBeCloseTo(cellUnder(WHOLE)[axis]!, 9));
    const back = zoomed(near, 1 / 7, at, MOST);
    expect([back.x, back.y]).toEqual([0, 0]);
  });

  test("follows the pointer that drags it", () => {
    const near = zoomed(WHOLE, 4, { x: 0.5, y: 0.5 }, MOST);
    const { columns } = sightOf(near, CELLS);
    const moved = sightOf(panned(near, { x: 0.1, y: 0 }), CELLS);
    expect(moved.columns.from).toBeCloseTo(columns.from - 0.1 * (columns.to - columns.from), 9);
    expect(moved.rows).toEqual(sightOf(near, CELLS).rows);
  });

  test("never leaves the map, and goes no nearer than the limit", () => {
    expect(zoomed(WHOLE, 1e6, at, MOST).zoom).toBe(MOST);
    expect(zoomed(WHOLE, 1e-6, at, MOST)).toEqual(WHOLE);
    const { rows, columns } = sightOf(panned(zoomed(WHOLE, 3, at, MOST), { x: -50, y: 50 }), CELLS);
    expect([rows.from, columns.to]).toEqual([0, expect.closeTo(200, 9)]);
  });

  test("holds both spans that it is to show", () => {
    const { rows, columns } = sightOf(
      viewOf({ rows: { from: 100, to: 130 }, columns: { from: 0, to: 10 } }, CELLS, MOST),
      CELLS,
    );
    expect(rows).toEqual({ from: expect.closeTo(100, 9), to: expect.closeTo(130, 9) });
    expect(columns).toEqual({ from: 0, to: expect.closeTo(20, 9) });
  });

  test("glides to exactly where it was sent, with the pointed cell fixed on the way", () => {
    const aim = zoomed(WHOLE, 16, at, MOST);
    expect(between(WHOLE, aim, 1)).toBe(aim);
    for (const t of [0.1, 0.5, 0.9]) {
      cellUnder(between(WHOLE, aim, t)).forEach((cell, axis) => expect(cell).toBeCloseTo(cellUnder(WHOLE)[axis]!, 6));
    }
  });
});

describe("the layout", () => {
  const POSITIONS = { queries: 20, keys: 20, areTokens: false };

  test("has square cells as large as fit", () => {
    const { width, height, left } = mapLayout({ rows: 100, columns: 50 }, 1000, 400, POSITIONS);
    expect([width, height]).toEqual([200, 400]);
    expect(left).toBeGreaterThan(20);
  });

  test("does not blow a small matrix up, nor thin a single row to nothing", () => {
    expect(mapLayout({ rows: 2, columns: 2 }, 1000, 400, POSITIONS)).toMatchObject({ width: 128, height: 128 });
    expect(mapLayout({ rows: 1, columns: 5000 }, 800, 400, POSITIONS).height).toBe(28);
  });

  test("turns tokens that are wider than their cells, and keeps room for what hangs over", () => {
    const tokens = { queries: 60, keys: 80, areTokens: true };
    const layout = mapLayout({ rows: 20, columns: 20 }, 390, 576, tokens);
    expect(layout.turn).toBeLessThan(0);
    expect(layout.left + layout.width + layout.right).toBeLessThanOrEqual(390);
    const lastEnd = (19.5 * layout.width) / 20 + Math.cos(layout.turn) * 80;
    expect(lastEnd).toBeLessThanOrEqual(layout.width + layout.right);
    expect(mapLayout({ rows: 3, columns: 3 }, 390, 576, { ...tokens, keys: 30 }).turn).toBe(0);
  });
});

test("a label shows white space and is cut when it is long", () => {
  expect(labelText(" the")).toBe("␣the");
  expect(labelText("a\nb")).toBe("a⏎b");
  expect(labelText("")).toBe("∅");
  expect(labelText("incomprehensibilities")).toBe("incomprehensi…");
  expect(labelText("👍".repeat(20))).toBe(`${"👍".repeat(13)}…`);
  const astronaut = "👩🏽‍🚀"; // four characters, one sign
  expect(labelText(astronaut.repeat(14))).toBe(astronaut.repeat(14));
  expect(labelText(astronaut.repeat(15))).toBe(`${astronaut.repeat(13)}…`);
});

describe("a label that is wider than its room", () => {
  const widthOf = (text: string) => 10 * Array.from(text).length;

  test("is cut at its end until it fits, and keeps a letter", () => {
    expect(shortened("abcdef", 60, widthOf)).toBe("abcdef");
    expect(shortened("👩🏽‍🚀e\u0301f", 30, widthOf)).toBe("👩🏽‍🚀…");
    expect(shortened("abcdef", 59, widthOf)).toBe("abcd…");
    expect(shortened("abcdef…", 60, widthOf)).toBe("abcde…");
    expect(shortened("abcdef", 1, widthOf)).toBe("a…");
  });

  test("counts with its cut width, and positions are not cut", () => {
    expect(new AxisTexts(["a", "bcdefgh"], 2, 40, widthOf).widest).toBe(40);
    expect(new AxisTexts([], 12345, 20, widthOf).widest).toBe(50);
    expect(new AxisTexts(["a"], 1001, 20, widthOf).widest).toBe(40);
  });
});

describe("the tooltip", () => {
  const size = { width: 100, height: 40 };
  const room = { left: 0, top: 0, right: 300, bottom: 200 };
  const cellAt = (left: number, top: number, side = 20) => ({ left, top, right: left + side, bottom: top + side });

  test.each([
    ["above", cellAt(140, 100), { left: 100, top: 52 }],
    ["below, where there is no room above", cellAt(140, 10), { left: 100, top: 38 }],
    ["above, pushed in at an edge", cellAt(2, 100), { left: 0, top: 52 }],
    ["above, pushed in at the other edge", cellAt(278, 100), { left: 200, top: 52 }],
    ["right of a high cell", cellAt(10, 10, 180), { left: 198, top: 80 }],
    ["left of a high cell at the right edge", cellAt(115, 10, 180), { left: 7, top: 80 }],
  ])("is %s", (_, cell, place) => {
    expect(placeBeside(cell, size, room)).toEqual(place);
  });

  test("has no place beside a cell that fills the room, nor in a room that is too small", () => {
    expect(placeBeside(room, size, room)).toBeUndefined();
    expect(placeBeside(cellAt(10, 10), size, { left: 0, top: 0, right: 90, bottom: 200 })).toBeUndefined();
  });
});
