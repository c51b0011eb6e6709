import { attentionProblem, OPTION_NAMES, type AttentionProblem } from "../attention/attentionProblem.js";
import type { EngineName, RaceResult } from "../engine/report.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions } from "../read/options.js";
import { CHECK } from "./attentionKind.js";
import { leastMeasured, secondsOfRun } from "./clock.js";
import { fitted } from "./fit.js";
import { kernelSecondsOf } from "./kernelClock.js";
import { kernelLoad, loadOf, predict, type Speed } from "./speed.js";
import { attentionWork } from "./work.js";

/** The sizes of one call of the race. */
interface RaceShape {
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

const START: RaceShape = { heads: 1, queries: 32, keys: 32 };
const BYTES: RaceShape = { heads: 32, queries: 32, keys: 64 };
const PRODUCTS: RaceShape = { heads: 32, queries: 128, keys: 128 };

/** The shape whose kernels the race uses. */
export const MAIN: RaceShape = { heads: 8, queries: 512, keys: 512 };

/**
 * The calls of the race on a GPU, the shortest first. The first shows the start of a call, the second its bytes, the others
 * its products. A shape runs only if it is predicted to fit what is left of the time.
 */
const GPU_SHAPES: readonly RaceShape[] = [START, BYTES, PRODUCTS, MAIN, { heads: 16, queries: 1024, keys: 1024 }];

/** When shapes run again, the longest comes first: from it most is learned, and a disturbance there misleads most. */
const LONGEST_FIRST = [...GPU_SHAPES].reverse();

/** The calls of the race on wasm. Each takes a few milliseconds at most, because it may block the page. */
const WASM_SHAPES: readonly RaceShape[] = [START, BYTES, PRODUCTS];

/** Runs of a shape. The shortest counts: what disturbs a run makes it longer. */
const RUNS = 3;

/** Most seconds of calls on the GPU. On a coarse clock it is the time of some measurements. */
const MOST_SECONDS = 0.06;
const MOST_MEASUREMENTS = 12;

/** Most tilings that take part. */
export const MOST_TILINGS = 2;

/** A run is started if it is predicted to fit with this factor. */
const CAUTION = 1.5;

/** A shape says nothing new if its time beside the start of a call is predicted to be a smaller part than this. */
const LEAST_NEWS = 0.1;

/** A tiling must be faster than the default by this factor to be taken. */
const CLEARLY_FASTER = 1.03;

/** The contenders of a race. */
export interface Contest {
  readonly tilings: readonly string[];
  readonly headDim: number;
  readonly valueDim: number;
  /** What is assumed of each engine, or known. */
  readonly around: Readonly<Record<EngineName, Speed>>;
  /** The step of the clock, in seconds. Default: it is exact. */
  readonly step?: number;
  /** Compiles the kernels of a call. Default: they are compiled. */
  readonly prepare?: (tiling: string, problem: AttentionProblem) => Promise<void>;
  /** Seconds of a call on the GPU, with a tiling. */
  gpu(tiling: string, problem: AttentionProblem): Promise<number>;
  /** Seconds of a call's kernels on the GPU, by its own clock; undefined without one. */
  readonly kernels?: (tiling: string, problem: AttentionProblem) => Promise<number | undefined>;
  /** Seconds of a call on wasm. */
  wasm(problem: AttentionProblem): Promise<number>;
}

/** The fastest tiling, and the speeds of it and of wasm. */
export interface Outcome extends Readonly<Record<EngineName, Speed>> {
  readonly tiling: string;
  readonly race: readonly RaceResult[];
}

/** A call with zeros of this shape. */
export function raceProblem({ heads, queries, keys }: RaceShape, headDim: number, valueDim: number): AttentionProblem {
  const call = new CallArguments(CHECK);
  const zeros = (length: number, width: number) => ({
    data: new Float32Array(heads * length * width),
    shape: [1, heads, length, width],
  });
  const options = readOptions(call, {}, OPTION_NAMES);
  return attentionProblem(call, zeros(queries, headDim), zeros(keys, headDim), zeros(keys, valueDim), options);
}

/** Times the tilings, and wasm. */
export async function race(contest: Contest): Promise<Outcome> {
  const times = new Times(contest);
  await raceOnGpu(contest, times);
  await timeKernels(contest, times);
  for (const shape of WASM_SHAPES)
    for (let run = 0; run < RUNS; ++run)
      times.note(shape, "wasm", await secondsOfRun(() => contest.wasm(times.problem(shape)), contest.step ?? 0));
  const tiling = times.fastest();
  return {
    tiling,
    webgpu: times.speed("webgpu", tiling),
    wasm: times.speed("wasm", "wasm"),
    race: times.results(),
  };
}

/** Every shape once, then again while there is time: a device that is far away has time for a few runs only. */
async function raceOnGpu(contest: Contest, times: Times): Promise<void> {
  const [first] = contest.tilings as [string];
  const { step = 0 } = contest;
  const least = leastMeasured(step);
  let left = Math.max(MOST_SECONDS, MOST_MEASUREMENTS * least);
  for (let run = 0; run < RUNS; ++run)
    for (const shape of run === 0 ? GPU_SHAPES : LONGEST_FIRST)
      for (const tiling of contest.tilings) {
        // The very first run is the shortest call, and nothing is known before it.
        const isFirst = run === 0 && shape === START && tiling === first;
        if (
          !isFirst &&
          !(times.isWorth(shape, first) && CAUTION * Math.max(times.expected(shape, tiling, first), least) <= left)
        )
          continue;
        // A compiler may take longer than all calls together.
        if (times.of(shape, tiling) === undefined) await contest.prepare?.(tiling, times.problem(shape));
        const seconds = await secondsOfRun(async () => {
          const one = await contest.gpu(tiling, times.problem(shape));
          left -= one;
          return one;
        }, step);
        times.note(shape, tiling, seconds);
      }
}

/**
 * The kernels of the longest call that all tilings have run. Beside copies and waiting, which the GPU's own clock leaves out,
 * a fast GPU's products take too little to be seen.
 */
async function timeKernels({ tilings, kernels }: Contest, times: Times): Promise<void> {
  const shape = LONGEST_FIRST.find((shape) => tilings.every((tiling) => times.of(shape, tiling) !== undefined));
  if (!kernels || !shape) return;
  for (const tiling of tilings) {
    const seconds = await kernelSecondsOf(() => kernels(tiling, times.problem(shape)));
    if (seconds === undefined) return;
    times.noteKernels(shape, tiling, seconds);
  }
}

/** The shortest time of each shape and contender. */
class Times {
  readonly #contest: Contest;
  readonly #times = new Map<RaceShape, Map<string, number>>();
  /** A shape runs often, and is looked at more often. Its zeros are made once. */
  readonly #problems = new Map<RaceShape, AttentionProblem>();
  /** The seconds of kernels, by tiling, of one shape. */
  readonly #kernels = new Map<string, number>();
  #kernelShape: RaceShape | undefined;

  constructor(contest: Contest) {
    this.#contest = contest;
  }

  of(shape: RaceShape, contender: string): number | undefined {
    return this.#times.get(shape)?.get(contender);
  }

  /** Seconds that a run on the GPU will take, by the times so far. */
  expected(shape: RaceShape, tiling: string, first: string): number {
    const known = this.of(shape, tiling) ?? this.of(shape, first);
    return known ?? predict(this.speed("webgpu", first), this.load("webgpu", shape));
  }

  /** Whether a shape takes clearly longer than the start of a call alone. The shortest one shows the start. */
  isWorth(shape: RaceShape, first: string): boolean {
    const speed = this.speed("webgpu", first);
    return shape === START || predict(speed, this.load("webgpu", shape)) > (1 + LEAST_NEWS) * speed.start;
  }

  note(shape: RaceShape, contender: string, seconds: number): void {
    const ofShape = this.#times.get(shape) ?? new Map<string, number>();
    this.#times.set(shape, ofShape);
    ofShape.set(contender, Math.min(seconds, ofShape.get(contender) ?? Infinity));
  }

  noteKernels(shape: RaceShape, tiling: string, seconds: number): void {
    this.#kernelShape = shape;
    this.#kernels.set(tiling, seconds);
  }

  problem(shape: RaceShape): AttentionProblem {
    const known = this.#problems.get(shape) ?? raceProblem(shape, this.#contest.headDim, this.#contest.valueDim);
    this.#problems.set(shape, known);
    return known;
  }

  load(engine: EngineName, shape: RaceShape) {
    return loadOf(engine, attentionWork(this.problem(shape)));
  }

  /** The speed that explains a contender's times. */
  speed(engine: EngineName, contender: string): Speed {
    const timings = [...this.#times.keys()].flatMap((shape) => {
      const seconds = this.of(shape, contender);
      return seconds === undefined ? [] : [{ load: this.load(engine, shape), seconds }];
    });
    const kernels = engine === "webgpu" ? this.#kernels.get(contender) : undefined;
    const ofKernels =
      kernels === undefined
        ? []
        : [{ load: kernelLoad(attentionWork(this.problem(this.#kernelShape!))), seconds: kernels }];
    return fitted(this.#contest.around[engine], [...timings, ...ofKernels]);
  }

  /**
   * The tiling with the fastest kernels. If they were not timed: the fastest over the shapes that all have run. The first
   * one unless another is clearly faster.
   */
  fastest(): string {
    const { tilings } = this.#contest;
    const common = [...this.#times.keys()].filter((shape) => tilings.every((tiling) => this.of(shape, tiling)));
    const ofCalls = (tiling: string) => common.reduce((sum, shape) => sum + this.of(shape, tiling)!, 0);
    const isTimed = tilings.every((tiling) => this.#kernels.has(tiling));
    const total = isTimed ? (tiling: string) => this.#kernels.get(tiling)! : ofCalls;
    return tilings.reduce((best, tiling) => (total(tiling) * CLEARLY_FASTER < total(best) ? tiling : best));
  }

  results(): RaceResult[] {
    const { headDim } = this.#contest;
    return [...this.#times].map(([shape, ofShape]) => ({
      ...shape,
      headDim,
      milliseconds: Object.fromEntries([...ofShape].map(([name, seconds]) => [name, 1000 * seconds])),
    }));
  }
}
