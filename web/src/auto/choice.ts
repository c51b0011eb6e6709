import type { EngineName } from "../engine/report.js";
import { BoundedMap } from "./boundedMap.js";
import { assumedSpeed, loadOf, predict, refined, type Speed } from "./speed.js";
import type { Work } from "./work.js";

/** Another engine must be predicted faster by this factor before equal calls move to it. */
const ENOUGH = 1.25;

/**
 * After so many equal calls on wasm the GPU is tried, twice at first, because its first call compiles. A GPU that saved power
 * while it was measured is many times faster than it seemed, and without a try nobody would notice.
 */
const CALLS_BEFORE_TRY = 8;
const MOST_TRIES = 4;
/** It is tried if it is predicted to take at most so many times as long. */
const WORTH_A_TRY = 2;

/** Share of a new time in the known time of equal calls, and the share of the first time beside the prediction. */
const NEW_SHARE = 1 / 4;
const FIRST_SHARE = 1 / 2;

/** A time that is farther off than this factor counts as one that is off by it. */
const MOST_INFLUENCE = 4;

/** Most kinds of equal calls that are remembered. */
const MOST_KNOWN = 256;

/** What is known of equal calls. */
interface Known {
  engine: EngineName;
  /** The seconds that they take, by engine. */
  readonly seconds: Map<EngineName, number>;
  /** How often they were given to wasm, and how often the GPU was tried. */
  onWasm: number;
  tries: number;
}

/** What a call is, as text. */
export interface CallKey {
  /** Equal for calls that run the same kernels: their code is compiled once. */
  readonly kind: string;
  /** Equal for calls that do the same work. */
  readonly call: string;
}

/**
 * Chooses an engine for each call: the one that is predicted to be faster. A call is predicted by the times of equal calls
 * on that engine, if there were any, and otherwise by the engine's three numbers.
 *
 * Equal calls stay where they are until the other engine is predicted faster by a quarter. The GPU is tried for calls that
 * it may compute nearly as fast as wasm.
 */
export class Choice {
  readonly #assumed: Readonly<Record<EngineName, Speed>>;
  readonly #speeds: Record<EngineName, Speed>;
  readonly #calls: Record<EngineName, number> = { wasm: 0, webgpu: 0 };
  readonly #known = new BoundedMap<string, Known>(MOST_KNOWN);
  /** Engines and kinds whose first call has run. That call compiles, so its time does not count. */
  readonly #begun = new BoundedMap<string, true>(4 * MOST_KNOWN);

  constructor(threads: number) {
    this.#assumed = { wasm: assumedSpeed("wasm", threads), webgpu: assumedSpeed("webgpu", threads) };
    this.#speeds = { ...this.#assumed };
  }

  assumed(engine: EngineName): Speed {
    return this.#assumed[engine];
  }

  speed(engine: EngineName): Speed {
    return this.#speeds[engine];
  }

  /** Number of timed calls by which an engine's speed was refined. */
  calls(engine: EngineName): number {
    return this.#calls[engine];
  }

  /** Takes a speed that was measured. */
  setSpeed(engine: EngineName, speed: Speed): void {
    this.#speeds[engine] = speed;
  }

  /** Seconds that a call will take. */
  predict(engine: EngineName, work: Work, key?: CallKey): number {
    const known = key && this.#known.get(key.call)?.seconds.get(engine);
    return known ?? predict(this.#speeds[engine], loadOf(engine, work));
  }

  /** The engine for a call. */
  choose(key: CallKey, work: Work): EngineName {
    const known = this.#known.get(key.call);
    const here = known?.engine ?? "wasm";
    const there = here === "wasm" ? "webgpu" : "wasm";
    const enough = known ? ENOUGH : 1;
    const isFaster = this.predict(there, work, key) * enough < this.predict(here, work, key);
    const now = this.#knownOf(key, isFaster ? there : here);
    if (now.engine === "webgpu") return "webgpu";
    now.onWasm += 1;
    return this.#isWorthATry(now, key, work) ? "webgpu" : "wasm";
  }

  /** Whether calls that stay on wasm should show how long they take on the GPU. */
  #isWorthATry(known: Known, key: CallKey, work: Work): boolean {
    if (known.onWasm < CALLS_BEFORE_TRY || known.tries === MOST_TRIES || known.seconds.has("webgpu")) return false;
    if (this.predict("webgpu", work) > WORTH_A_TRY * this.predict("wasm", work, key)) return false;
    known.tries += 1;
    return true;
  }

  /**
   * Learns from a call that has run. On a coarse clock, a time that agrees with the prediction within a step says nothing
   * new, and another one counts only beyond the step.
   *
   * @param step - of the clock, in seconds
   */
  learn(engine: EngineName, key: CallKey, work: Work, measured: number, step = 0): void {
    const known = this.#knownOf(key, this.#known.get(key.call)?.engine ?? engine);
    const kind = `${engine} ${key.kind}`;
    if (!this.#begun.get(kind)) {
      this.#begun.set(kind, true);
      return;
    }
    const load = loadOf(engine, work);
    const times = known.seconds.get(engine);
    const before = times ?? predict(this.#speeds[engine], load);
    const seconds = Math.min(Math.max(before, measured - step), measured + step);
    const off = Math.min(Math.max(seconds / before, 1 / MOST_INFLUENCE), MOST_INFLUENCE);
    known.seconds.set(engine, before * off ** (times === undefined ? FIRST_SHARE : NEW_SHARE));
    this.#speeds[engine] = refined(this.#speeds[engine], load, seconds, this.#assumed[engine], this.#calls[engine]);
    this.#calls[engine] += 1;
  }

  #knownOf({ call }: CallKey, engine: EngineName): Known {
    const found = this.#known.get(call) ?? { engine, seconds: new Map<EngineName, number>(), onWasm: 0, tries: 0 };
    found.engine = engine;
    this.#known.set(call, found);
    return found;
  }
}
