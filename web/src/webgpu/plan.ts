import type { EmptyRows } from "../attention/attentionSettings.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import { selectedExtents, type ScoreStage, type Selection, type Wanted } from "../attention/returns.js";
import { UnsupportedError } from "../errors/errors.js";
import type { Layout } from "../tensor/layout.js";
import type { FloatDtype, Kernel, StoredDtype } from "./kernel.js";
import { FEATURE } from "./params.js";

/** Limits of a device, with WebGPU's names. */
export interface Limits {
  readonly maxComputeWorkgroupStorageSize: number;
  readonly maxComputeInvocationsPerWorkgroup: number;
  readonly maxComputeWorkgroupsPerDimension: number;
  readonly maxStorageBufferBindingSize: number;
  readonly maxBufferSize: number;
  /**
   * Number of neighbouring invocations that add and compare without workgroup memory: 4 or 8 in a subgroup; 1 without
   * subgroups.
   */
  readonly together?: 1 | 4 | 8;
  /** Whether kernels may compute with float16 (shader-f16). */
  readonly halves?: boolean;
}

/** All facts about a call that decide how it is computed. */
export interface AttentionFacts {
  readonly operation: string;
  readonly shape: AttentionShape;
  readonly layout: Layout;
  readonly kvLayout: Layout;
  readonly dtypes: { readonly query: FloatDtype; readonly key: StoredDtype; readonly value: StoredDtype };
  /** Inputs that lie in the engine's own arrays, where rows are whole vec4 for every width. */
  readonly inPlace?: readonly ("query" | "key" | "value")[];
  readonly output: FloatDtype;
  readonly mask: boolean;
  readonly bias: FloatDtype | undefined;
  readonly alibi: boolean;
  readonly softcap: boolean;
  /** Whether the keys lie in a cache's ring. */
  readonly ring: boolean;
  readonly sinks: boolean;
  readonly emptyRows: EmptyRows;
  readonly ragged: boolean;
  readonly numSequences: number;
  /** Number of query rows (`longestQuery`) and key rows (`longestKey`) of the longest sequence. */
  readonly longestQuery: number;
  readonly longestKey: number;
  readonly wanted: Wanted;
}

/** How the inputs of the kernels are stored; see `Kernel`. */
export interface Stored {
  readonly query: FloatDtype;
  readonly stored: StoredDtype;
  readonly halves?: boolean;
}

/** The tile of one workgroup. */
export interface Tiles {
  readonly queryRows: number;
  readonly keys: number;
  readonly valueColumns: number;
  readonly threads: number;
  readonly workgroupBytes: number;
}

/** One dispatch. */
export interface Step {
  readonly kernel: Kernel;
  readonly workgroups: number;
}

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

const THREADS_X = 8;
const ROWS_PER_THREAD = 4;
const KEYS4_PER_THREAD = 1;
const KEY_TILE = 4 * KEYS4_PER_THREAD * THREADS_X;
const CHUNK4 = 8;
const MOST_COLUMNS4_PER_THREAD = 4;

/** Threads along the rows, the best first. More threads need more workgroup memory. */
const THREADS_Y = [16, 8] as const;

/** Up to this many rows use a smaller tile, which wastes less work. */
const FEW_ROWS = 16;
const FEW_THREADS_Y = 4;

/**
 * DECODE_ROWS: numbers of rows that a decoding workgroup can compute. DECODE: the rest of its tile; q_rows has room for
 * Q_CAPACITY vec4 of all rows together.
 */
const DECODE_ROWS = [1, 4, 8] as const;
const DECODE = { THREADS: 128, LANES: 8, KEYS: KEY_TILE, Q_CAPACITY: 256 } as const;

/**
 * How keys are split into parts, so that the whole GPU has work: every part has at least `leastKeys` keys, and there
 * are only as many parts as make about `enoughWorkgroups` workgroups.
 */
interface Split {
  readonly leastKeys: number;
  readonly enoughWorkgroups: number;
}

/** Most bytes of ranked probabilities that topK keeps at once. */
const MOST_SCRATCH_BYTES = 2 ** 26;

const ROW_BYTES = 40;
const FLAT_THREADS = 64;

/** Alignment of every section, because a section may become a tensor of its own. */
const SECTION_ELEMENTS = 64;

export const divideUp = (value: number, step: number): number => Math.ceil(value / step);

export function planAttention(facts: AttentionFacts, limits: Limits): AttentionPlan {
  const { shape, wanted } = facts;
  const packed = packedInputs(facts);
  const stored: Stored = {
    query: packed.query ? "float32" : facts.dtypes.query,
    stored: packed.key || packed.value ? "float32" : facts.dtypes.key,
  };
  const inspect = [
    ...(wanted.probs ? [planInspection(facts, limits, stored, "probs", wanted.probs)] : []),
    ...(wanted.scores ? [planInspection(facts, limits, stored, wanted.scores.stage, wanted.scores.selection)] : []),
    ...(wanted.topK ? [planInspection(facts, limits, stored, "ranked", wanted.topK.selection)] : []),
  ];
  const attend = needsRows(facts) ? planAttend(facts, limits, stored) : undefined;
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

/** The bits of `features` for the call; see `has` in call.wgsl. */
function featuresOf({ mask, bias, alibi, softcap, sinks, ring, ragged, wanted }: AttentionFacts): number {
  const present: Readonly<Record<keyof typeof FEATURE, boolean>> = {
    mask,
    bias: bias !== undefined,
    halfBias: bias === "float16",
    alibi,
    softcap,
    sinks,
    entropies: wanted.entropy,
    ring,
    output: wanted.output,
    ragged,
    average: false,
  };
  const names = Object.keys(FEATURE) as (keyof typeof FEATURE)[];
  return names.reduce((bits, name) => bits | (present[name] ? FEATURE[name] : 0), 0);
}

/** float16 keys and values stay float16 in workgroup memory if the device can do that. */
function inHalves(stored: Stored, { halves }: Limits): Stored {
  return halves && stored.stored === "float16" ? { ...stored, halves } : stored;
}

function tileConstants(threadsY: number): Record<string, number> {
  return {
    THREADS_X,
    THREADS_Y: threadsY,
    THREADS: THREADS_X * threadsY,
    R: ROWS_PER_THREAD,
    C4: KEYS4_PER_THREAD,
    Q_TILE: threadsY * ROWS_PER_THREAD,
    KV_TILE: KEY_TILE,
    CHUNK4,
    KV_CAPACITY: CHUNK4 * KEY_TILE,
  };
}

function tilesOf(threadsY: number, columns4: number, attends: boolean): Tiles {
  const queryRows = threadsY * ROWS_PER_THREAD;
  const chunks = 16 * CHUNK4 * (queryRows + KEY_TILE);
  const flags = 4 * (queryRows + KEY_TILE);
  const softmax = attends ? 4 * queryRows * (KEY_TILE + THREADS_X) : 0;
  return {
    queryRows,
    keys: KEY_TILE,
    valueColumns: 4 * columns4,
    threads: THREADS_X * threadsY,
    workgroupBytes: chunks + softmax + ROW_BYTES * queryRows + flags,
  };
}

/** The largest tile that fits the device's workgroups; a small tile for few rows. */
function chooseThreadsY(rows: number, attends: boolean, limits: Limits): number {
  if (rows <= FEW_ROWS) return FEW_THREADS_Y;
  const fits = (threadsY: number) => {
    const tiles = tilesOf(threadsY, 0, attends);
    return (
      tiles.workgroupBytes <= limits.maxComputeWorkgroupStorageSize &&
      tiles.threads <= limits.maxComputeInvocationsPerWorkgroup
    );
  };
  return THREADS_Y.find(fits) ?? FEW_THREADS_Y;
}

function planAttend(facts: AttentionFacts, limits: Limits, stored: Stored): AttendPlan {
  const { shape, wanted, longestQuery, longestKey, numSequences } = facts;
  const { batchSize, numHeads, numKvHeads, queryLength } = shape;
  const rows = longestQuery * (numHeads / numKvHeads);
  const value4 = divideUp(shape.valueDim, 4);
  const { name, tiles, constants, split } = decodeTile(facts, rows, value4) ?? attendTile(facts, rows, value4, limits);
  const rowTiles = divideUp(rows, tiles.queryRows);
  const valueBlocks = wanted.output ? divideUp(shape.valueDim, tiles.valueColumns) : 1;

  const workgroups = numSequences * numKvHeads * rowTiles * valueBlocks;
  const { keyParts, keysPerPart } = splitKeys(longestKey, workgroups, split);
  const inParts = keyParts > 1;
  const numRows = batchSize * numHeads * queryLength;
  const options = featuresOf(facts) % FEATURE.output !== 0;
  return {
    attend: {
      kernel: {
        name,
        ...(name === "attend" ? inHalves(stored, limits) : stored),
        constants: { ...constants, TOGETHER: limits.together ?? 1, OPTIONS: options },
      },
      workgroups: workgroups * keyParts,
    },
    merge: inParts
      ? {
          kernel: { name: "merge_parts", ...stored, constants: { THREADS: FLAT_THREADS, OPTIONS: true } },
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

/** A kernel for an attention pass, its tile, and its rule for splitting keys. */
interface Tile {
  readonly name: "attend" | "decode";
  readonly tiles: Tiles;
  readonly constants: Readonly<Record<string, number>>;
  readonly split: Split;
}

function attendTile({ wanted }: AttentionFacts, rows: number, value4: number, limits: Limits): Tile {
  const threadsY = chooseThreadsY(rows, true, limits);
  const columns4 = wanted.output ? Math.min(divideUp(value4, THREADS_X), MOST_COLUMNS4_PER_THREAD) : 1;
  const block4 = columns4 * THREADS_X;
  return {
    name: "attend",
    tiles: tilesOf(threadsY, block4, true),
    constants: { ...tileConstants(threadsY), W: columns4, VALUE_BLOCK4: block4, V_KEYS: valueKeys(block4) },
    split: { leastKeys: 512, enoughWorkgroups: 256 },
  };
}

/**
 * The tile of `decode`, which reads each key once. undefined if there are too many rows, or if the heads are too wide
 * for workgroup memory.
 */
function decodeTile({ shape }: AttentionFacts, rows: number, value4: number): Tile | undefined {
  const depth4 = divideUp(shape.headDim, 4);
  const all = DECODE_ROWS.find((most) => rows <= most);
  const most = DECODE_ROWS.filter((most) => most * depth4 <= DECODE.Q_CAPACITY).at(-1);
  if (all === undefined || most === undefined) return undefined;
  const queryRows = Math.min(all, most);
  const { THREADS, LANES, KEYS, Q_CAPACITY } = DECODE;
  const floats = queryRows * KEYS * (LANES + 1) + 2 * KEYS + 4 * (Q_CAPACITY + THREADS);
  return {
    name: "decode",
    tiles: {
      queryRows,
      keys: KEYS,
      valueColumns: 4 * Math.min(value4, THREADS),
      threads: THREADS,
      workgroupBytes: 4 * floats + (ROW_BYTES + 12) * queryRows,
    },
    constants: { Q_TILE: queryRows, ...DECODE },
    split: { leastKeys: 256, enoughWorkgroups: 1024 },
  };
}

/** Number of keys whose values fit the tile at once. A power of two, so that it divides the tile. */
function valueKeys(block4: number): number {
  return Math.min(KEY_TILE, 2 ** Math.floor(Math.log2((CHUNK4 * KEY_TILE) / block4)));
}

/** Splits the keys into parts. Only the shape decides, so the parts are the same on every device. */
function splitKeys(
  keys: number,
  workgroups: number,
  { leastKeys, enoughWorkgroups }: Split,
): { readonly keyParts: number; readonly keysPerPart: number } {
  const wanted = Math.min(Math.floor(keys / leastKeys), divideUp(enoughWorkgroups, Math.max(workgroups, 1)));
  if (wanted < 2) return { keyParts: 1, keysPerPart: Math.max(keys, 1) };
  const keysPerPart = divideUp(divideUp(keys, wanted), KEY_TILE) * KEY_TILE;
  return { keyParts: divideUp(keys, keysPerPart), keysPerPart };
}

function planInspection(
  facts: AttentionFacts,
  limits: Limits,
  stored: Stored,
  stage: InspectPlan["stage"],
  selection: Selection,
): InspectPlan {
  const { shape, wanted } = facts;
  const [heads, queries] = selectedExtents(selection, shape);
  const threadsY = chooseThreadsY(queries, false, limits);
  const bytesPerQuery = 4 * shape.batchSize * heads * Math.max(shape.keyLength, 1);
  const scratch = Math.min(MOST_SCRATCH_BYTES, limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  const rowsPerStep =
    stage === "ranked" ? Math.max(1, Math.min(queries, Math.floor(scratch / bytesPerQuery))) : queries;
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
    },
    tiles: tilesOf(threadsY, 0, false),
    heads,
    queries,
    rowsPerStep,
    topK:
      stage === "ranked"
        ? {
            kernel: {
              name: "top_k",
              ...stored,
              constants: { THREADS: FLAT_THREADS, OPTIONS: false },
            },
            k: wanted.topK!.k,
          }
        : undefined,
  };
}

/** A kernel whose invocations work independently. */
export function flatKernel(
  name: "pack" | "narrow" | "merge" | "rotary" | "head_norm" | "store_rows" | "lanes",
  constants: Kernel["constants"] = {},
): Kernel {
  return { name, constants: { THREADS: FLAT_THREADS, ...constants } };
}

/** The step from float32 to the output's dtype; undefined if it is float32. */
export function narrowStep(dtype: FloatDtype, length: number): Step | undefined {
  if (dtype === "float32") return undefined;
  return { kernel: flatKernel("narrow"), workgroups: divideUp(length, 2 * FLAT_THREADS) };
}

/** The tile of a projection. */
const PROJECT = { THREADS_X: 8, THREADS_Y: 8, COLUMNS4: 2, DEPTH4: 4 } as const;
const PROJECT_ROWS = 4 * PROJECT.THREADS_Y;
const PROJECT_COLUMNS = 4 * PROJECT.COLUMNS4 * PROJECT.THREADS_X;
export const projectKernel: Kernel = { name: "project", constants: PROJECT };

export function projectWorkgroups(rows: number, columns: number): number {
  return divideUp(rows, PROJECT_ROWS) * divideUp(columns, PROJECT_COLUMNS);
}

/** Number of elements that one workgroup of a flat kernel writes. */
export const FLAT_WORKGROUP = FLAT_THREADS;

function rowStride({ batchSize, numHeads, queryLength }: AttentionShape): number {
  return divideUp(Math.max(batchSize * numHeads * queryLength, 1), SECTION_ELEMENTS) * SECTION_ELEMENTS;
}

/** Bytes of an element. */
export const BYTES: Readonly<Record<StoredDtype, number>> = { float32: 4, float16: 2, int8: 1 };

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
    query: 4 * B * Hq * Sq * width(D),
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

export function checkBytes(operation: string, name: string, bytes: number, limits: Limits): void {
  for (const limit of ["maxStorageBufferBindingSize", "maxBufferSize"] as const)
    if (bytes > limits[limit])
      throw new UnsupportedError(
        `${operation}: ${name} needs a buffer of ${bytes} bytes, over the device's ${limit} of ${limits[limit]}`,
        { hint: 'Split the batch or the heads, ask for fewer results, or use backend "wasm".' },
      );
}

/** A two-dimensional grid for this many workgroups, with both sides within the limit. */
export function gridOf(operation: string, kernel: string, workgroups: number, limits: Limits): [number, number] {
  const most = limits.maxComputeWorkgroupsPerDimension;
  const width = Math.min(Math.max(workgroups, 1), most);
  const height = divideUp(Math.max(workgroups, 1), width);
  if (height > most)
    throw new UnsupportedError(
      `${operation}: ${kernel} needs ${workgroups} workgroups, over the device's maxComputeWorkgroupsPerDimension of ` +
        `${most}, squared`,
    );
  return [width, height];
}
