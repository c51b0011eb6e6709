import { describe, expect, test } from "@jest/globals";

import { bin, larger } from "../../web/src/viz/bins.js";
import { colourOf, colourTable } from "../../web/src/viz/colours.js";
import { csv } from "../../web/src/viz/csv.js";
import { AxisTexts } from "../../web/src/viz/labels.js";
import { mapSvg } from "../../web/src/viz/svg.js";

test("CSV quotes what would break it, and nothing else", () => {
  expect(
    csv([
      ["", 'say "a"', "b,c"],
      ["x\ny", 0.25, -1e-7],
    ]),
  ).toBe(',"say ""a""","b,c"\r\n"x\ny",0.25,-1e-7\r\n');
});

describe("the SVG of a map", () => {
  const numbers = [Float32Array.of(1, 0.5, 0.5), Float32Array.of(0, NaN, 1)];
  const cells = { rows: { from: 0, to: 2 }, columns: { from: 0, to: 3 } };
  const rule = { stronger: larger, isHidden: (row: number, column: number) => row === 1 && column === 0 };
  const block = { rows: 1, columns: 1 };
  const bins = bin((i) => numbers[i], { rows: 2, columns: 3 }, cells, block, rule);
  const table = colourTable((t) => `rgb(${Math.round(255 * t)}, 0, 0)`, 0, 1);
  const theme = { surface: "#fff", ink: "#111", quiet: "#555", line: "#ccc", accent: "#00f", hatch: "#bbb" };
  const widthOf = (text: string) => text.length;
  const svg = mapSvg({
    title: '<heads> & "tails"',
    layout: { left: 40, top: 30, right: 0, width: 60, height: 40, turn: 0 },
    sight: cells,
    bins,
    block,
    table,
    labels: { rows: new AxisTexts(["a", "<b>"], 2, 99, widthOf), columns: new AxisTexts([], 3, 99, widthOf) },
    numbers: undefined,
    theme: { ...theme, fontFamily: '"Sans", serif' },
  });
  const fills = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="20" fill="([^"]+)"/g)];

  test("is a rectangle for each run of one colour, where it stands", () => {
    expect(fills.map(([, x, y, width, fill]) => [x, y, width, fill])).toEqual([
      ["0", "0", "20", colourOf(1, table)],
      ["20", "0", "40", colourOf(0.5, table)],
      ["0", "20", "20", "url(#hidden)"],
      ["20", "20", "20", "#ff0090"],
      ["40", "20", "20", colourOf(1, table)],
    ]);
  });

  test("keeps its shape inside a page: from left to right, and cut by no other file's rectangle", () => {
    expect(svg).toMatch(/^<svg [^>]*direction="ltr"/);
    expect(svg).toContain('<svg width="60" height="40"');
    expect(svg).not.toContain("clip-path");
  });

  test("has its labels and title as text that cannot break out", () => {
    expect(svg).toContain("<title>&lt;heads&gt; &amp; &quot;tails&quot;</title>");
    expect([...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text)).toEqual([
      "a",
      "&lt;b&gt;",
      "0",
      "1",
      "2",
    ]);
    expect(svg).toContain('font-family="&quot;Sans&quot;, serif"');
    expect(svg).toContain("<desc>Each square is one cell.</desc>");
  });
});
