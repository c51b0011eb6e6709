import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";

import { bin, fartherFromZero, larger, type BinRule, type Bins } from "../../web/src/viz/bins.js";
import { MapData } from "../../web/src/viz/mapData.js";
import { Slices, type Slice } from "../../web/src/viz/slices.js";
import { Summary } from "../../web/src/viz/summary.js";

const PROBS: BinRule = { stronger: larger, isHidden: undefined };

/** Reproducible numbers in [−0.5, 0.5). */
const noise = (i: number) => ((i * 2654435761) % 2 ** 32) / 2 ** 32 - 0.5;

function rowsOf(rows: number, columns: number) {
  const data = Float32Array.from({ length: rows * columns }, (_, i) => noise(i + 1));
  return { data, rowOf: (i: number) => data.subarray(i * columns, (i + 1) * columns) };
}

describe("blocks", () => {
  test("hold the strongest of their visible cells, for any part, block and rule", () => {
    const extent = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(extent, extent, extent, extent, fc.boolean(), fc.nat(), fc.nat(), (m, n, a, b, signed, i, j) => {
        const { rowOf } = rowsOf(m, n);
        const isHidden = (row: number, column: number) => (row + 2 * column) % 3 === 0;
        const stronger = signed ? fartherFromZero : larger;
        const from = { row: i % m, column: j % n };
        const part = { rows: { from: from.row, to: m }, columns: { from: from.column, to: n } };
        const bins = bin(rowOf, { rows: m, columns: n }, part, { rows: a, columns: b }, { stronger, isHidden });
        for (let y = 0; y < bins.down; ++y) {
          for (let x = 0; x < bins.across; ++x) {
            const visible: number[] = [];
            for (let r = bins.cells.rows.from + y * a; r < Math.min(bins.cells.rows.from + (y + 1) * a, m); ++r) {
              for (let c = bins.cells.columns.from + x * b; c < Math.min(bins.cells.columns.from + (x + 1) * b, n); ++c)
                if (!isHidden(r, c)) visible.push(rowOf(r)[c]!);
            }
            const size = (value: number) => (signed ? Math.abs(value) : value);
            const expected = visible.sort((p, q) => size(q) - size(p))[0] ?? -Infinity;
            expect(bins.values[y * bins.across + x]).toBe(expected);
          }
        }
      }),
    );
  });

  test("say where a number is none, where all is hidden, and which rows are not here", () => {
    const rows = [Float32Array.of(1, NaN, 2, -Infinity), undefined, Float32Array.of(3, 4, 5, 6)];
    const all = { rows: { from: 0, to: 3 }, columns: { from: 0, to: 4 } };
    const { values, known } = bin(
      (i) => rows[i],
      { rows: 3, columns: 4 },
      all,
      { rows: 1, columns: 2 },
      { ...PROBS, isHidden: (row, column) => row === 0 && column === 2 },
    );
    expect([...values]).toEqual([NaN, -Infinity, -Infinity, -Infinity, 4, 6]);
    expect([...known]).toEqual([1, 0, 1]);
  });

  test("count from cell 0, so that a moved view has the same ones", () => {
    const { rowOf } = rowsOf(8, 8);
    const part = (from: number) => ({ rows: { from, to: 8 }, columns: { from, to: 8 } });
    const blocks = { rows: 4, columns: 4 };
    const bins = bin(rowOf, { rows: 8, columns: 8 }, part(1), blocks, PROBS);
    expect(bins).toEqual(bin(rowOf, { rows: 8, columns: 8 }, part(0), blocks, PROBS));
  });
});

describe("a summary", () => {
  const extents = { rows: 1500, columns: 2100 };
  const { data, rowOf } = rowsOf(extents.rows, extents.columns);
  const causal = (row: number, column: number) => column > row + 600;
  const fill = (summary: Summary) => {
    // slices arrive in any order and cross the borders of blocks
    for (const [from, to] of [
      [701, 1500],
      [0, 333],
      [333, 701],
    ] as const) {
      summary.add(from, data.subarray(from * extents.columns, to * extents.columns));
    }
  };

  test("gives the blocks that the numbers themselves give", () => {
    const rule = { stronger: fartherFromZero, isHidden: causal };
    const summary = new Summary(extents, rule, false);
    expect(summary.block).toEqual({ rows: 2, columns: 4 });
    fill(summary);
    const part = { rows: { from: 100, to: 1500 }, columns: { from: 30, to: 2100 } };
    const block = { rows: 6, columns: 8 };
    expect(summary.bins(part, block)).toEqual(bin(rowOf, extents, part, block, rule));
  });

  test("knows the extremes of what is visible, and each row's maximum", () => {
    const summary = new Summary(extents, { stronger: larger, isHidden: causal }, false);
    fill(summary);
    const visible = data.filter((_, i) => !causal(Math.floor(i / extents.columns), i % extents.columns));
    const sorted = visible.sort();
    expect([summary.low, summary.high]).toEqual([sorted[0], sorted.at(-1)]);
    const row = rowOf(7).subarray(0, 608).map(Math.abs).sort();
    expect(summary.unitOf(7)).toBe(row.at(-1));
  });

  test("knows which rows it has seen", () => {
    const summary = new Summary(extents, PROBS, false);
    summary.add(10, data.subarray(0, 3 * extents.columns));
    expect(summary.hasSeen({ from: 10, to: 13 })).toBe(true);
    expect(summary.hasSeen({ from: 9, to: 13 })).toBe(false);
    const bins = summary.bins({ rows: { from: 8, to: 14 }, columns: { from: 0, to: 8 } }, { rows: 2, columns: 4 });
    expect([...bins.known]).toEqual([0, 1, 0]);
  });
});

describe("the picture of a large source", () => {
  const SIZE = 8192;
  /** A source whose diagonal is 1. A slice has 1 MiB. */
  function diagonal() {
    const calls: number[] = [];
    const rows = (_: number, from: number, to: number) => {
      calls.push(from);
      const slice = new Float32Array((to - from) * SIZE);
      for (let query = from; query < to; ++query) slice[(query - from) * SIZE + query] = 1;
      return slice;
    };
    const take = (slice: Slice, numbers: Float32Array) => map.take(slice, numbers);
    const source = { heads: 1, queries: SIZE, keys: SIZE, rows };
    const slices = new Slices(source, { onSlice: take, onError: () => {} }, 16 * 2 ** 20);
    const map: MapData = new MapData(slices, undefined, "probs", false);
    return { map, slices, calls };
  }
  const pixels = { rows: 512, columns: 512 };
  const square = (from: number, to: number) => ({
    head: 0,
    sight: { rows: { from, to }, columns: { from, to } },
    pixels,
  });
  const onDiagonal = ({ values, across }: Bins) =>
    values.every((value, i) => value === (i % (across + 1) === 0 ? 1 : 0));

  test("near by needs the rows in sight and no others", () => {
    const { map, slices, calls } = diagonal();
    const scene = square(5000, 5100);
    slices.want(map.slicesOf(scene).filter((slice) => !map.has(scene, slice)));
    expect(calls).toEqual([4992, 5024, 5056, 5088]);
    const { bins, block } = map.picture(scene);
    expect(block).toEqual({ rows: 1, columns: 1 });
    expect([bins.across, bins.down, onDiagonal(bins)]).toEqual([100, 100, true]);
  });

  test("as a whole is made of block maxima that outlive their rows", () => {
    const { map, slices, calls } = diagonal();
    const scene = square(0, SIZE);
    slices.want(map.slicesOf(scene).filter((slice) => !map.has(scene, slice)));
    expect(calls).toHaveLength(256);
    expect(slices.row(0, 0)).toBeUndefined();
    const { bins, block } = map.picture(scene);
    expect(block).toEqual({ rows: 16, columns: 16 });
    expect([bins.across, onDiagonal(bins), bins.known.includes(0)]).toEqual([512, true, false]);
    expect(map.slicesOf(scene).every((slice) => map.has(scene, slice))).toBe(true);
  });

  test("never needs more rows at once than are kept", () => {
    const { map } = diagonal();
    // 600 rows on 512 pixels would be drawn from the rows themselves, but only 512 rows are kept
    expect(map.picture(square(0, 600)).block).toEqual({ rows: 8, columns: 8 });
    expect(map.picture(square(0, 500)).block).toEqual({ rows: 1, columns: 1 });
  });
});
