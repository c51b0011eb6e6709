import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { product } from "../tensor/product.js";

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
    this.shape = Object.freeze([...shape]);
    this.#place = place;
    Object.freeze(this);
  }

  /** The number of the last axis. */
  get width(): number {
    return this.shape.at(-1)!;
  }

  /** @internal The product of all extents but the last. */
  get rows(): number {
    return product(this.shape.slice(0, -1));
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

/**
 * Whole numbers of a recorded step, such as tokens: what each run gets (`recorder.numbers`), or what it computes
 * (`recorder.topK`).
 */
export class StepNumbers {
  readonly #maker: Maker;
  readonly #memory: Int32Array;
  readonly #isComputed: boolean;
  #limit: number;
  readonly shape: readonly number[];

  /**
   * @internal
   * @param below - What the step computes is below it. undefined: each run gets the numbers.
   */
  constructor(maker: Maker, shape: readonly number[], memory: Int32Array, below?: number) {
    this.#maker = maker;
    this.shape = Object.freeze([...shape]);
    this.#memory = memory;
    this.#isComputed = below !== undefined;
    this.#limit = below ?? 2 ** 31;
    Object.freeze(this);
  }

  /** How many there are. */
  get length(): number {
    return this.#memory.length;
  }

  /** @internal Each number is below it. */
  get limit(): number {
    return this.#limit;
  }

  /**
   * @internal Says that each number must be below `limit`, the rows of a table.
   * @throws OptionError if the step may compute larger ones.
   */
  mustBeBelow(operation: string, argument: string, limit: number): void {
    if (this.#isComputed && this.#limit > limit)
      throw new OptionError(
        `${operation}: ${argument} must be below the ${limit} rows of the table, and the step may compute ${this.#limit - 1}`,
      );
    this.#limit = Math.min(this.#limit, limit);
  }

  /** @internal */
  get memory(): Int32Array {
    return this.#memory;
  }

  /** @internal As `StepTensor.in`. */
  static in(maker: Maker, operation: string, argument: string, value: unknown): StepNumbers {
    if (typeof value === "object" && value !== null && #maker in value && value.#maker === maker) return value;
    throw new OptionError(
      `${operation}: ${argument} must be numbers of this step, which recorder.numbers or recorder.topK makes, got ${describe(value)}`,
    );
  }

  /** @internal */
  static is(value: unknown): value is StepNumbers {
    return typeof value === "object" && value !== null && #maker in value;
  }
}
