import type { AttentionOptions, Tensor } from "headwise";
import { setFloat16 } from "@petamoriken/float16";
import fc from "fast-check";
import { formula } from "headwise/formula";

import { word } from "./cases.js";
import type { Layout } from "../attention-conformance/reference/reference.js";

/** A legal call of scaledDotProductAttention. */
export interface Call {
  readonly query: Tensor<"float32" | "float16">;
  readonly key: Tensor<"float32" | "float16">;
  readonly value: Tensor<"float32" | "float16">;
  readonly options: Omit<AttentionOptions, "location">;
  readonly [fc.toStringMethod]: () => string;
}

interface Extents {
  readonly layout: Layout;
  readonly rank: 2 | 3 | 4;
  readonly B: number;
  readonly Hkv: number;
  readonly group: number;
  readonly Sq: number;
  readonly Skv: number;
  readonly D: number;
  readonly Dv: number;
}

const layouts: readonly Layout[] = ["BHSD", "BSHD", "BSE", "BES"];

const extents: fc.Arbitrary<Extents> = fc
  .record({
    layout: fc.constantFrom(...layouts),
    rank: fc.constantFrom<2 | 3 | 4>(2, 3, 4),
    B: fc.nat(3),
    Hkv: fc.integer({ min: 1, max: 3 }),
    group: fc.integer({ min: 1, max: 3 }),
    Sq: fc.nat(20),
    Skv: fc.nat(40),
    D: fc.integer({ min: 1, max: 20 }),
    Dv: fc.integer({ min: 1, max: 20 }),
  })
  .map((drawn) => {
    const isPacked = drawn.layout === "BSE" || drawn.layout === "BES";
    if (drawn.rank === 2) return { ...drawn, B: 1, Hkv: 1, group: 1 };
    return drawn.rank === 3 && !isPacked ? { ...drawn, B: 1 } : drawn;
  });

const callsOf = (shape: Extents): fc.Arbitrary<Call> =>
  fc
    .record({ seed: fc.nat(), options: optionsFor(shape), types: fc.tuple(dtype, dtype, dtype) })
    .map(({ seed, options, types }): Call => {
      const { B, Hkv, group, Sq, Skv, D, Dv } = shape;
      const isPacked = shape.layout === "BSE" || shape.layout === "BES";
      return {
        query: numbers(seed, 1, types[0], shapeOf(shape, B, Hkv * group, Sq, D)),
        key: numbers(seed, 2, types[1], shapeOf(shape, B, Hkv, Skv, D)),
        value: numbers(seed, 3, types[2], shapeOf(shape, B, Hkv, Skv, Dv)),
        options: {
          layout: shape.layout,
          ...(isPacked && shape.rank > 2 ? { numHeads: Hkv * group, numKvHeads: Hkv } : {}),
          ...withoutConflict(options),
        },
        // a counterexample is printed without its arrays: they follow from its seed, and would be thousands of numbers
        [fc.toStringMethod]: () => JSON.stringify({ seed, types, ...shape, ...options }),
      };
    });

/**
 * Legal calls of every shape, with each option alone and with others. Lengths are small but cross the edges of tiles.
 */
export const calls: fc.Arbitrary<Call> = extents.chain(callsOf);

/** The calls [B, H, S, D] among them that are not empty. A cache, or a layer's context, can have their keys. */
export const fullCalls: fc.Arbitrary<Call> = extents
  .filter(({ B, Sq, Skv }) => B * Sq * Skv > 0)
  .map((shape) => ({ ...shape, layout: "BHSD" as const, rank: 4 as const }))
  .chain(callsOf);

/** A score and emptyRows "throw" exclude each other; so do `causal: true` and lengths of keys alone. */
function withoutConflict({ score, ...options }: Call["options"]): Call["options"] {
  return { ...withAnchor(options), ...(score && options.emptyRows !== "throw" && { score }) };
}

/** Lengths of keys alone would move the diagonal of "lower-right", so the call gets "upper-left". */
export function withAnchor<O extends Call["options"]>(options: O): O {
  const { causal, keyLengths, queryLengths, queryOffset } = options;
  const moves =
    (causal === true || causal === "lower-right") && keyLengths && !queryLengths && queryOffset === undefined;
  return moves ? { ...options, causal: "upper-left" } : options;
}

const dtype = fc.constantFrom("float32" as const, "float32" as const, "float16" as const);

function shapeOf({ layout, rank }: Extents, B: number, H: number, S: number, D: number): number[] {
  switch (layout) {
    case "BHSD":
      return [B, H, S, D].slice(4 - rank);
    case "BSHD":
      return rank === 2 ? [S, D] : [B, S, H, D].slice(4 - rank);
    case "BSE":
      return rank === 2 ? [S, D] : [B, S, H * D];
    case "BES":
      return rank === 2 ? [D, S] : [B, H * D, S];
  }
}

/** Numbers in [−2, 2) that float16 can hold exactly. */
function numbers<D extends "float32" | "float16">(seed: number, stream: number, type: D, shape: number[]): Tensor<D> {
  const length = shape.reduce((product, extent) => product * extent, 1);
  const element = (k: number) => ((word(seed, stream, k) >>> 21) - 1024) / 512;
  if (type === "float32")
    return { data: Float32Array.from({ length }, (_, k) => element(k)), shape } as unknown as Tensor<D>;
  const view = new DataView(new ArrayBuffer(2 * length));
  for (let k = 0; k < length; ++k) setFloat16(view, 2 * k, element(k), true);
  return { data: new Uint16Array(view.buffer), shape } as unknown as Tensor<D>;
}

function optionsFor({ layout, rank, B, Hkv, group, Sq, Skv }: Extents): fc.Arbitrary<Call["options"]> {
  const H = Hkv * group;
  const perHead = (element: fc.Arbitrary<number>) => fc.array(element, { minLength: H, maxLength: H });
  const perBatch = (element: fc.Arbitrary<number>) => fc.array(element, { minLength: B, maxLength: B });
  const offset = fc.integer({ min: -Skv - 2, max: Skv + 2 });
  const dense = fc.record(
    {
      ...formulaOptions(H, perHead),
      queryOffset: fc.oneof(offset, perBatch(offset)),
      keyLengths: perBatch(fc.nat(Skv)),
      queryLengths: perBatch(fc.nat(Sq)),
      mask: maskOf([B, H, Sq, Skv]),
      bias: biasOf([B, H, Sq, Skv]),
      returns: returnsFor(H, Sq),
    },
    { requiredKeys: ["returns"] },
  );
  const canBeRagged = B === 1 && rank > 2 && (layout === "BSE" || layout === "BSHD");
  return canBeRagged ? fc.oneof(dense, raggedOptions(H, Sq, Skv, perHead)) : dense;
}

function raggedOptions(
  H: number,
  Sq: number,
  Skv: number,
  perHead: (element: fc.Arbitrary<number>) => fc.Arbitrary<number[]>,
): fc.Arbitrary<Call["options"]> {
  return fc.nat(4).chain((cuts) => {
    const cumulative = (total: number) =>
      fc
        .array(fc.nat(total), { minLength: cuts, maxLength: cuts })
        .map((ends) => [0, ...ends.sort((a, b) => a - b), total]);
    const offsets = fc.array(fc.integer({ min: -5, max: 10 }), { minLength: cuts + 1, maxLength: cuts + 1 });
    return fc.record(
      {
        ...formulaOptions(H, perHead),
        queryOffset: offsets,
        cuSeqLensQuery: cumulative(Sq),
        cuSeqLensKey: cumulative(Skv),
        returns: returnsFor(H, Sq),
      },
      { requiredKeys: ["cuSeqLensQuery", "cuSeqLensKey", "returns"] },
    );
  });
}

const SCORES = [
  "s * 0.5 - 0.1 * abs(q - k)",
  "4 * tanh(s / 4) + 0.3 * h - 0.2 * b + 0.1 * g",
  "k % 4 == 3 ? -Infinity : s",
  "s + sin(q * 0.3 + k) - exp(-i / 3) + j / Skv + Sq / D",
].map((text) => formula(text));

const VISIBLES = [
  "k <= q",
  "abs(q - k) <= 6 && i != 2",
  "(q - k) % 3 != 1 || h == 1",
  "j < Skv - 2 && (k <= q || j < seen[b])",
].map((text) => formula(text, text.includes("seen") ? { seen: [3, 0, 7, 1] } : {}));

function formulaOptions(H: number, perHead: (element: fc.Arbitrary<number>) => fc.Arbitrary<number[]>) {
  return {
    scale: fc.constantFrom(0, 0.125, 1, -0.5),
    softcap: fc.constantFrom(0, 1, 30),
    causal: fc.constantFrom(true, false, "upper-left" as const, "lower-right" as const),
    window: fc.record({ left: fc.nat(12), right: fc.nat(12) }, { requiredKeys: [] }),
    score: fc.constantFrom(...SCORES),
    visible: fc.constantFrom(...VISIBLES),
    excludeSelf: fc.boolean(),
    alibiSlopes: perHead(fc.constantFrom(0, 0.25, 0.5, -0.125)),
    sinks: perHead(fc.constantFrom(-Infinity, -1, 0.5, 4)),
    headGain: perHead(fc.constantFrom(0, 1, -2, 0.5)),
    emptyRows: fc.constantFrom("zero" as const, "nan" as const, "uniform" as const, "throw" as const),
  };
}

/** A shape that broadcasts: an extent of 1 repeats, and leading axes may be absent. */
function broadcastShape(full: readonly number[]): fc.Arbitrary<number[]> {
  return fc
    .tuple(fc.integer({ min: 1, max: 4 }), ...full.map(() => fc.boolean()))
    .map(([rank, ...keeps]) => full.map((extent, axis) => (keeps[axis] ? extent : 1)).slice(4 - rank));
}

function maskOf(full: readonly number[]): fc.Arbitrary<Tensor<"bool">> {
  return fc
    .record({ shape: broadcastShape(full), seed: fc.nat(), hidden: fc.constantFrom(0, 1, 2, 3) })
    .map(({ shape, seed, hidden }) => ({
      shape,
      data: Uint8Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, k) =>
        Number(word(seed, 4, k) % 4 >= hidden),
      ),
    }));
}

function biasOf(full: readonly number[]): fc.Arbitrary<Tensor<"float32" | "float16">> {
  return fc
    .record({ shape: broadcastShape(full), seed: fc.nat(), type: dtype, hides: fc.boolean() })
    .map(({ shape, seed, type, hides }) => {
      const bias = numbers(seed, 5, type, shape);
      const minusInfinity = type === "float16" ? 0xfc00 : -Infinity;
      if (hides) for (let k = 0; k < bias.data.length; ++k) if (word(seed, 6, k) % 4 === 0) put(bias, k, minusInfinity);
      return bias;
    });
}

function put({ data }: Tensor, k: number, value: number): void {
  (data as Float32Array)[k] = value;
}

function returnsFor(H: number, Sq: number): fc.Arbitrary<NonNullable<AttentionOptions["returns"]>> {
  const heads = fc.array(fc.nat(H - 1), { minLength: 1, maxLength: 4 });
  const queries = Sq === 0 ? fc.constant<number[]>([]) : fc.array(fc.nat(Sq - 1), { maxLength: 6 });
  const slice = { heads, queries };
  const averaged = { ...slice, average: fc.boolean() };
  const stage = fc.constantFrom("raw" as const, "softcapped" as const, "biased" as const, "formula" as const);
  return fc.record(
    {
      output: fc.boolean(),
      lse: fc.boolean(),
      entropy: fc.boolean(),
      probs: fc.oneof(fc.boolean(), fc.record(averaged, { requiredKeys: [] })),
      topK: fc.oneof(
        fc.integer({ min: 1, max: 6 }),
        fc.record({ ...averaged, k: fc.integer({ min: 1, max: 50 }) }, { requiredKeys: ["k"] }),
      ),
      scores: fc.oneof(stage, fc.record({ ...slice, stage }, { requiredKeys: ["stage"] })),
    },
    { requiredKeys: [] },
  );
}
