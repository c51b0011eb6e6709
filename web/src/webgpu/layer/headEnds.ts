import type { LayerProblem } from "../../layer/layerProblem.js";
import { padded } from "../cache/cacheStore.js";
import type { Call, Span } from "../call/call.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { divideUp } from "../plan/limits.js";
import { floatBits, NORMS, type Finish, type Tile4 } from "./projection.js";

/** How a layer norms and turns its heads of queries and keys after their projection. */
export interface HeadEnds {
  /** The tile of columns of the projection. */
  readonly tile4: Tile4;
  /** Whether the projection does it when it stores the heads. Otherwise a kernel does it afterwards, in place. */
  readonly inStore: boolean;
  readonly norm: "none" | "rms" | "l2";
  readonly epsilon: number;
  /** Pairs of features that turn. */
  readonly pairs: number;
  readonly interleaved: boolean;
  /** As of a `Part` of a matrix. */
  readonly splitPairs: number;
}

/** The heads of a row: query heads from column 0 on, then key heads. */
export interface HeadColumns {
  readonly queryHeads: number;
  readonly keyHeads: number;
  /** The column of the first key head. */
  readonly keyFirst4: number;
}

/** undefined if heads need no end. A norm needs the whole head, so it is done in the store if a tile has whole heads. */
export function headEnds({ shape, qkNorm, position }: LayerProblem): HeadEnds | undefined {
  const { headDim } = shape;
  const angles = position.kind === "rotary" ? position.angles : undefined;
  if (!qkNorm && !angles) return undefined;
  const whole = ([16, 32] as const).find((tile4) => tile4 % (padded(headDim) / 4) === 0);
  const inStore = !qkNorm || whole !== undefined;
  const pairs = angles ? (angles.rotaryDim || headDim) / 2 : 0;
  const interleaved = angles?.interleaved ?? false;
  return {
    tile4: (qkNorm && whole) ?? 16,
    inStore,
    norm: qkNorm?.kind ?? "none",
    epsilon: qkNorm?.epsilon ?? 0,
    pairs,
    interleaved,
    splitPairs: inStore && !interleaved ? pairs : 0,
  };
}

const NEVER = 0xffffffff;

export function finishOf(
  { norm, epsilon, pairs, interleaved }: HeadEnds,
  { queryHeads, keyHeads, keyFirst4 }: HeadColumns,
  headDim: number,
  angles: Angles,
): Finish {
  const head4 = padded(headDim) / 4;
  return {
    queryEnd4: queryHeads * head4,
    keyFirst4: keyHeads > 0 ? keyFirst4 : NEVER,
    keyEnd4: keyHeads > 0 ? keyFirst4 + keyHeads * head4 : 0,
    head4,
    headDim,
    norm,
    epsilon,
    pairs,
    interleaved,
    angles: angles.span,
    keyAngles: angles.firstKey,
  };
}

/** cos and sin of every token, and the row where those of the keys begin. */
export interface Angles {
  readonly span: Span | undefined;
  readonly firstKey: number;
}

/** Norms and turns heads in place. `row4` is the width of a row. */
export function turnHeads(
  call: Call,
  { norm, epsilon, pairs, interleaved }: HeadEnds,
  heads: Span,
  gains: Span,
  { queryHeads, keyHeads, keyFirst4 }: HeadColumns,
  headDim: number,
  angles: Angles,
  rows: number,
  row4: number,
): void {
  const workgroups = divideUp(rows * (queryHeads + keyHeads), FLAT_WORKGROUP);
  const places = [4 * row4, queryHeads, keyHeads, 4 * keyFirst4, padded(headDim), headDim];
  const ends = [NORMS[norm], floatBits(epsilon), pairs, Number(interleaved), angles.firstKey];
  call.dispatch(flatKernel("turn_heads"), workgroups, {
    0: call.numbers([rows, ...places, ...ends], workgroups),
    1: gains,
    ...(angles.span && { 2: angles.span }),
    3: heads,
  });
}

/** The gradients of the heads of a role, in rows on the GPU. */
export interface HeadRows {
  readonly role: "query" | "key";
  readonly span: Span;
  readonly rows: number;
  /** Elements from one row to the next. */
  readonly row: number;
  /** The column of the first head. */
  readonly first: number;
  readonly count: number;
}

/** The heads as they were before their norm, and room for what each of them adds to the gradient of the gains. */
export interface NormRows {
  readonly x: Span;
  /** Elements of x from one row to the next. */
  readonly row: number;
  readonly gains: Span;
  readonly terms: Span;
  /** The first element of `terms` that is theirs. */
  readonly firstTerm: number;
}

/** From the gradients of finished heads to those of projected heads, in place. */
export function headsBack(
  call: Call,
  { norm, epsilon, pairs, interleaved, splitPairs }: HeadEnds,
  { role, span, rows, row, first, count }: HeadRows,
  headDim: number,
  angles: Angles,
  normed: NormRows | undefined,
): void {
  const workgroups = divideUp(rows * count, FLAT_WORKGROUP);
  const isKey = role === "key";
  const heads = [rows * count, count, row, first, padded(headDim), headDim];
  const x = [normed?.row ?? 0, 0, splitPairs, NORMS[norm], floatBits(epsilon), isKey ? padded(headDim) : 0];
  const turns = [pairs, Number(interleaved), isKey ? angles.firstKey : 0, normed?.firstTerm ?? 0];
  call.dispatch(flatKernel("heads_back"), workgroups, {
    0: call.numbers([...heads, ...x, ...turns], workgroups),
    ...(angles.span && { 1: angles.span }),
    ...(normed && { 2: normed.gains, 3: normed.x }),
    4: span,
    ...(normed && { 5: normed.terms }),
  });
}

/** The gains of the norm for queries and keys, [2, padded width]. */
export function gainsOf({ qkNorm, shape: { headDim } }: LayerProblem): Float32Array {
  const gains = new Float32Array(2 * padded(headDim)).fill(1);
  if (qkNorm?.queryGain) gains.set(qkNorm.queryGain);
  if (qkNorm?.keyGain) gains.set(qkNorm.keyGain, padded(headDim));
  return gains;
}
