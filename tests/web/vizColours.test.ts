import { describe, expect, test } from "@jest/globals";
import { lab, rgb } from "d3-color";
import * as chromatic from "d3-scale-chromatic";

import {
  colourOf,
  colourTable,
  headColours,
  inkOn,
  rampFor,
  type Kind,
  type Palette,
} from "../../web/src/viz/colours.js";

const SURFACES = { light: "#ffffff", dark: "#121212" };
const SHADES = Array.from({ length: 101 }, (_, i) => i / 100);

/** The colour difference of CIE 1976. About 2 is just noticeable side by side. */
function difference(a: string, b: string): number {
  const [p, q] = [lab(a), lab(b)];
  return Math.hypot(p.l - q.l, p.a - q.a, p.b - q.b);
}

/** The contrast of WCAG 2. */
function contrast(a: string, b: string): number {
  const luminance = (colour: string) => {
    const { r, g, b: blue } = rgb(colour);
    const linear = [r, g, blue].map((x) => (x <= 10 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0]! + 0.7152 * linear[1]! + 0.0722 * linear[2]!;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

test.each([
  ["probs", "viridis", chromatic.interpolateViridis],
  ["probs", "cividis", chromatic.interpolateCividis],
  ["probs", "magma", chromatic.interpolateMagma],
  ["scores", "purple-orange", (t: number) => chromatic.interpolatePuOr(1 - t)],
  ["scores", "red-blue", (t: number) => chromatic.interpolateRdBu(1 - t)],
] as const)("%s: %s follows the original", (kind: Kind, palette: Palette, original) => {
  const ramp = rampFor(kind, palette, "#fff");
  expect(Math.max(...SHADES.map((t) => difference(ramp(t), original(t))))).toBeLessThan(8);
});

describe.each(Object.entries(SURFACES))("on a %s surface", (name, surface) => {
  const away = (colour: string) => Math.abs(lab(colour).l - lab(surface).l);

  test("probabilities start at the surface and go one way in lightness alone", () => {
    const steps = SHADES.map((t) => away(rampFor("probs", "auto", surface)(t)));
    expect(steps[0]).toBeCloseTo(0, 1);
    steps.slice(1).forEach((step, i) => expect(step).toBeGreaterThan(steps[i]!));
    expect(steps.at(-1)).toBeGreaterThan(75);
  });

  test("scores differ from the surface in both directions, which can be told apart without red and green", () => {
    const ramp = rampFor("scores", "auto", surface);
    expect(away(ramp(0.5))).toBeCloseTo(0, 1);
    for (const t of [0.1, 0.25, 0.4]) {
      // blue against yellow can be seen with every common deficiency
      expect(lab(ramp(t)).b - lab(ramp(1 - t)).b).toBeGreaterThan(20);
    }
  });

  test("heads have contrast with the surface and differ from each other", () => {
    for (const heads of [1, 8, 12, 16]) {
      const colours = headColours(heads, surface);
      expect(colours).toHaveLength(heads);
      for (const colour of colours) expect(contrast(colour, surface)).toBeGreaterThanOrEqual(3);
      const pairs = colours.flatMap((a, i) => colours.slice(i + 1).map((b) => difference(a, b)));
      if (heads > 1) expect(Math.min(...pairs)).toBeGreaterThan(10);
    }
  });

  test(`numbers can be read in every cell (${name})`, () => {
    for (const kind of ["probs", "scores"] as const) {
      const table = colourTable(rampFor(kind, "auto", surface), 0, 1);
      for (const t of SHADES) {
        const cell = colourOf(t, table);
        expect(contrast(inkOn(cell), cell)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });
});

test("numbers beyond the ends have the colour of the end", () => {
  const table = colourTable((t) => `rgb(${255 * t}, 0, 0)`, -1, 1);
  expect([-9, -1, 1, 9].map((value) => colourOf(value, table))).toEqual([
    "rgb(0, 0, 0)",
    "rgb(0, 0, 0)",
    "rgb(255, 0, 0)",
    "rgb(255, 0, 0)",
  ]);
});
