import type { AttentionOptions, FloatTensor, Tensor } from "headwise";
import { setFloat16 } from "@petamoriken/float16";

import type { Layout } from "./reference.js";

const { imul } = Math; // looked up once: a test runner's sandbox is slow to find globals

type FloatDtype = "float32" | "float16";

interface CaseShape {
  readonly batchSize?: number;
  readonly numHeads?: number;
  readonly numKvHeads?: number;
  readonly queryLength: number;
  readonly keyLength?: number;
  readonly headDim: number;
  readonly valueDim?: number;
}

/** A row of a file of cases. schema/case.schema.json defines every field; layouts are those of headwise's own table. */
interface TableRow {
  readonly name: string;
  readonly seed: number;
  readonly shape: CaseShape;
  readonly layout?: Layout;
  readonly dtype?: FloatDtype;
  readonly amplitude?: { readonly query?: number; readonly key?: number; readonly value?: number };
  readonly mask?: { readonly shape: number[]; readonly visible: number };
  readonly bias?: {
    readonly shape: number[];
    readonly amplitude?: number;
    readonly minusInfinity?: number;
    readonly minimum?: number;
    readonly dtype?: FloatDtype;
  };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly returns?: AttentionOptions["returns"];
  readonly backward?: {
    readonly amplitude?: number;
    readonly dtype?: FloatDtype;
    /** The amplitude of dLse; without it the loss does not read lse. */
    readonly lse?: number;
    readonly returns?: readonly CaseGradient[];
  };
}

/** A gradient that a case can ask for. The table has no formulas. */
export type CaseGradient = "dQuery" | "dKey" | "dValue" | "dBias" | "dSinks" | "dHeadGain" | "dAlibiSlopes";

/** A call of a case. */
export interface AttentionCase {
  readonly name: string;
  readonly query: FloatTensor;
  readonly key: FloatTensor;
  readonly value: FloatTensor;
  readonly options: Omit<AttentionOptions, "location">;
  /** What its call of attentionBackward has besides. */
  readonly backward: {
    readonly dOutput: FloatTensor;
    /** [B, numHeads, Sq] */
    readonly dLse?: Tensor<"float32">;
    readonly returns: Readonly<Partial<Record<CaseGradient, true>>>;
  };
}

/** The calls of a file of cases. */
export function casesOf(table: unknown): readonly AttentionCase[] {
  const { version, cases } = table as { version: number; cases: TableRow[] };
  if (version !== 1) throw new Error(`the file of cases has version ${version}, this reader knows 1`);
  return cases.map(toCase);
}

function toCase(row: TableRow): AttentionCase {
  const { seed, layout = "BHSD", dtype = "float32", amplitude = {}, mask, bias, backward = {} } = row;
  const { batchSize: B = 1, numHeads: Hq = 1, queryLength: Sq, headDim: D } = row.shape;
  const { numKvHeads: Hkv = Hq, keyLength: Skv = Sq, valueDim: Dv = D } = row.shape;
  const input = (stream: number, scale: number | undefined, shape: number[]) =>
    floatTensor(dtype, shape, numbersOf(dtype, seed, stream, scale));
  const isPacked = layout === "BSE" || layout === "BES";
  const gradientDtype = backward.dtype ?? dtype;
  const outputShape = shapeIn(layout, B, Hq, Sq, Dv);
  return {
    name: row.name,
    query: input(1, amplitude.query, shapeIn(layout, B, Hq, Sq, D)),
    key: input(2, amplitude.key, shapeIn(layout, B, Hkv, Skv, D)),
    value: input(3, amplitude.value, shapeIn(layout, B, Hkv, Skv, Dv)),
    options: {
      layout,
      ...(isPacked ? { numHeads: Hq, numKvHeads: Hkv } : {}),
      ...(mask ? { mask: maskTensor(seed, mask) } : {}),
      ...(bias ? { bias: biasTensor(seed, bias) } : {}),
      ...(withNumbers(row.options ?? {}) as Omit<AttentionOptions, "location">),
      returns: row.returns ?? { output: true, lse: true },
    },
    backward: {
      dOutput: floatTensor(gradientDtype, outputShape, numbersOf(gradientDtype, seed, 7, backward.amplitude)),
      ...(backward.lse !== undefined && {
        dLse: {
          data: Float32Array.from({ length: B * Hq * Sq }, numbersOf("float32", seed, 0, backward.lse)),
          shape: [B, Hq, Sq],
        },
      }),
      returns: Object.fromEntries((backward.returns ?? gradientsOf(row)).map((name) => [name, true])),
    },
  };
}

/** Every gradient that the call has. */
function gradientsOf({ bias, options = {} }: TableRow): CaseGradient[] {
  return [
    "dQuery",
    "dKey",
    "dValue",
    "dHeadGain",
    ...(bias ? ["dBias" as const] : []),
    ...(options.sinks ? ["dSinks" as const] : []),
    ...(options.alibiSlopes ? ["dAlibiSlopes" as const] : []),
  ];
}

function shapeIn(layout: Layout, B: number, H: number, S: number, D: number): number[] {
  switch (layout) {
    case "BHSD":
      return [B, H, S, D];
    case "BSHD":
      return [B, S, H, D];
    case "BSE":
      return [B, S, H * D];
    case "BES":
      return [B, H * D, S];
  }
}

/** JSON has no −∞, so the table writes it as a string. */
function withNumbers(options: object): object {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]: [string, unknown]) => [
      name,
      Array.isArray(value) ? value.map(Number) : value,
    ]),
  );
}

function maskTensor(seed: number, { shape, visible }: { shape: number[]; visible: number }): Tensor<"bool"> {
  return { data: Uint8Array.from({ length: size(shape) }, (_, k) => Number(share(seed, 4, k) < visible)), shape };
}

function biasTensor(seed: number, bias: NonNullable<TableRow["bias"]>): Tensor<FloatDtype> {
  const { shape, amplitude, minusInfinity = 0, minimum = 0, dtype = "float32" } = bias;
  const lowest = dtype === "float16" ? -65504 : -3.4028234663852886e38;
  const number = numbersOf(dtype, seed, 5, amplitude);
  return floatTensor(dtype, shape, (k) => {
    const u = share(seed, 6, k);
    return u < minusInfinity ? -Infinity : u < minusInfinity + minimum ? lowest : number(k);
  });
}

function floatTensor(dtype: FloatDtype, shape: number[], element: (k: number) => number): Tensor<FloatDtype> {
  const length = size(shape);
  if (dtype === "float32") return { data: Float32Array.from({ length }, (_, k) => element(k)), shape };
  const view = new DataView(new ArrayBuffer(2 * length));
  for (let k = 0; k < length; ++k) setFloat16(view, 2 * k, element(k), true);
  return { data: new Uint16Array(view.buffer), shape };
}

function size(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

function numbersOf(dtype: FloatDtype, seed: number, stream: number, amplitude = 1): (k: number) => number {
  const bits = dtype === "float16" ? 11 : 24;
  const half = 2 ** (bits - 1);
  return (k) => (((word(seed, stream, k) >>> (32 - bits)) - half) / half) * amplitude;
}

function share(seed: number, stream: number, k: number): number {
  return (word(seed, stream, k) >>> 8) / 2 ** 24;
}

export function word(seed: number, stream: number, k: number): number {
  return mix(mix(8 * seed + stream) + imul(k, 0x9e3779b9));
}

function mix(x: number): number {
  x ^= x >>> 16;
  x = imul(x, 0x7feb352d);
  x ^= x >>> 15;
  x = imul(x, 0x846ca68b);
  x ^= x >>> 16;
  return x >>> 0;
}
