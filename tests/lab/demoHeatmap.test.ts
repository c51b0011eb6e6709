import { expect, test } from "@jest/globals";

import { heatmaps } from "../../web/demo/cli/heatmap.js";
import { palette } from "../../web/demo/cli/palette.js";
import { cut, displayWidth } from "../../web/demo/cli/width.js";
import { linkInWords, percent, strongestLinks } from "../../web/demo/model/links.js";
import { viridis } from "../../web/demo/model/viridis.js";

const head = (index: number, probs: readonly number[]) => ({
  layer: 0,
  head: index,
  probs: Float32Array.from(probs),
  scores: new Float32Array(probs.length),
});

test("a heatmap reads from the token at the left to the numbered column, from 0 to the strongest link", () => {
  const lines = heatmaps([head(0, [0.5, 0.5, 0, 1]), head(1, [1, 0, 0.5, 0.5])], {
    names: ["one", "two"],
    palette: palette(1),
    columns: 80,
  });
  expect(lines).toEqual([
    "       head 1  head 2",
    "       1 2     1 2",
    "1 one  ▒▒▒▒    ██··",
    "2 two  ··██    ▒▒▒▒", // 0.5 of 5 shades is the middle one
  ]);
});

test("cells become narrower, then heads move to the next line, as the terminal shrinks", () => {
  const names = Array.from({ length: 20 }, (_, i) => `t${i}`);
  const heads = [0, 1, 2, 3].map((index) => head(index, new Array<number>(400).fill(0.05)));
  const width = (columns: number) => {
    const lines = heatmaps(heads, { names, palette: palette(1), columns });
    return { lines: lines.length, widest: Math.max(...lines.map(displayWidth)) };
  };
  expect(width(200)).toEqual({ lines: 22, widest: 8 + 4 * 42 - 2 });
  expect(width(100)).toEqual({ lines: 22, widest: 8 + 4 * 22 - 2 });
  expect(width(60)).toEqual({ lines: 45, widest: 8 + 2 * 22 - 2 });
});

test("beyond 32 tokens a cell shows the strongest of several", () => {
  const tokens = 64;
  const probs = new Float32Array(tokens ** 2);
  probs[5 * tokens + 63] = 1;
  const lines = heatmaps([{ ...head(0, []), probs }], {
    names: new Array(tokens).fill("x"),
    palette: palette(1),
    columns: 80,
  });
  expect(lines).toHaveLength(2 + 32);
  expect(lines[2 + 2]).toMatch(/^ 3 x … {2}(··){31}██$/);
});

test("colour only where there is colour: none, 256, all", () => {
  expect(palette(1).cell(1, 2)).toBe("██");
  expect(palette(4).strong("x")).toBe("x");
  expect(palette(8).cell(0, 1)).toBe("\x1b[48;5;54m \x1b[0m");
  expect(palette(24).cell(1, 2)).toBe("\x1b[48;2;253;231;37m  \x1b[0m");
});

test("viridis runs from dark to bright and stays inside its ends", () => {
  const lightness = (share: number) => viridis(share).reduce((sum, part) => sum + part, 0);
  for (let i = 1; i <= 20; i++) expect(lightness(i / 20)).toBeGreaterThan(lightness((i - 1) / 20));
  expect(viridis(-1)).toEqual(viridis(0));
  expect(viridis(2)).toEqual(viridis(1));
});

test("strongest links in words, strongest first", () => {
  const names = ["one", "two"];
  const links = strongestLinks(Float32Array.from([0.25, 0.75, 0.999, 0.001]), 3);
  expect(links.map((link) => linkInWords(link, names))).toEqual([
    "two → one 100\u00a0%",
    "one → two 75\u00a0%",
    "one → itself 25\u00a0%",
  ]);
  expect([percent(0), percent(0.001), percent(0.005)]).toEqual(["0\u00a0%", "<1\u00a0%", "1\u00a0%"]);
});

test("wide and combining characters keep the columns straight", () => {
  expect(displayWidth("日本")).toBe(4);
  expect(displayWidth("𠮷野家")).toBe(6); // the first is beyond 16 bits
  expect(displayWidth("❤️1️⃣￥")).toBe(6); // a sign that is asked to be an emoji, and a wide one of money
  expect(displayWidth("e\u0301")).toBe(1);
  expect(cut("abcdef", 4)).toBe("abc…");
  expect(cut("日本語", 4)).toBe("日…");
  expect(cut("abcd", 4)).toBe("abcd");
  expect(cut("a👩🏽‍🚀👩🏽‍🚀b", 4)).toBe("a👩🏽‍🚀…");
  expect(displayWidth("👩🏽‍🚀e\u0301🇩🇪")).toBe(5);
});
