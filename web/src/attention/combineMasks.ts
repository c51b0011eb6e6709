import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { CallArguments } from "../read/callArguments.js";
import type { MaskLike, TypedTensor } from "../tensor/tensor.js";
import { zeros } from "../tensor/zeros.js";

type Bools = TypedTensor<"bool">;

/**
 * Combines masks into one, for the option `mask`: a pair may attend if every mask allows it. So a padding mask
 * `[B, 1, 1, Skv]` and an attention mask `[Sq, Skv]` become one `[B, 1, Sq, Skv]`. Shapes broadcast against each other
 * from the right, as NumPy's do.
 *
 * @param masks - Masks as the option takes them: bool, or the integers 1 (may attend) and 0 (hidden). `null` and
 *   `undefined` are left out.
 * @returns Bool, true = may attend: a copy, in the shape to which all broadcast.
 * @throws OptionError if there is no mask, or an argument is none.
 * @throws ShapeError if the shapes do not broadcast.
 * @throws OutOfMemoryError if the result does not fit memory.
 */
export function combineMasks(...masks: readonly (MaskLike | undefined)[]): Bools {
  const call = new CallArguments("combineMasks");
  const given = masks.flatMap((mask, n) =>
    mask === undefined || mask === null
      ? []
      : [{ name: `masks[${n}]`, mask: call.tensor(`masks[${n}]`, mask, ["bool"]) }],
  );
  if (given.length === 0)
    throw new OptionError(`${call.operation}: masks must hold at least one mask, got ${describe(masks)}`);
  const shape = given.reduce<readonly number[]>(
    (extents, { name, mask }) => broadcast(call.operation, extents, name, mask.shape),
    [],
  );
  const combined = zeros(call.operation, "the combined mask", shape, "bool");
  combined.data.fill(1);
  for (const { mask } of given) hide(combined, mask);
  return combined;
}

/** The shape to which two shapes broadcast. */
function broadcast(operation: string, extents: readonly number[], name: string, shape: readonly number[]): number[] {
  const rank = Math.max(extents.length, shape.length);
  const at = (of: readonly number[], axis: number) => of[axis - rank + of.length] ?? 1;
  return Array.from({ length: rank }, (_, axis) => {
    const [a, b] = [at(extents, axis), at(shape, axis)];
    if (a !== b && a !== 1 && b !== 1)
      throw new ShapeError(
        `${operation}: ${name}.shape must broadcast to ${describe(extents)}, the shape of the masks before it, ` +
          `got ${describe(shape)}`,
      );
    return a === 1 ? b : a;
  });
}

/** Writes 0 where a mask is 0, row by row along its last axis. */
function hide({ data, shape: extents }: Bools, { data: mask, shape }: Bools): void {
  const columns = extents.at(-1) ?? 1;
  const step = (shape.at(-1) ?? 1) === 1 ? 0 : 1;
  for (let begin = 0; begin < data.length; begin += columns) {
    const from = rowOf(begin / columns, extents, shape);
    for (let column = 0; column < columns; ++column) if (mask[from + step * column] === 0) data[begin + column] = 0;
  }
}

/** Where a mask has the first element of a row of the result. */
function rowOf(row: number, extents: readonly number[], shape: readonly number[]): number {
  let at = 0;
  let size = shape.at(-1) ?? 1;
  let left = row;
  for (let back = 2; back <= extents.length; ++back) {
    const extent = shape.at(-back) ?? 1;
    if (extent > 1) at += size * (left % extents.at(-back)!);
    size *= extent;
    left = Math.floor(left / extents.at(-back)!);
  }
  return at;
}
