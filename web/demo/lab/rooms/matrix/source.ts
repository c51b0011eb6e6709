import { t } from "../../../texts/t.js";
import { matrix, parseMatrix, type Matrix } from "../../shell/matrix.js";
import { EXAMPLE, LARGEST, WORDS } from "./example.js";

/** What the rows of X stand for: words, moments of a time series, or patches of an image. */
export const SOURCES = ["words", "series", "image"] as const;
export type Source = (typeof SOURCES)[number];

/** Numbers from elsewhere, at the room's largest size: more columns than `width` are 0. */
interface Origin {
  readonly names: readonly string[];
  readonly x: Matrix;
  /** How many numbers a row has by itself. */
  readonly width: number;
  /** How many rows there are at first. */
  readonly positions: number;
}

/** The channels of the time series, in the order of the columns of X. */
export const CHANNELS = [t`temperature`, t`wind`, t`rain`] as const;
/** A patch has so many pixels on a side, and the image so many patches in a row. */
export const PATCH = 2;
export const PATCHES_IN_ROW = 3;

const ORIGINS: Readonly<Record<Source, Origin>> = {
  words: { names: WORDS, x: EXAMPLE.x, width: 7, positions: 5 },
  series: {
    names: [t`Mon`, t`Tue`, t`Wed`, t`Thu`, t`Fri`, t`Sat`],
    x: filled("0.5 -0.5 0; 1 -0.5 0; 0 1 0.5; -0.5 1 1; -1 0.5 0.5; 0.5 0 -0.5"),
    width: CHANNELS.length,
    positions: 6,
  },
  // A dark mountain before the sky, and the sun at the top right.
  image: {
    names: ["A", "B", "C", "D", "E", "F"],
    x: filled("0.5 0.5 0.5 0.5; 0.5 0.5 0 0.5; 1 1 1 1; 0.5 0 0 0; 0 0 0 0; 0.5 0.5 0 0.5"),
    width: PATCH * PATCH,
    positions: 6,
  },
};

export function originOfX(source: Source): Origin {
  return ORIGINS[source];
}

function filled(text: string): Matrix {
  const { positions, inputDim } = LARGEST;
  return parseMatrix(
    text,
    positions,
    inputDim,
    matrix(positions, inputDim, () => 0),
  );
}
