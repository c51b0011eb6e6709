import type { AngleTables, CheckedAngles } from "../../position/rotaryAngles.js";

const TURN = 2 * Math.PI;

type Scaling = NonNullable<CheckedAngles["scaling"]>;

/**
 * For each pair of features its angle per position after scaling (theta), and the factor on cos and sin (amplitude). As
 * `rotary_frequencies` of position.h.
 */
export interface Frequencies {
  readonly theta: Float64Array;
  readonly amplitude: number;
}

export function frequenciesOf(angles: CheckedAngles, headDim: number): Frequencies {
  const { scaling } = angles;
  if (angles.frequencies) return { theta: angles.frequencies, amplitude: angles.attentionFactor ?? 1 };
  const rotaryDim = angles.rotaryDim || headDim;
  const base = scaledBase(angles, rotaryDim);
  const theta = Float64Array.from({ length: rotaryDim / 2 }, (_, m) => {
    const angle = base ** ((-2 * m) / rotaryDim);
    if (!scaling) return angle;
    if (scaling.kind === "longrope") return angle / longropeFactors(scaling)[m]!;
    const kept = keptShare(scaling, angles.base, m, rotaryDim, angle);
    return angle * kept + (angle / scaling.factor) * (1 - kept);
  });
  return { theta, amplitude: scaling ? amplitudeOf(scaling) : 1 };
}

/**
 * The base of NTK-aware scaling: the slowest pair turns `stretch` times slower, and the fastest pair turns as before.
 */
function stretchedBase(base: number, stretch: number, rotaryDim: number): number {
  return rotaryDim > 2 ? base * stretch ** (rotaryDim / (rotaryDim - 2)) : base;
}

function scaledBase({ base, scaling }: CheckedAngles, rotaryDim: number): number {
  if (scaling?.kind === "ntk") return stretchedBase(base, scaling.factor, rotaryDim);
  if (scaling?.kind !== "dynamic-ntk") return base;
  const { factor, originalLength = 1, sequenceLength = 0 } = scaling;
  const length = Math.max(sequenceLength, originalLength);
  return stretchedBase(base, (factor * length) / originalLength - (factor - 1), rotaryDim);
}

/** The share of a pair's angle that scaling keeps. The rest of the angle is divided by the factor. */
function keptShare(scaling: Scaling, base: number, m: number, rotaryDim: number, theta: number): number {
  switch (scaling.kind) {
    case "linear":
      return 0;
    case "ntk":
    case "dynamic-ntk":
    case "longrope":
      return 1;
    case "yarn":
      return yarnKept(scaling, base, m, rotaryDim);
    case "llama3": {
      const { originalLength = 1, lowFreqFactor = 1, highFreqFactor = 4 } = scaling;
      const turns = (originalLength * theta) / TURN;
      return clamp01((turns - lowFreqFactor) / (highFreqFactor - lowFreqFactor));
    }
  }
}

/**
 * YaRN's ramp over the pairs: 1 for pairs with more than betaFast turns over the original length, 0 for pairs with
 * fewer than betaSlow turns.
 */
function yarnKept(scaling: Scaling, base: number, m: number, rotaryDim: number): number {
  const { originalLength = 1, betaFast = 32, betaSlow = 1, truncate = true } = scaling;
  const pairTurning = (rotations: number) =>
    (rotaryDim * Math.log(originalLength / (rotations * TURN))) / (2 * Math.log(base));
  const [fast, slow] = [pairTurning(betaFast), pairTurning(betaSlow)];
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0);
  const end = Math.min(truncate ? Math.ceil(slow) : slow, rotaryDim - 1);
  const high = end === low ? end + 0.001 : end; // avoids 0 / 0, as published
  return 1 - clamp01((m - low) / (high - low));
}

/** LongRoPE's factors at the current length. */
function longropeFactors({ originalLength = 1, sequenceLength = 0, shortFactor, longFactor }: Scaling): Float64Array {
  return sequenceLength > originalLength ? longFactor! : shortFactor!;
}

function amplitudeOf({ kind, factor, originalLength, attentionFactor, mscale, mscaleAllDim }: Scaling): number {
  if (kind !== "yarn" && kind !== "longrope") return 1;
  if (attentionFactor) return attentionFactor;
  if (kind === "longrope") return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalLength!));
  const magnitude = (weight: number) => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
  return mscale && mscaleAllDim ? magnitude(mscale) / magnitude(mscaleAllDim) : magnitude(1);
}

function clamp01(x: number): number {
  return Math.min(Math.max(x, 0), 1);
}

/** Whether two embeddings of heads of this width turn every position alike. Tables never count as alike. */
export function sameAngles(a: CheckedAngles, b: CheckedAngles, headDim: number): boolean {
  if (a.tables || b.tables) return false;
  const [form, other] = [a, b].map(({ rotaryDim, interleaved, sections = [] }) =>
    [rotaryDim || headDim, interleaved, ...sections].join(),
  );
  const [{ theta, amplitude }, second] = [frequenciesOf(a, headDim), frequenciesOf(b, headDim)];
  return form === other && amplitude === second.amplitude && theta.every((angle, m) => angle === second.theta[m]);
}

/** The same angles with amplitude 1, for what has been turned before. */
export function withoutAmplitude(angles: CheckedAngles): CheckedAngles {
  const { scaling } = angles;
  if (angles.frequencies) return { ...angles, attentionFactor: 1 };
  return scaling?.kind === "yarn" || scaling?.kind === "longrope"
    ? { ...angles, scaling: { ...scaling, attentionFactor: 1 } }
    : angles;
}

/**
 * cos and sin side by side, [tokens, pairs, 2]: rows of the caller's tables, or computed in double precision and rounded
 * once. Outside of tables, where only padding may stand, nothing turns.
 */
export function anglePairs(angles: CheckedAngles, headDim: number, positions: ArrayLike<number>): Float32Array {
  if (angles.tables) return tablePairs(angles.tables, (angles.rotaryDim || headDim) / 2, positions);
  return computedPairs(frequenciesOf(angles, headDim), positions);
}

/** The same with a plane of positions for each section of pairs: the pairs of section i turn by planes[i]. */
export function sectionPairs(angles: CheckedAngles, headDim: number, planes: readonly Float64Array[]): Float32Array {
  const pairs = (angles.rotaryDim || headDim) / 2;
  const ofPlanes = planes.map((positions) => anglePairs(angles, headDim, positions));
  const ends = angles.sections!.map((_, n) => angles.sections!.slice(0, n + 1).reduce((sum, count) => sum + count, 0));
  const planeOf = Array.from({ length: pairs }, (_, m) => ends.findIndex((end) => m < end));
  return ofPlanes[0]!.map((_, n) => ofPlanes[planeOf[(n >> 1) % pairs]!]![n]!);
}

function tablePairs({ cos, sin, rows }: AngleTables, pairs: number, positions: ArrayLike<number>): Float32Array {
  const chosen = new Float32Array(2 * pairs * positions.length);
  for (let n = 0; n < positions.length; ++n) {
    const row = positions[n]!;
    const isRow = row >= 0 && row < rows;
    for (let m = 0; m < pairs; ++m) {
      chosen[2 * (n * pairs + m)] = isRow ? cos[row * pairs + m]! : 1;
      chosen[2 * (n * pairs + m) + 1] = isRow ? sin[row * pairs + m]! : 0;
    }
  }
  return chosen;
}

function computedPairs({ theta, amplitude }: Frequencies, positions: ArrayLike<number>): Float32Array {
  const pairs = new Float32Array(2 * positions.length * theta.length);
  for (let n = 0; n < positions.length; ++n)
    theta.forEach((angle, m) => {
      const at = 2 * (n * theta.length + m);
      pairs[at] = amplitude * Math.cos(positions[n]! * angle);
      pairs[at + 1] = amplitude * Math.sin(positions[n]! * angle);
    });
  return pairs;
}
