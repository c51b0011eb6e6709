import { viridis } from "../model/viridis.js";

/** How text and cells look: in colour, or as plain characters of different density. */
export interface Palette {
  /** A cell of a heatmap, `width` columns wide. `share` is from 0 to 1. */
  cell(share: number, width: number): string;
  strong(text: string): string;
  quiet(text: string): string;
}

/** @param depth - Bits of colour, as in `tty.WriteStream.getColorDepth()`: 1 none, 8 a cube of 256, 24 all. */
export function palette(depth: number): Palette {
  if (depth < 8) return PLAIN;
  const background = depth >= 24 ? trueColour : cubeColour;
  return {
    cell: (share, width) => `${background(viridis(share))}${" ".repeat(width)}\x1b[0m`,
    strong: (text) => `\x1b[1m${text}\x1b[22m`,
    quiet: (text) => `\x1b[2m${text}\x1b[22m`,
  };
}

const SHADES = "·░▒▓█";

const PLAIN: Palette = {
  cell: (share, width) => SHADES[Math.min(Math.floor(share * SHADES.length), SHADES.length - 1)]!.repeat(width),
  strong: (text) => text,
  quiet: (text) => text,
};

type Colour = readonly [red: number, green: number, blue: number];

function trueColour(colour: Colour): string {
  return `\x1b[48;2;${colour.join(";")}m`;
}

/** The 6×6×6 cube of 256-colour terminals. */
function cubeColour(colour: Colour): string {
  const [red, green, blue] = colour.map((part) => Math.round((part / 255) * 5)) as [number, number, number];
  return `\x1b[48;5;${16 + 36 * red + 6 * green + blue}m`;
}
