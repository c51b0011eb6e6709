import { OptionError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { elements } from "../tensor/plainTensor.js";

/** Where the numbers of a StepTensor will lie: in `memory`, from `offset` on, with rows `stride` numbers apart. */
export interface StepPlace {
  readonly memory: Float32Array;
  readonly offset: number;
  readonly stride: number;
}

/** What makes tensors of a step. Each belongs to its maker. */
export type Maker = object;

/**
 * A tensor of a recorded step: what an operation will give. It has numbers only while the step runs. A Recorder makes it.
 */
export class StepTensor {
  readonly #maker: Maker;
  readonly #place: StepPlace;
  /** `[…, width]` */
  readonly shape: readonly number[];

  /** @internal */
  constructor(maker: Maker, shape: readonly number[], place: StepPlace) {
    this.#maker = maker;
    this.shape = shape;
    this.#place = place;
  }

  /** The number of the last axis. */
  get width(): number {
    return this.shape.at(-1)!;
  }

  /** @internal The product of all extents but the last. */
  get rows(): number {
    return elements(this.shape.slice(0, -1));
  }

  /** @internal */
  get place(): StepPlace {
    return this.#place;
  }

  /** @internal Whether rows follow each other without gaps. */
  get isDense(): boolean {
    return this.#place.stride === this.width || this.rows === 1;
  }

  /**
   * @internal The tensor that a caller has given.
   * @throws OptionError if it is none, or one of another step.
   */
  static in(maker: Maker, operation: string, argument: string, value: unknown): StepTensor {
    if (typeof value !== "object" || value === null || !(#maker in value))
      throw new OptionError(`${operation}: ${argument} must be a tensor of this step, got ${describe(value)}`, {
        hint: "Give what an operation of the recorder has returned. `recorder.input` takes numbers when the step runs.",
      });
    if (value.#maker !== maker)
      throw new OptionError(`${operation}: ${argument} must be a tensor of this step, got one of another step`);
    return value;
  }

  /** @internal */
  static is(value: unknown): value is StepTensor {
    return typeof value === "object" && value !== null && #maker in value;
  }
}

/** Whole numbers that a step gets when it runs, such as tokens. `recorder.numbers` makes it. */
export class StepNumbers {
  readonly #maker: Maker;
  readonly #memory: Int32Array;
  /** @internal Each number must be below it. */
  limit = 2 ** 31;

  /** @internal */
  constructor(maker: Maker, memory: Int32Array) {
    this.#maker = maker;
    this.#memory = memory;
  }

  /** How many there are. */
  get length(): number {
    return this.#memory.length;
  }

  /** @internal */
  get memory(): Int32Array {
    return this.#memory;
  }

  /** @internal As `StepTensor.in`. */
  static in(maker: Maker, operation: string, argument: string, value: unknown): StepNumbers {
    if (typeof value === "object" && value !== null && #maker in value && value.#maker === maker) return value;
    throw new OptionError(
      `${operation}: ${argument} must be numbers of this step, which recorder.numbers makes, got ${describe(value)}`,
    );
  }
}
