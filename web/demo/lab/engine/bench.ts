import { HeadwiseError, createAttention, type Attention } from "headwise";

import { randomNormal } from "../shell/random.js";
import { exactAttention } from "./exact.js";
import { difference } from "./difference.js";
import { roofline } from "./roofline.js";

/** An engine to measure. */
export interface BenchEngine {
  readonly backend: "wasm" | "webgpu";
  readonly variant: "simd" | "relaxed" | "wgsl";
  readonly threads: number;
}

export interface BenchOrder {
  readonly engines: readonly BenchEngine[];
  /** How long to measure each case on each engine. */
  readonly seconds: number;
}

/** A row of the table: an engine and the time of each case, or why it did not run. */
export interface BenchFigure {
  readonly engine: BenchEngine;
  readonly refusal?: string;
  /** The largest distance of an output from the result in double precision. */
  readonly error?: number;
  /** The peak of one core, in floating-point operations a second. */
  readonly roof?: number;
  /** The median of each case, in milliseconds. */
  readonly times: readonly number[];
}

/** A case: its name, its operations, and the call. */
export interface BenchCase {
  readonly name: string;
  readonly flops: number;
  readonly prepare: (hw: Attention) => Promise<() => Promise<unknown>>;
}

const plain = (name: string, heads: number, length: number, dim: number, causal: boolean): BenchCase => ({
  name,
  flops: 4 * heads * dim * (causal ? (length * (length + 1)) / 2 : length ** 2),
  prepare: (hw) => {
    const tensor = (seed: number) => ({
      data: randomNormal(seed, heads * length * dim),
      shape: [1, heads, length, dim],
    });
    const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
    return Promise.resolve(() => hw.scaledDotProductAttention(query, key, value, { causal }));
  },
});

const decode = (name: string, heads: number, kvHeads: number, keys: number, dim: number): BenchCase => ({
  name,
  flops: 4 * heads * keys * dim,
  async prepare(hw) {
    const cache = await hw.kvCache({ batchSize: 1, numKvHeads: kvHeads, headDim: dim, capacity: keys });
    const tensor = (seed: number, count: number, length: number) => ({
      data: randomNormal(seed, count * length * dim),
      shape: [1, count, length, dim],
    });
    await cache.append(tensor(1, kvHeads, keys), tensor(2, kvHeads, keys));
    const query = tensor(3, heads, 1);
    return () => cache.attend(query, { causal: true });
  },
});

export const CASES: readonly BenchCase[] = [
  plain("BERT, 12 heads × 128 × 64", 12, 128, 64, false),
  plain("BERT, 12 heads × 512 × 64", 12, 512, 64, false),
  plain("GPT, causal 12 × 1024 × 64", 12, 1024, 64, true),
  decode("next token, 32/8 heads × 2048 × 128", 32, 8, 2048, 128),
];

export async function bench(
  { engines, seconds }: BenchOrder,
  onProgress: (what: string, done: number, total: number) => void,
): Promise<BenchFigure[]> {
  const figures: BenchFigure[] = [];
  const total = engines.length * CASES.length;
  for (const engine of engines) {
    const say = (name: string, done: number) =>
      onProgress(
        `${engine.backend} ${engine.variant}, ${engine.threads} threads: ${name}`,
        figures.length * CASES.length + done,
        total,
      );
    figures.push(await benchEngine(engine, seconds, say));
  }
  return figures;
}

async function benchEngine(
  engine: BenchEngine,
  seconds: number,
  say: (name: string, done: number) => void,
): Promise<BenchFigure> {
  try {
    const { backend, variant, threads } = engine;
    const hw = await createAttention(
      backend === "webgpu" ? { backend } : { backend, variant: variant as "simd", threads },
    );
    try {
      const error = await errorOf(hw);
      const times = [];
      for (const [index, { name, prepare }] of CASES.entries()) {
        say(name, index);
        times.push(await median(await prepare(hw), seconds));
      }
      const roof = backend === "wasm" ? await roofline(variant === "relaxed") : undefined;
      const actual = { ...engine, threads: hw.report.threads };
      return { engine: actual, error, ...(roof !== undefined && { roof }), times };
    } finally {
      hw.dispose();
    }
  } catch (error) {
    const hint = HeadwiseError.is(error) && error.hint ? ` ${error.hint}` : "";
    return { engine, refusal: `${error instanceof Error ? error.message : String(error)}${hint}`, times: [] };
  }
}

/** The error of a small call. An engine with wrong results is not measured. */
async function errorOf(hw: Attention): Promise<number> {
  const tensor = (seed: number) => ({ data: randomNormal(seed, 2 * 70 * 32), shape: [1, 2, 70, 32] });
  const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
  const { output } = await hw.scaledDotProductAttention(query, key, value, { causal: true });
  return difference("output", output.data, exactAttention(query, key, value, { causal: true }).output).largest;
}

/** The median time of a call in milliseconds. It makes one call to warm up, and then as many as fit in `seconds`. */
async function median(call: () => Promise<unknown>, seconds: number): Promise<number> {
  await call();
  const times: number[] = [];
  const end = performance.now() + 1000 * seconds;
  do {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  } while (performance.now() < end);
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}
