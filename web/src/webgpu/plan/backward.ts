import type { BackwardProblem } from "../../attention/backwardProblem.js";
import { UnsupportedError } from "../../base/errors.js";
import type { Watched } from "../../read/watched.js";
import { largestOf } from "../../tensor/largest.js";
import { product } from "../../tensor/product.js";
import { gradientForm } from "../formula/formulaForm.js";
import { formulaWordCount, formulaWords } from "../formula/formulaWords.js";
import type { FloatDtype, Kernel } from "../kernels/kernel.js";
import { hasOptions, type Params } from "../kernels/params.js";
import { inputStrides, paramsOf, type AllStrides, type InPlace } from "./attentionParams.js";
import { factsOf, featuresOf, type AttentionFacts } from "./facts.js";
import { FLAT_WORKGROUP, flatKernel, type Step } from "./flatKernels.js";
import { checkBytes, divideUp, gridOf, type Limits } from "./limits.js";
import { ownRowBytes, type AttentionPlan } from "./plan.js";
import type { Sequence } from "./sequences.js";
import { checkSettings } from "./settings.js";
import { CHUNK4, FEW_ROWS, FEW_THREADS_Y, KEY_TILE, ROW_BYTES, ROWS_PER_THREAD, THREADS_X, type Stored } from "./tiles.js"; // oxfmt-ignore

/** A backward call, wherever its results go. */
export type BackwardCall = Omit<BackwardProblem, keyof Watched>;

/** A pass over pairs of rows and keys, in blocks of the columns of its gradients. */
export interface PairPass extends Step {
  readonly blocks: number;
}

/** A pass whose workgroups write parts of a result, which another kernel adds. */
export interface PartsPass extends Step {
  readonly parts: number;
  /** Elements of the result. */
  readonly count: number;
  readonly sum: Step | undefined;
}

/** dBias. */
export interface BiasPass extends PartsPass {
  /** `Repeats` of backward_bias.wgsl. */
  readonly repeats: readonly number[];
}

/** dTables, as words in the order of the formulas' words. */
export interface TablesPass extends PartsPass {
  readonly rowTiles: number;
}

export interface BackwardPlan extends Pick<AttentionPlan, "packed" | "stored" | "features"> {
  readonly tile: BackwardTile;
  /** Packs dO, and computes what every kernel needs of a row. */
  readonly rows: Step;
  /** The lse of rows where it is far from 0, in two parts. */
  readonly lse: PairPass;
  /** dQ and the rows' sums. */
  readonly queries: PairPass | undefined;
  /** dK and dV. */
  readonly keys: PairPass | undefined;
  /** dSinks, dHeadGain and dAlibiSlopes. */
  readonly heads: Step | undefined;
  readonly bias: BiasPass | undefined;
  readonly tables: TablesPass | undefined;
  readonly rowTiles: number;
  /** Bytes of what rows need, and of the packed dO. */
  readonly rowBytes: number;
}

/** A backward call with everything that follows from it without a GPU. */
export interface PlannedBackward {
  readonly problem: BackwardCall;
  readonly sequences: readonly Sequence[];
  readonly plan: BackwardPlan;
  readonly strides: AllStrides;
  readonly params: Params;
  readonly formulaWords: Float32Array;
}

/**
 * Plans a backward call.
 *
 * @throws UnsupportedError if the call exceeds a limit of the device.
 */
export function plannedBackward(
  problem: BackwardCall,
  sequences: readonly Sequence[],
  limits: Limits,
  inPlace: InPlace = {},
): PlannedBackward {
  const facts = factsOf({ ...problem, wanted: ONLY_OUTPUT, output: { dtype: "float32" } }, sequences);
  // Keys beyond a length get gradients too: zeros.
  const mostKeys = largestOf(sequences.map(({ numKeys }) => numKeys));
  const plan = planBackward(facts, problem, mostKeys, limits);
  checkSettings(problem, limits);
  const strides = inputStrides(problem, plan, inPlace);
  const { shape } = problem;
  const keyRows = shape.batchSize * shape.numKvHeads * shape.keyLength;
  return {
    problem,
    sequences,
    plan,
    strides,
    params: {
      ...paramsOf(problem, { ...plan, rowStride: 0 }, sequences, strides),
      key_scales: keyRows * divideUp(shape.headDim, 4),
      value_scales: keyRows * divideUp(shape.valueDim, 4),
      row_tiles: plan.rowTiles,
      key_parts: 1,
      keys_per_part: Math.max(shape.keyLength, 1),
    },
    formulaWords: formulaWords(problem.settings, shape.headDim),
  };
}

const ONLY_OUTPUT = {
  output: true,
  probs: undefined,
  topK: undefined,
  lse: false,
  entropy: false,
  scores: undefined,
} as const;

/** All inputs are packed, because what is not finite in them must become 0, and queries are scaled. */
const ALL_PACKED = { query: true, key: true, value: true } as const;
const STORED = { query: "float32", stored: "float32" } as const satisfies Stored;

/** Invocations that share a row where rows are packed. */
const ROW_LANES = 8;

/** Packs rows of heads for the kernels of pairs; see clean_rows.wgsl. */
export function cleanStep(dtype: FloatDtype, rows: number): Step {
  const constants = { THREADS: FLAT_WORKGROUP, LANES: ROW_LANES, HALF: dtype === "float16" };
  return { kernel: { name: "clean_rows", constants }, workgroups: divideUp(rows, FLAT_WORKGROUP / ROW_LANES) };
}

function planBackward(facts: AttentionFacts, problem: BackwardCall, mostKeys: number, limits: Limits): BackwardPlan {
  const { shape, numSequences, longestQuery, emptyRows, dropout } = facts;
  const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = shape;
  const { wanted, output, dOutput, dLse, derivatives, settings } = problem;
  const features = featuresOf(facts);
  const kernel = (name: Kernel["name"], { constants }: BackwardTile, kind: "pairs" | "tables"): Kernel => {
    const formula = gradientForm(facts.score, facts.visible, derivatives, kind);
    return {
      name,
      ...STORED,
      constants: { ...constants, PLAIN: formula === undefined && !dropout, OPTIONS: hasOptions(features) },
      ...(formula && { formula }),
      ...(dropout && { dropout }),
    };
  };
  const rowBytes = ownRowBytes(facts, gradientForm(facts.score, facts.visible, derivatives, "pairs"));
  const rows = longestQuery * (numHeads / numKvHeads);
  const tile = tileOf(rows, rowBytes, limits);
  const numRows = batchSize * numHeads * queryLength;
  const rowTiles = divideUp(rows, tile.rows);
  const blocksOf = (width: number) => Math.max(1, divideUp(divideUp(width, 4), tile.columns4));
  const pass = (name: Kernel["name"], tiles: number, blocks: number): PairPass => ({
    kernel: kernel(name, tile, "pairs"),
    workgroups: numSequences * numKvHeads * tiles * blocks,
    blocks,
  });
  const ofHeads = wanted.dSinks || wanted.dHeadGain || wanted.dAlibiSlopes;
  const widest = Math.max(wanted.dKey ? headDim : 0, wanted.dValue ? valueDim : 0);
  const biasTile = tileOf(queryLength, rowBytes, limits);
  const { bias } = settings;
  const plan = {
    packed: ALL_PACKED,
    stored: STORED,
    features,
    tile,
    rows: {
      kernel: {
        name: "backward_rows",
        constants: {
          THREADS: FLAT_WORKGROUP,
          LANES: ROW_LANES,
          HALF_OUTPUT: output.dtype === "float16",
          HALF_GRADIENT: dOutput.dtype === "float16",
          HAS_D_LSE: dLse !== undefined,
        },
      },
      workgroups: divideUp(numRows, FLAT_WORKGROUP / ROW_LANES),
    },
    lse: pass("backward_lse", rowTiles, 1),
    queries:
      wanted.dQuery || ofHeads || emptyRows === "throw"
        ? pass("backward_queries", rowTiles, wanted.dQuery ? blocksOf(headDim) : 1)
        : undefined,
    keys:
      wanted.dKey || wanted.dValue ? pass("backward_keys", divideUp(mostKeys, KEY_TILE), blocksOf(widest)) : undefined,
    heads: ofHeads
      ? {
          kernel: { name: "backward_heads", ...STORED, constants: { THREADS: FLAT_WORKGROUP, OPTIONS: true } },
          workgroups: numHeads,
        }
      : undefined,
    bias:
      wanted.dBias && bias
        ? biasPass(kernel("backward_bias", biasTile, "pairs"), biasTile, shape, bias.extents)
        : undefined,
    tables: wanted.dTables
      ? tablesPass((small) => kernel("backward_tables", small, "tables"), rows, numSequences * numKvHeads, formulaWordCount(settings)) // oxfmt-ignore
      : undefined,
    rowTiles,
    rowBytes: numRows * (ROW_WORD_BYTES + 16 * divideUp(valueDim, 4)),
  } as const satisfies BackwardPlan;
  checkLimits(facts, plan, limits);
  return plan;
}

/** Parts of a result are made until there are about so many workgroups, if they take at most so many bytes. */
const ENOUGH_WORKGROUPS = 256;
const MOST_PART_BYTES = 2 ** 26;

function partsOf(most: number, workgroups: number, count: number): number {
  const room = Math.floor(MOST_PART_BYTES / (4 * Math.max(count, 1)));
  return Math.max(1, Math.min(most, divideUp(ENOUGH_WORKGROUPS, workgroups), room));
}

function sumStep(parts: number, count: number): Step | undefined {
  return parts > 1 ? { kernel: flatKernel("sum_parts"), workgroups: divideUp(count, FLAT_WORKGROUP) } : undefined;
}

/** A workgroup for each tile of the bias, and parts of what it repeats along. */
function biasPass(
  kernel: Kernel,
  tile: BackwardTile,
  { batchSize, numHeads, queryLength, keyLength }: AttentionFacts["shape"],
  extents: readonly [number, number, number, number],
): BiasPass {
  const all = [batchSize, numHeads, divideUp(queryLength, tile.rows), divideUp(keyLength, KEY_TILE)];
  const own = all.map((tiles, axis) => (extents[axis] === 1 ? 1 : tiles));
  const each = all.map((tiles, axis) => (extents[axis] === 1 ? tiles : 1));
  const times = product(each);
  const tiles = product(own);
  const count = product(extents);
  const wanted = partsOf(times, Math.max(tiles, 1), count);
  const perPart = Math.max(1, divideUp(times, wanted));
  const parts = Math.max(1, divideUp(times, perPart));
  const [, ...timesOfAxes] = each;
  return {
    kernel,
    workgroups: tiles * parts,
    parts,
    count,
    sum: sumStep(parts, count),
    repeats: [...own, ...timesOfAxes, times, perPart, parts, count, Number(extents[2] === 1), Number(extents[3] === 1)],
  };
}

/** A workgroup for each part, which has its own tables. */
function tablesPass(kernelOf: (tile: BackwardTile) => Kernel, rows: number, groups: number, count: number): TablesPass {
  const tile = tileWith(FEW_THREADS_Y, 1, 0);
  const rowTiles = divideUp(rows, tile.rows);
  const parts = partsOf(rowTiles * groups, 1, count);
  return { kernel: kernelOf(tile), workgroups: parts, parts, count, sum: sumStep(parts, count), rowTiles };
}

/** What `row_words` has of each row before dO: see backward_call.wgsl. */
export const ROW_WORD_BYTES = 32;

/** `RowNumbers` of pair_tile.wgsl. */
const ROW_NUMBER_BYTES = 32;

/** The tile of pair_tile.wgsl. */
export interface BackwardTile {
  readonly rows: number;
  readonly columns4: number;
  readonly constants: Kernel["constants"];
  readonly workgroupBytes: number;
}

/** The larger tile if it fits the device and the rows fill it. */
function tileOf(rows: number, formulaBytes: number, limits: Limits): BackwardTile {
  const large = tileWith(8, 2, formulaBytes);
  const isGood = rows > FEW_ROWS && large.workgroupBytes <= limits.maxComputeWorkgroupStorageSize;
  return isGood ? large : tileWith(FEW_THREADS_Y, 1, formulaBytes);
}

function tileWith(threadsY: number, vectors: number, formulaBytes: number): BackwardTile {
  const rows = threadsY * ROWS_PER_THREAD;
  const columns4 = vectors * THREADS_X;
  const tile4 = Math.max(CHUNK4 * (rows + 1 + KEY_TILE + 1), columns4 * Math.max(rows, KEY_TILE));
  return {
    rows,
    columns4,
    constants: {
      THREADS_X,
      THREADS_Y: threadsY,
      THREADS: THREADS_X * threadsY,
      R: ROWS_PER_THREAD,
      G: KEY_TILE / (4 * threadsY),
      W: vectors,
      Q_TILE: rows,
      KV_TILE: KEY_TILE,
      CHUNK4,
      TILE4: tile4,
    },
    workgroupBytes:
      16 * tile4 + 8 * rows * KEY_TILE + (ROW_BYTES + formulaBytes + ROW_NUMBER_BYTES) * rows + 8 * KEY_TILE,
  };
}

function checkLimits({ operation, shape }: AttentionFacts, plan: BackwardPlan, limits: Limits): void {
  const { batchSize: B, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const packed = (rows: number, dim: number) => 16 * rows * (divideUp(dim, 4) + 1);
  const sizes: Record<string, number> = {
    query: packed(B * numHeads * queryLength, headDim),
    key: packed(B * numKvHeads * keyLength, headDim),
    value: packed(B * numKvHeads * keyLength, valueDim),
    "the gradients of key and value": 4 * B * numKvHeads * keyLength * (headDim + valueDim),
    "the rows' numbers": plan.rowBytes,
    "the gradient of bias": 4 * (plan.bias ? plan.bias.parts * plan.bias.count : 0),
    "the gradients of tables": 4 * (plan.tables ? plan.tables.parts * plan.tables.count : 0),
  };
  for (const [name, bytes] of Object.entries(sizes)) checkBytes(operation, name, bytes, limits);
  for (const step of [plan.rows, plan.lse, plan.queries, plan.keys, plan.bias, plan.bias?.sum, plan.tables?.sum])
    if (step) gridOf(operation, step.kernel.name, step.workgroups, limits);
  if (plan.tile.workgroupBytes > limits.maxComputeWorkgroupStorageSize)
    throw new UnsupportedError(
      `${operation}: a workgroup needs ${plan.tile.workgroupBytes} bytes, over the device's ` +
        `maxComputeWorkgroupStorageSize of ${limits.maxComputeWorkgroupStorageSize}`,
    );
}
