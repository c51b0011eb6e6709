import { createAttention, type Attention } from "headwise";

import { adviceOf } from "../shell/advice.js";
import { counted, significant } from "../shell/numbers.js";
import { randomNormal } from "../shell/random.js";
import { bandwidth } from "./bandwidth.js";
import { exactAttention } from "./exact.js";
import { difference } from "./difference.js";
import { roofline } from "./roofline.js";
import { t } from "../../texts/t.js";

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
  /** How fast the engine's threads copy memory together, in bytes a second, read and written. */
  readonly bandwidth?: number;
  /** The median of each case, in milliseconds. There are fewer times than cases if the bench was cancelled. */
  readonly times: readonly number[];
}

/** "wasm · relaxed · 2 threads" */
export function engineName({ backend, variant, threads }: BenchEngine): string {
  if (backend === "webgpu") return "WebGPU";
  return `wasm · ${variant} · ${counted(threads, "thread")}`;
}

/** A case: its name, its operations, and the call. */
export interface BenchCase {
  readonly name: string;
  readonly flops: number;
  /** The bytes of inputs and output, each moved once. */
  readonly bytes: number;
  readonly prepare: (hw: Attention) => Promise<() => Promise<unknown>>;
}

const plain = (name: string, heads: number, length: number, dim: number, causal: boolean): BenchCase => ({
  name,
  flops: 4 * heads * dim * (causal ? (length * (length + 1)) / 2 : length ** 2),
  bytes: 4 * 4 * heads * length * dim,
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
  bytes: 4 * dim * (2 * kvHeads * keys + 2 * heads),
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
  plain(t`BERT, 12 heads × ${"128 × 64"}`, 12, 128, 64, false),
  plain(t`BERT, 12 heads × ${"512 × 64"}`, 12, 512, 64, false),
  plain(t`GPT, causal ${"12 × 1024 × 64"}`, 12, 1024, 64, true),
  decode(t`next token, 32/8 heads × ${"2048 × 128"}`, 32, 8, 2048, 128),
];

/** An engine whose results are farther from double precision is not measured: its results are wrong. */
const LARGEST_ERROR = 1e-4;

/** Measures every engine. If `signal` aborts, it ends after the call that runs and gives what it has measured. */
export async function bench(
  { engines, seconds }: BenchOrder,
  onProgress: (what: string, done: number, total: number) => void,
  signal: AbortSignal,
): Promise<BenchFigure[]> {
  const figures: BenchFigure[] = [];
  const total = engines.length * CASES.length;
  for (const engine of engines) {
    await otherMessages();
    if (signal.aborted) break;
    const say = (name: string, done: number) =>
      onProgress(`${engineName(engine)}: ${name}`, figures.length * CASES.length + done, total);
    figures.push(await benchEngine(engine, seconds, say, signal));
  }
  return figures;
}

async function benchEngine(
  engine: BenchEngine,
  seconds: number,
  say: (name: string, done: number) => void,
  signal: AbortSignal,
): Promise<BenchFigure> {
  try {
    const { backend, variant, threads } = engine;
    const hw = await createAttention(
      backend === "webgpu" ? { backend } : { backend, variant: variant as "simd", threads },
    );
    try {
      const error = await errorOf(hw);
      if (!(error <= LARGEST_ERROR)) throw new Error(`its results are wrong by ${significant(error)}`);
      const actual = { ...engine, threads: hw.report.threads };
      const roofs = backend === "wasm" ? await roofsOf(actual) : {};
      const times: number[] = [];
      for (const [index, { name, prepare }] of CASES.entries()) {
        if (signal.aborted) break;
        say(name, index);
        const time = await median(await prepare(hw), seconds, signal);
        if (time !== undefined) times.push(time);
      }
      return { engine: actual, error, ...roofs, times };
    } finally {
      hw.dispose();
    }
  } catch (error) {
    const advice = adviceOf(error);
    const hint = advice ? ` ${advice}` : "";
    return { engine, refusal: `${error instanceof Error ? error.message : String(error)}${hint}`, times: [] };
  }
}

async function roofsOf({ variant, threads }: BenchEngine): Promise<Pick<BenchFigure, "roof" | "bandwidth">> {
  const roof = await roofline(variant === "relaxed");
  return { ...(roof !== undefined && { roof }), bandwidth: await bandwidth(threads) };
}

/** The error of a small call. An engine with wrong results is not measured. */
async function errorOf(hw: Attention): Promise<number> {
  const tensor = (seed: number) => ({ data: randomNormal(seed, 2 * 70 * 32), shape: [1, 2, 70, 32] });
  const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
  const { output } = await hw.scaledDotProductAttention(query, key, value, { causal: true });
  return difference("output", output.data, exactAttention(query, key, value, { causal: true }).output).largest;
}

/**
 * The median time of a call in milliseconds; undefined if `signal` aborts. It makes one call to warm up, and then as many
 * as fit in `seconds`.
 */
async function median(call: () => Promise<unknown>, seconds: number, signal: AbortSignal): Promise<number | undefined> {
  await call();
  const times: number[] = [];
  const end = performance.now() + 1000 * seconds;
  do {
    await otherMessages();
    if (signal.aborted) return undefined;
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  } while (performance.now() < end);
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
}

/** Lets the worker hear messages that wait. Calls alone do not: they settle without giving way. */
function otherMessages(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
