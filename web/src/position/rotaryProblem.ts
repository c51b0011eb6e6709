import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu, type LocationOption } from "../read/location.js";
import { isList, readOptions, type NumberList, type OptionReader } from "../read/options.js";
import { HEADS } from "../read/otherNames.js";
import { outputForm, type OutputForm } from "../read/outputForm.js";
import { integer, LOCATION, ofCall, oneOf, signal } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import type { GpuFloats } from "../tensor/gpuTensor.js";
import { axisName, headsShape, LAYOUTS, type HeadsShape, type Layout } from "../tensor/layout.js";
import { FLOATS, type FloatTensor, type PlacedFloats, type TensorLike } from "../tensor/tensor.js";
import { checkTableRows, followsLength, withLength } from "./checkedAngles.js";
import { ANGLE_OTHERS } from "./otherNames.js";
import { ANGLE_NAMES, readAngles, refuseSections, type CheckedAngles, type RotaryAngles } from "./rotaryAngles.js";
import type { Int64Tensor } from "./tokenPositions.js";

/** Options of `rotaryEmbedding`. */
export interface RotaryOptions extends RotaryAngles {
  /** Memory order of x. Default `"BHSD"`. */
  readonly layout?: Layout | undefined;
  /** Number of heads. Needed for `"BSE"` and `"BES"` of rank 3. */
  readonly numHeads?: number | undefined;
  /**
   * Positions of the tokens: the position of the first token, a list with one for each token, or a tensor `[S]` or
   * `[B, S]` of float32, int32 or int64. With `cos` and `sin`, positions are row numbers. Default 0, 1, 2, …
   */
  readonly positions?: number | NumberList | TensorLike<"int32"> | Int64Tensor | undefined;
  /** A tensor of x's shape, to write the result to. */
  readonly into?: FloatTensor | GpuFloats | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

/** A call of rotaryEmbedding that has passed every check. */
export interface RotaryProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly heads: HeadsShape;
  readonly x: PlacedFloats;
  readonly angles: CheckedAngles;
  /** Whether the angles follow the highest position. */
  readonly followsLength: boolean;
  /** `[B, S]`. */
  readonly positions: Float64Array;
  readonly output: OutputForm;
  readonly location: "cpu" | "gpu";
  readonly signal: AbortSignal | undefined;
}

/** A row for each option that does not say how to turn. */
export const ROTARY = {
  layout: oneOf(LAYOUTS),
  numHeads: integer({ min: 1 }),
  positions: ofCall(),
  location: LOCATION,
  into: ofCall(),
  signal: signal(),
} satisfies TableOf<Omit<RotaryOptions, keyof RotaryAngles> & LocationOption>;

export const OPTION_NAMES = [...ANGLE_NAMES, ...namesIn(ROTARY)];

/** Reads and checks a call of rotaryEmbedding. */
export function rotaryProblem(call: CallArguments, given: unknown, givenOptions: unknown): RotaryProblem {
  const { operation } = call;
  const options = readOptions(call, givenOptions, OPTION_NAMES, "", "option", [...HEADS, ...ANGLE_OTHERS]);
  const x = call.placed("x", given, FLOATS);
  if (!call.placement.onGpu) refuseGpu(options);
  const { layout, numHeads, ...told } = readTable(options, ROTARY);
  const heads = headsShape(operation, "x", x.shape, layout, numHeads, "numHeads");
  if (!options.has("rotaryDim") && heads.headDim % 2 !== 0)
    throw new ShapeError(
      `${operation}: ${axisName("x", layout, x.shape.length, "headDim")} (headDim) must be even, got ${heads.headDim}`,
      { hint: "Or say with rotaryDim how many features turn." },
    );
  refuseSections(options);
  const angles = readAngles(options, heads.headDim);
  const positions = readPositions(options, heads);
  checkTableRows(operation, angles, positions);
  return {
    operation,
    layout,
    heads,
    x,
    angles: followsLength(angles) ? withLength(angles, positions) : angles,
    followsLength: followsLength(angles),
    positions,
    output: outputForm(options, x.shape, x),
    ...told,
  };
}

/** One position for each token, [B, S]. */
function readPositions(options: OptionReader, { batchSize, length }: HeadsShape): Float64Array {
  const positions = new Float64Array(batchSize * length);
  const value = options.value("positions");
  if (value === undefined || typeof value === "number") {
    const first = options.number("positions") ?? 0;
    return positions.map((_, token) => first + (token % length));
  }
  const list = positionList(options, value, batchSize, length);
  return positions.map((_, token) => list[token % list.length]!);
}

/** A list of S or B·S numbers. */
function positionList(options: OptionReader, value: unknown, batchSize: number, length: number): number[] {
  const { operation, call } = options;
  const finite = (position: unknown, token: number): number => {
    if (typeof position === "number" && Number.isFinite(position)) return position;
    throw new OptionError(`${operation}: positions[${token}] must be a finite number, got ${describe(position)}`);
  };
  if (isList(value)) {
    const read = (position: unknown, token: number) =>
      finite(typeof position === "bigint" ? Number(position) : position, token);
    return call.list("positions", value, (given) => checkPositionCount(operation, given, length), read);
  }
  const { data, shape } = call.tensor("positions", value, ["float32", "int32"]);
  const fits =
    (shape.length === 1 && shape[0] === length) ||
    (shape.length === 2 && shape[0] === batchSize && shape[1] === length);
  if (!fits)
    throw new ShapeError(
      `${operation}: positions.shape must be [${length}] or [${batchSize}, ${length}], got ${describe(shape)}`,
    );
  return Array.from(data, finite);
}

function checkPositionCount(operation: string, given: number, length: number): void {
  if (given === length) return;
  throw new ShapeError(`${operation}: positions must have a number per token (${length}), got ${given}`, {
    hint: "Positions that differ between batches go in a tensor [B, S].",
  });
}
