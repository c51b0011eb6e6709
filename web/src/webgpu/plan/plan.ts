import type { AttentionShape } from "../../attention/attentionShape.js";
import { selectedExtents, type ScoreStage, type Selection } from "../../attention/returns.js";
import { UnsupportedError } from "../../base/errors.js";
import { formulaForm, type FormulaForm } from "../formula/formulaForm.js";
import { BYTES, type Kernel } from "../kernels/kernel.js";
import { hasOptions } from "../kernels/params.js";
import { featuresOf, type AttentionFacts } from "./facts.js";
import { FLAT_THREADS, narrowStep, type Step } from "./flatKernels.js";
import { checkBytes, divideUp, gridOf, type Limits } from "./limits.js";
import {
  attendTile,
  chooseThreadsY,
  decodeTile,
  DROPOUT_ROW_BYTES,
  THREADS_X,
  tileConstants,
  tilesOf,
  type Split,
  type Stored,
  type Tile,
  type Tiles,
} from "./tiles.js";

/** An attention pass over all keys, or over parts of the keys, which a second kernel merges. */
export interface AttendPlan {
  readonly attend: Step;
  readonly merge: Step | undefined;
  readonly tiles: Tiles;
  readonly rowTiles: number;
  readonly valueBlocks: number;
  readonly keyParts: number;
  readonly keysPerPart: number;
  /** Bytes of the outputs and statistics of all parts. */
  readonly partBytes: { readonly outputs: number; readonly statistics: number };
}

/**
 * One inspection: probabilities or scores of chosen heads and queries. It may take several steps of `rowsPerStep`
 * queries.
 */
export interface InspectPlan {
  readonly stage: ScoreStage | "probs" | "ranked";
  readonly selection: Selection;
  readonly kernel: Kernel;
  readonly tiles: Tiles;
  readonly heads: number;
  readonly queries: number;
  readonly rowsPerStep: number;
  /** Set for topK, which reads the inspection's result. */
  readonly topK: { readonly kernel: Kernel; readonly k: number } | undefined;
}

export interface AttentionPlan {
  readonly facts: AttentionFacts;
  /** Which inputs are first packed to [B, H, S, width] with whole vec4. */
  readonly packed: { readonly query: boolean; readonly key: boolean; readonly value: boolean };
  /** How the query, and keys and values, are stored for the kernels. */
  readonly stored: Stored;
  readonly attend: AttendPlan | undefined;
  readonly inspect: readonly InspectPlan[];
  /** The step to a float16 output: it is computed in float32 and converted at the end. */
  readonly narrow: Step | undefined;
  /** Bits of FEATURE in params.ts: what the call has and wants. */
  readonly features: number;
  /** Elements from one section of `rows` to the next. */
  readonly rowStride: number;
  /**
   * Bytes that must be read or written at least once (`bytes`), and multiply-adds, hidden keys included
   * (`multiplyAdds`).
   */
  readonly bytes: number;
  readonly multiplyAdds: number;
}

/** Sections of the buffer `rows`: lse, entropy, maximum, sum, flags. */
export const ROW_SECTIONS = 5;

/** Most bytes of ranked probabilities that topK keeps at once. */
const MOST_SCRATCH_BYTES = 2 ** 26;

/** So many parts of the keys are merged by more invocations: as many as the device allows. */
const MANY_PARTS = 16;
const MANY_PARTS_THREADS = [256, 128] as const;

/** Alignment of every section, because a section may become a tensor of its own. */
const SECTION_ELEMENTS = 64;

export function planAttention(facts: AttentionFacts, limits: Limits): AttentionPlan {
  const { shape, wanted } = facts;
  const packed = packedInputs(facts);
  const plain: Stored = {
    query: packed.query ? "float32" : facts.dtypes.query,
    stored: packed.key || packed.value ? "float32" : facts.dtypes.key,
  };
  const formula = formulaForm(facts.score, facts.visible);
  const rowBytes = ownRowBytes(facts, formula);
  const tile = needsRows(facts) ? tileOf(facts, limits, plain, rowBytes) : undefined;
  const stored = tile?.perLoad ? { ...plain, perLoad: tile.perLoad } : plain;
  const inspect = [
    ...(wanted.probs ? [planInspection(facts, limits, stored, "probs", wanted.probs)] : []),
    ...(wanted.scores ? [planInspection(facts, limits, stored, wanted.scores.stage, wanted.scores.selection)] : []),
    ...(wanted.topK ? [planTopK(facts, limits, stored, wanted.topK)] : []),
  ];
  const attend = tile && planAttend(facts, limits, stored, tile, formula);
  const outputs = shape.batchSize * shape.numHeads * shape.queryLength * shape.valueDim;
  const plan: AttentionPlan = {
    facts,
    packed,
    stored,
    attend,
    inspect,
    narrow: wanted.output ? narrowStep(facts.output, outputs) : undefined,
    features: featuresOf(facts),
    rowStride: rowStride(shape),
    ...cost(facts),
  };
  checkLimits(plan, limits);
  return plan;
}

function needsRows({ wanted, emptyRows }: AttentionFacts): boolean {
  const { output, lse, entropy, probs, topK } = wanted;
  return output || lse || entropy || probs !== undefined || topK !== undefined || emptyRows === "throw";
}

/**
 * Which inputs must be packed. An input is not packed if its rows are whole vec4, and keys and values have the same
 * dtype. Packed inputs are float32.
 */
function packedInputs({ layout, kvLayout, shape, dtypes, inPlace = [] }: AttentionFacts): AttentionPlan["packed"] {
  const ragged4 = { query: shape.headDim % 4, key: shape.headDim % 4, value: shape.valueDim % 4 };
  const layouts = { query: layout, key: kvLayout, value: kvLayout };
  const needs = (name: keyof typeof dtypes) =>
    !inPlace.includes(name) && (layouts[name] === "BES" || ragged4[name] !== 0);
  const either = dtypes.key !== dtypes.value || needs("key") || needs("value");
  const packs = (name: "key" | "value") => needs(name) || (either && dtypes[name] === "float16");
  const [key, value] = [packs("key"), packs("value")];
  // A float16 query together with float32 keys would need kernels of its own.
  const keysAreHalves = !key && dtypes.key === "float16";
  return { query: needs("query") || (dtypes.query === "float16" && !keysAreHalves), key, value };
}

/** float16 keys and values stay float16 in workgroup memory if the device can do that. */
function inHalves(stored: Stored, { halves }: Limits): Stored {
  return halves && stored.stored === "float16" ? { ...stored, halves } : stored;
}

/** The query rows of the longest sequence, of all heads of a group. */
function rowsOf({ shape, longestQuery }: AttentionFacts): number {
  return longestQuery * (shape.numHeads / shape.numKvHeads);
}

/** What formulas and dropout keep of each row. */
export function ownRowBytes({ dropout }: AttentionFacts, formula: FormulaForm | undefined): number {
  return (formula?.rowBytes ?? 0) + (dropout ? DROPOUT_ROW_BYTES : 0);
}

function tileOf(facts: AttentionFacts, limits: Limits, stored: Stored, rowBytes: number): Tile {
  const rows = rowsOf(facts);
  const value4 = divideUp(facts.shape.valueDim, 4);
  return (
    decodeTile(facts, rows, value4, stored.stored, rowBytes, limits) ??
    attendTile(facts, rows, value4, inHalves(stored, limits).halves === true, rowBytes, limits)
  );
}

function planAttend(
  facts: AttentionFacts,
  limits: Limits,
  stored: Stored,
  tile: Tile,
  formula: FormulaForm | undefined,
): AttendPlan {
  const { shape, wanted, longestKey, numSequences, dropout, keptKeys = 0 } = facts;
  const { batchSize, numHeads, numKvHeads, queryLength } = shape;
  const value4 = divideUp(shape.valueDim, 4);
  const { name, tiles, constants, split: limitsOfSplit } = tile;
  const rowTiles = divideUp(rowsOf(facts), tiles.queryRows);
  const valueBlocks = wanted.output ? divideUp(shape.valueDim, tiles.valueColumns) : 1;

  const workgroups = numSequences * numKvHeads * rowTiles * valueBlocks;
  const split = splitKeys(longestKey - keptKeys, workgroups, tiles.keys, limitsOfSplit);
  const { keysPerPart } = split;
  const keyParts = split.keyParts + Number(keptKeys > 0); // the first keys are a part of their own
  const inParts = keyParts > 1;
  const numRows = batchSize * numHeads * queryLength;
  const options = hasOptions(featuresOf(facts));
  return {
    attend: {
      kernel: {
        name,
        ...(name === "decode" ? stored : inHalves(stored, limits)),
        constants: { TOGETHER: togetherOf(limits, constants), ...constants, OPTIONS: options },
        ...(formula && { formula }),
        ...(dropout && { dropout }),
      },
      workgroups: workgroups * keyParts,
    },
    merge: inParts
      ? {
          kernel: {
            name: "merge_parts",
            ...stored,
            constants: { THREADS: mergeThreads(keyParts, limits), OPTIONS: true },
          },
          workgroups: numRows,
        }
      : undefined,
    tiles,
    rowTiles,
    valueBlocks,
    keyParts,
    keysPerPart,
    partBytes: inParts
      ? { outputs: wanted.output ? 16 * value4 * numRows * keyParts : 0, statistics: 16 * numRows * keyParts }
      : { outputs: 0, statistics: 0 },
  };
}

/** How many of the invocations that share a row combine numbers without workgroup memory. */
function togetherOf({ together = 1 }: Limits, { LANES = THREADS_X }: Kernel["constants"]): number {
  return Math.min(together, Number(LANES));
}

/** The invocations that merge the parts of a row. In a chain of many loads each would wait for the one before. */
function mergeThreads(keyParts: number, { maxComputeInvocationsPerWorkgroup }: Limits): number {
  if (keyParts < MANY_PARTS) return FLAT_THREADS;
  return MANY_PARTS_THREADS.find((threads) => threads <= maxComputeInvocationsPerWorkgroup) ?? FLAT_THREADS;
}

/** Splits the keys into parts of whole tiles. Only the shape and the tile decide. */
function splitKeys(
  keys: number,
  workgroups: number,
  tileKeys: number,
  { leastKeys, enoughWorkgroups }: Split,
): { readonly keyParts: number; readonly keysPerPart: number } {
  const wanted = Math.min(Math.floor(keys / leastKeys), divideUp(enoughWorkgroups, Math.max(workgroups, 1)));
  if (wanted < 2) return { keyParts: 1, keysPerPart: Math.max(keys, 1) };
  const keysPerPart = divideUp(divideUp(keys, wanted), tileKeys) * tileKeys;
  return { keyParts: divideUp(keys, keysPerPart), keysPerPart };
}

/** An inspection of the chosen heads and queries, in one step. */
export function planInspection(
  facts: AttentionFacts,
  limits: Limits,
  stored: Stored,
  stage: InspectPlan["stage"],
  selection: Selection,
): InspectPlan {
  const formula = formulaAt(stage, facts);
  const dropout = facts.dropout && (stage === "probs" || stage === "ranked");
  const rowBytes = ownRowBytes({ ...facts, dropout }, formula);
  const [heads, queries] = selectedExtents(selection, facts.shape);
  const threadsY = chooseThreadsY(queries, false, rowBytes, limits);
  return {
    stage,
    selection,
    kernel: {
      name: "inspect",
      ...inHalves(stored, limits),
      constants: {
        ...tileConstants(threadsY),
        OPTIONS: true,
      },
      ...(formula && { formula }),
      ...(dropout && { dropout }),
    },
    tiles: tilesOf(threadsY, 0, false, rowBytes),
    heads,
    queries,
    rowsPerStep: queries,
    topK: undefined,
  };
}

/** An inspection in steps of so many queries that their probabilities fit the scratch memory. */
function planTopK(
  facts: AttentionFacts,
  limits: Limits,
  stored: Stored,
  { k, selection }: NonNullable<AttentionFacts["wanted"]["topK"]>,
): InspectPlan {
  const plan = planInspection(facts, limits, stored, "ranked", selection);
  const { batchSize, keyLength } = facts.shape;
  const bytesPerQuery = 4 * batchSize * plan.heads * Math.max(keyLength, 1);
  const scratch = Math.min(MOST_SCRATCH_BYTES, limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  return {
    ...plan,
    rowsPerStep: Math.max(1, Math.min(plan.queries, Math.floor(scratch / bytesPerQuery))),
    topK: {
      kernel: {
        name: "top_k",
        ...stored,
        constants: { THREADS: FLAT_THREADS, OPTIONS: false },
      },
      k,
    },
  };
}

/** The formulas that decide what an inspection of a stage shows. */
function formulaAt(stage: InspectPlan["stage"], { score, visible }: AttentionFacts): FormulaForm | undefined {
  if (stage === "raw" || stage === "softcapped") return undefined;
  return formulaForm(stage === "biased" ? undefined : score, visible);
}

function rowStride({ batchSize, numHeads, queryLength }: AttentionShape): number {
  return divideUp(Math.max(batchSize * numHeads * queryLength, 1), SECTION_ELEMENTS) * SECTION_ELEMENTS;
}

/** The shape, by the letters of the formula. */
const lettersOf = (shape: AttentionShape) => ({
  B: shape.batchSize,
  Hq: shape.numHeads,
  Hkv: shape.numKvHeads,
  Sq: shape.queryLength,
  Skv: shape.keyLength,
  D: shape.headDim,
  Dv: shape.valueDim,
});

function cost({ shape, dtypes, output, wanted }: AttentionFacts): Pick<AttentionPlan, "bytes" | "multiplyAdds"> {
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = lettersOf(shape);
  const inputs = Hq * Sq * D * BYTES[dtypes.query] + Hkv * Skv * (D * BYTES[dtypes.key] + Dv * BYTES[dtypes.value]);
  return {
    bytes: B * (inputs + (wanted.output ? Hq * Sq * Dv * BYTES[output] : 0)),
    multiplyAdds: B * Hq * Sq * Skv * (D + (wanted.output ? Dv : 0)),
  };
}

/** Throws if a call exceeds a limit of the device. It does so before any work, and names the limit. */
function checkLimits(plan: AttentionPlan, limits: Limits): void {
  const { operation, shape } = plan.facts;
  const { stored } = plan.stored;
  const { B, Hq, Hkv, Sq, Skv, D, Dv } = lettersOf(shape);
  const width = (dim: number) => 4 * divideUp(dim, 4);
  const sizes: Record<string, number> = {
    query: 4 * B * Hq * Sq * width(D) * (plan.facts.keptKeys ? 2 : 1),
    key: BYTES[stored] * B * Hkv * Skv * width(D),
    value: BYTES[stored] * B * Hkv * Skv * width(Dv),
    output: 4 * B * Hq * Sq * Dv,
    "the rows' statistics": 4 * ROW_SECTIONS * plan.rowStride,
    "the parts of the keys": plan.attend?.partBytes.outputs ?? 0,
  };
  for (const { stage, heads, rowsPerStep, queries, topK } of plan.inspect) {
    sizes[stage === "ranked" ? "topK's probabilities" : stage] = 4 * B * heads * rowsPerStep * Skv;
    if (topK) sizes.topK = 4 * B * heads * queries * topK.k;
  }
  for (const [name, bytes] of Object.entries(sizes)) checkBytes(operation, name, bytes, limits);

  const steps = [plan.attend?.attend, plan.attend?.merge, plan.narrow].filter((step) => step !== undefined);
  for (const { kernel, workgroups } of steps) gridOf(operation, kernel.name, workgroups, limits);
  if (plan.attend && plan.attend.tiles.workgroupBytes > limits.maxComputeWorkgroupStorageSize)
    throw new UnsupportedError(
      `${operation}: a workgroup needs ${plan.attend.tiles.workgroupBytes} bytes, over the device's ` +
        `maxComputeWorkgroupStorageSize of ${limits.maxComputeWorkgroupStorageSize}`,
    );
}
