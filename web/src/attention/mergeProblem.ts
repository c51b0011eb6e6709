import { describe, isObject } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { isArray } from "../base/typedArray.js";
import type { CallArguments } from "../read/callArguments.js";
import { refuseGpu, type LocationOption } from "../read/location.js";
import { readOptions, type NumberList } from "../read/options.js";
import { outputForm, type OutputForm } from "../read/outputForm.js";
import { floats, LOCATION, ofCall, oneOf, signal } from "../read/settingKinds.js";
import { namesIn, readRow, readTable, type TableOf } from "../read/settingTable.js";
import type { GpuFloats, GpuResult, GpuTensor } from "../tensor/gpuTensor.js";
import { headsShape, keepRank, LAYOUTS, type Layout } from "../tensor/layout.js";
import type { FloatTensor, PlacedFloats, PlacedTensor, Tensor, TypedTensor } from "../tensor/tensor.js";
import type { FloatResult, PlacedOutput, ResultTensor } from "./attentionResult.js";
import { noteOf } from "./mergeNotes.js";

/** Attention over some of the keys: a result of scaledDotProductAttention with `returns: { lse: true }`. */
export interface AttentionPart {
  readonly output: FloatTensor | GpuFloats;
  /** `[B, numHeads, Sq]`: the lse of the result. It lacks the axes that the output lacks. */
  readonly lse: Tensor<"float32"> | GpuTensor<"float32">;
}

export interface MergeOptions {
  /** Memory order of the outputs of the parts. Default `"BHSD"`. */
  readonly layout?: Layout | undefined;
  /** `[numHeads]`: sinks of the merged result. The parts must be computed without sinks. Default: none. */
  readonly sinks?: NumberList | undefined;
  /** A tensor of the output's shape, to write the output to. It is then also `result.output`. */
  readonly into?: FloatTensor | GpuFloats | undefined;
  /** Aborts the call while it waits in the queue. */
  readonly signal?: AbortSignal | undefined;
}

export interface MergeResult {
  readonly output: FloatResult;
  readonly lse: TypedTensor<"float32">;
}

/** The result of a call with `location: "gpu"`. With `into` the output is that tensor. */
export interface GpuMergeResult {
  readonly output: GpuResult<"float32"> | GpuResult<"float16">;
  readonly lse: GpuResult<"float32">;
}

/** The same as an engine gives it: its tensors lie where the call asked. */
export interface PlacedMerge {
  readonly output: PlacedOutput;
  readonly lse: ResultTensor<"float32">;
}

/** A call of mergeAttention that has passed every check. */
export interface MergeProblem {
  readonly operation: string;
  readonly layout: Layout;
  readonly shape: {
    readonly batchSize: number;
    readonly numHeads: number;
    readonly queryLength: number;
    readonly valueDim: number;
  };
  readonly parts: readonly { readonly output: PlacedFloats; readonly lse: PlacedTensor<"float32"> }[];
  readonly sinks: Float32Array | undefined;
  readonly output: OutputForm;
  readonly lseShape: readonly number[];
  readonly location: "cpu" | "gpu";
  readonly signal: AbortSignal | undefined;
}

/** A row for each option. */
export const MERGE = {
  layout: oneOf(LAYOUTS),
  sinks: floats({ length: "numHeads", minusInfinity: true }),
  location: LOCATION,
  into: ofCall(),
  signal: signal(),
} satisfies TableOf<MergeOptions & LocationOption, Readonly<Record<"numHeads", number>>>;

const OPTION_NAMES = namesIn(MERGE);

/**
 * Reads a call of mergeAttention and does all checks.
 *
 * @throws ShapeError or OptionError.
 */
export function mergeProblem(call: CallArguments, given: unknown, options: unknown): MergeProblem {
  const { operation } = call;
  const reader = readOptions(call, options, OPTION_NAMES);
  const layout = readRow(reader, "layout", MERGE.layout);
  const parts = readParts(call, given);
  if (!call.placement.onGpu) refuseGpu(reader);
  const first = parts[0]!;
  parts.forEach((part, n) => checkAlike(operation, `parts[${n}]`, part, first));

  const rank = first.output.shape.length;
  const numHeads = rank === 2 ? 1 : first.lse.shape.at(-2);
  const heads = headsShape(operation, "parts[0].output", first.output.shape, layout, numHeads, "numHeads");
  const lseShape = keepRank(layout, rank, [heads.batchSize, heads.numHeads, heads.length]);
  if (describe(first.lse.shape) !== describe(lseShape))
    throw new ShapeError(
      `${operation}: parts[0].lse.shape must be ${describe(lseShape)} for its output, got ${describe(first.lse.shape)}`,
    );
  const { batchSize, length: queryLength, headDim: valueDim } = heads;
  return {
    operation,
    shape: { batchSize, numHeads: heads.numHeads, queryLength, valueDim },
    parts,
    output: outputForm(reader, first.output.shape, first.output),
    lseShape,
    ...readTable(reader, MERGE, heads),
  };
}

function readParts(call: CallArguments, given: unknown): MergeProblem["parts"] {
  const { operation } = call;
  const refuse = () =>
    new OptionError(`${operation}: parts must be an array of at least one { output, lse }, got ${describe(given)}`);
  if (!isArray(given)) throw refuse();
  const checkLength = (length: number) => {
    if (length === 0) throw refuse();
  };
  return call.list("parts", given, checkLength, (part, n) => {
    const fields: { readonly output?: unknown; readonly lse?: unknown } = isObject(part) ? part : {};
    const { output: givenOutput, lse: givenLse } = fields;
    if (givenOutput === undefined || givenLse === undefined)
      throw new OptionError(`${operation}: parts[${n}] must be { output, lse }, got ${describe(part)}`, {
        hint: "Ask scaledDotProductAttention for `returns: { lse: true }`.",
      });
    const output = call.placed(`parts[${n}].output`, givenOutput, ["float32", "float16"]);
    const lse = call.placed(`parts[${n}].lse`, givenLse, ["float32"]);
    const { hasSinks, emptyRows } = noteOf(lse.gpu ? (givenLse as object) : (call.given(lse.data) ?? lse.data));
    if (hasSinks)
      throw new OptionError(`${operation}: parts[${n}] was computed with sinks: give them to mergeAttention instead`);
    if (emptyRows !== "zero")
      throw new OptionError(`${operation}: parts[${n}] was computed with emptyRows ${describe(emptyRows)}`);
    return { output, lse };
  });
}

type Part = MergeProblem["parts"][number];

function checkAlike(operation: string, name: string, part: Part, first: Part): void {
  for (const field of ["output", "lse"] as const) {
    const [shape, expected] = [describe(part[field].shape), describe(first[field].shape)];
    if (shape !== expected)
      throw new ShapeError(
        `${operation}: ${name}.${field}.shape must be that of parts[0], got ${shape} and ${expected}`,
      );
  }
}
