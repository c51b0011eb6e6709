import { OptionError } from "../base/errors.js";
import type { CheckedAngles } from "./rotaryAngles.js";

/** How angles are decided, in the order of RotaryScaling in position.h. */
export const ANGLE_KINDS = [
  "none",
  "linear",
  "ntk",
  "dynamic-ntk",
  "yarn",
  "llama3",
  "longrope",
  "frequencies",
  "tables",
] as const;

/** The number of its kind in position.h, and in saved caches. */
export function kindNumber({ scaling, frequencies, tables }: CheckedAngles): number {
  return ANGLE_KINDS.indexOf(tables ? "tables" : frequencies ? "frequencies" : (scaling?.kind ?? "none"));
}

/** Throws if tables have no row for a position. */
export function checkTableRows(
  operation: string,
  { tables }: CheckedAngles,
  positions: ArrayLike<number>,
  name = "positions",
): void {
  if (!tables) return;
  for (let n = 0; n < positions.length; ++n) {
    const position = positions[n]!;
    if (!Number.isInteger(position) || position < 0 || position >= tables.rows)
      throw new OptionError(
        `${operation}: ${name} must be rows of cos and sin, 0 to ${tables.rows - 1}, got ${position}`,
      );
  }
}

/** Whether the angles depend on the length of a call: keys in a cache then have the angles of another length. */
export function followsLength({ scaling }: CheckedAngles): boolean {
  return (scaling?.kind === "dynamic-ntk" || scaling?.kind === "longrope") && scaling.sequenceLength === undefined;
}

/** Angles that follow the length, at the length of these positions. */
export function withLength({ scaling, ...angles }: CheckedAngles, positions: Float64Array): CheckedAngles {
  const sequenceLength = positions.reduce((longest, position) => Math.max(longest, position + 1), 1);
  return { ...angles, scaling: scaling && { ...scaling, sequenceLength } };
}
