import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { EngineName, EngineSpeed } from "../engine/report.js";
import { assumedSpeed, loadOf, refined, type Speed } from "./speed.js";
import { attentionWork } from "./work.js";

/** The speed of the only engine of an instance, learned from the times of its calls. It predicts; nothing is chosen. */
export class Pace {
  readonly #engine: EngineName;
  readonly #assumed: Speed;
  #speed: Speed;
  #calls = 0;
  #begun = false;

  constructor(engine: EngineName, threads: number) {
    this.#engine = engine;
    this.#assumed = this.#speed = assumedSpeed(engine, threads);
  }

  /** Learns from a call. The first one compiles, so its time does not count. */
  learn(problem: AttentionProblem, seconds: number): void {
    if (!this.#begun) {
      this.#begun = true;
      return;
    }
    this.#speed = refined(
      this.#speed,
      loadOf(this.#engine, attentionWork(problem)),
      seconds,
      this.#assumed,
      this.#calls++,
    );
  }

  get speed(): EngineSpeed {
    return engineSpeed(this.#speed, "assumed", this.#calls);
  }
}

/** A speed as the report shows it. */
export function engineSpeed(
  { start, byte, operation }: Speed,
  basis: EngineSpeed["basis"],
  calls: number,
): EngineSpeed {
  return {
    startMilliseconds: 1000 * start,
    bytesPerSecond: 1 / byte,
    operationsPerSecond: 1 / operation,
    basis,
    calls,
  };
}

/** The speed of a report. */
export function speedOf({ startMilliseconds, bytesPerSecond, operationsPerSecond }: EngineSpeed): Speed {
  return { start: startMilliseconds / 1000, byte: 1 / bytesPerSecond, operation: 1 / operationsPerSecond };
}
