import { hcl, lab, rgb } from "d3-color";
import { interpolateLab, piecewise } from "d3-interpolate";

/** `"probs"`: probabilities of at least 0. `"scores"`: numbers of either sign. */
export const KINDS = ["probs", "scores"] as const;
export type Kind = (typeof KINDS)[number];

export const PALETTES = ["auto", "viridis", "cividis", "magma", "purple-orange", "red-blue"] as const;
/** The names of the palettes. */
export type Palette = (typeof PALETTES)[number];

/** A colour for each number from 0 to 1. */
export type Ramp = (t: number) => string;

/** Well-known palettes, as a few of their colours. Between these, the error is below a just noticeable difference. */
const NAMED: Readonly<Record<Kind, Readonly<Partial<Record<Palette, readonly string[]>>>>> = {
  probs: {
    viridis: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"],
    cividis: ["#002051", "#11366c", "#3c4d6e", "#62646f", "#7f7c75", "#9a9478", "#bbaf71", "#e2cb5c", "#fdea45"],
    magma: ["#000004", "#1d1147", "#51127c", "#832681", "#b73779", "#e75263", "#fc8961", "#fec488", "#fcfdbf"],
  },
  scores: {
    "purple-orange": [
      "#7f3b08",
      "#b25a09",
      "#dd841f",
      "#f8b664",
      "#fdddb3",
      "#f3eeea",
      "#d7d7e9",
      "#b0aad0",
      "#8170ac",
      "#552d84",
      "#2d004b",
    ],
    "red-blue": [
      "#053061",
      "#2265a3",
      "#4b94c4",
      "#8fc2dd",
      "#cde3ee",
      "#f2efee",
      "#fbd7c4",
      "#f1a385",
      "#d55f50",
      "#ac202f",
      "#67001f",
    ],
  },
};

// Lightness changes in one direction, so the palettes can be read without hue. They start near the surface's colour, so
// that 0 looks like nothing.
const ON_LIGHT = ["#a9d8da", "#4aa3bd", "#2b6ca3", "#273c7f", "#170f45"];
const ON_DARK = ["#1d3b63", "#22678f", "#2f9aa5", "#86d0a8", "#fbf6c5"];
const BELOW_ZERO = { light: ["#e6b07c", "#b3600f", "#5c2a00"], dark: ["#5b3a1c", "#c27a2c", "#ffd9a0"] };
const ABOVE_ZERO = { light: ["#94bfe0", "#2f6fb0", "#0b2d5c"], dark: ["#1f4266", "#3f8fd0", "#bfe3ff"] };

/** The palette of a kind on a surface. A palette that belongs to the other kind counts as `"auto"`. */
export function rampFor(kind: Kind, palette: Palette, surface: string): Ramp {
  const named = NAMED[kind][palette];
  if (named) return piecewise(interpolateLab, [...named]);
  const theme = isDark(surface) ? "dark" : "light";
  if (kind === "probs") return piecewise(interpolateLab, [surface, ...(theme === "dark" ? ON_DARK : ON_LIGHT)]);
  return piecewise(interpolateLab, [...BELOW_ZERO[theme].toReversed(), surface, ...ABOVE_ZERO[theme]]);
}

export function isDark(surface: string): boolean {
  return lab(surface).l < 50;
}

/**
 * Black or white: the one that has more contrast with a colour (WCAG 2). At this luminance both have the same contrast.
 */
export function inkOn(background: string): string {
  return luminance(background) > 0.179 ? "#000" : "#fff";
}

function luminance(colour: string): number {
  const { r, g, b } = rgb(colour);
  const linear = (byte: number) => (byte <= 10 ? byte / 3294.6 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** The colours of Okabe and Ito, made lighter or darker for a contrast of 3 : 1 with the surface. */
const FEW_HEADS = {
  light: ["#0072b2", "#c2410c", "#007a5a", "#9d4784", "#8a6d00", "#2a86b8", "#4d4d4d", "#7a2ea0"],
  dark: ["#56b4e9", "#ff9a5c", "#2fc79a", "#e79ac9", "#f0e442", "#7aa5ff", "#c9c9c9", "#c59bff"],
};

/**
 * A colour for each head. Up to eight heads get colours that colour-blind people can tell apart. More heads get hues
 * around the colour circle.
 */
export function headColours(heads: number, surface: string): string[] {
  const theme = isDark(surface) ? "dark" : "light";
  if (heads <= FEW_HEADS[theme].length) return FEW_HEADS[theme].slice(0, heads);
  // lightness alternates, so that neighbours on the circle differ in more than hue
  const lightness = theme === "dark" ? [82, 68] : [36, 50];
  return Array.from({ length: heads }, (_, h) => hcl((360 * h) / heads + 20, 60, lightness[h % 2]!).formatHex());
}

const SHADES = 256;

/** A table of colours as the bytes of a picture, for the numbers from `low` to `high`. */
export interface ColourTable {
  readonly low: number;
  readonly high: number;
  readonly bytes: Uint8ClampedArray;
}

export function colourTable(ramp: Ramp, low: number, high: number): ColourTable {
  const bytes = new Uint8ClampedArray(4 * SHADES);
  for (let i = 0; i < SHADES; ++i) {
    const { r, g, b } = rgb(ramp(i / (SHADES - 1)));
    bytes.set([r, g, b, 255], 4 * i);
  }
  return { low, high, bytes };
}

/** The index in `bytes` of a number's colour. Numbers outside the range get the first or the last colour. */
export function shadeOf(value: number, { low, high }: ColourTable): number {
  const t = high > low ? (value - low) / (high - low) : 0;
  return 4 * Math.round(Math.min(Math.max(t, 0), 1) * (SHADES - 1));
}

/** The colour of NaN. It differs clearly from every palette. */
export const NOT_A_NUMBER = { bytes: [255, 0, 144, 255], css: "#ff0090" };

/** The colour of a number, as CSS text. */
export function colourOf(value: number, table: ColourTable): string {
  if (Number.isNaN(value)) return NOT_A_NUMBER.css;
  const at = shadeOf(value, table);
  return `rgb(${table.bytes.subarray(at, at + 3).join(", ")})`;
}
