import { isCallable } from "../base/callable.js";
import { describe } from "../base/describe.js";
import { DisposedError, OptionError, ShapeError } from "../base/errors.js";
import type { RecordedForward } from "../layer/recordedForward.js";
import { beforeAbort } from "../read/abort.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions, type NumberList, type OptionReader } from "../read/options.js";
import type { CheckedTensor, FloatTensorLike, TypedTensor } from "../tensor/tensor.js";
import type { Context, Eventually } from "../turn/context.js";
import { Disposing } from "../turn/disposable.js";
import { Recorder, rowsOf, whole, wholeOf, type StepInput } from "./recorder.js";
import { StepMemory } from "./stepMemory.js";
import type { EngineStep, StepArray, StepOutput, StepProblem } from "./stepProblem.js";
import { StepNumbers, StepTensor } from "./stepTensor.js";

/** What a recording gives by name: tensors, and whole numbers that the step computes. */
export type StepOutputs = Readonly<Record<string, StepTensor | StepNumbers>>;

/** The inputs of a run, by the names that were recorded: lists of whole numbers, or float32 tensors. */
export type StepInputs = Readonly<Record<string, NumberList | FloatTensorLike>>;

/** The result of a run: tensors by name, of float32 or, for whole numbers, of int32. */
export type StepResult<O extends StepOutputs> = {
  readonly [Name in keyof O]: TypedTensor<O[Name] extends StepNumbers ? "int32" : "float32">;
};

/** What a step asks of its engine. */
export interface StepEngine {
  createStep(problem: StepProblem): Eventually<EngineStep>;
}

/** Records a step, and makes it when it is the call's turn. */
export async function recordStep<O extends StepOutputs>(
  call: CallArguments,
  context: Context,
  engine: StepEngine,
  build: unknown,
  signal: AbortSignal | undefined,
): Promise<Step<O>> {
  const { operation } = call;
  if (!isCallable(build))
    throw new OptionError(`${operation}: build must be a function that records, got ${describe(build)}`);
  const memory = new StepMemory(call.placement);
  const recorder = new Recorder(context, memory);
  try {
    const built = Promise.resolve((build as (recorder: Recorder) => unknown)(recorder));
    const outputs = readOutputs(call, recorder, await beforeAbort(built, signal));
    const { parts, layers, inputs, assertIntact } = recorder.close();
    for (const layer of layers) layer.assertAlive(operation);
    const inStep = new CallArguments(operation, memory.placement);
    const problem: StepProblem = {
      operation,
      parts,
      places: memory.places,
      inputs: [...inputs.values()].map((input) => whole(inStep, "floats" in input ? input.floats.place.memory : input.numbers.memory)), // oxfmt-ignore
      outputs: [...outputs.values()].map((x) => outputOf(inStep, x)),
      signal,
    };
    const make = () => {
      assertIntact();
      return engine.createStep(problem);
    };
    const made = await context.run(call, make, signal);
    return new Step<O>(context, made, { layers, inputs, outputs });
  } finally {
    recorder.close();
  }
}

/** A tensor or numbers that every run gives. */
type Output = StepTensor | StepNumbers;

function outputOf(call: CallArguments, x: Output): StepOutput {
  if (StepTensor.is(x)) return { rows: x.rows, width: x.width, x: rowsOf(call, x) };
  return { rows: 1, width: x.length, x: { tensor: wholeOf(call, x), offset: 0, stride: x.length } };
}

function readOutputs(call: CallArguments, recorder: Recorder, given: unknown): ReadonlyMap<string, Output> {
  const { operation } = call;
  const outputs = call.record("outputs", given ?? null, []);
  if (outputs.size === 0) throw new OptionError(`${operation}: build must return at least one output by name, got {}`);
  return new Map(
    [...outputs].map(([name, value]) => {
      const of = StepNumbers.is(value) ? StepNumbers : StepTensor;
      return [name, of.in(recorder, operation, `outputs.${name}`, value)];
    }),
  );
}

interface Recorded {
  readonly layers: readonly RecordedForward[];
  readonly inputs: ReadonlyMap<string, StepInput>;
  readonly outputs: ReadonlyMap<string, Output>;
}

/**
 * A recorded step: a fixed list of operations that runs as one call. `record` of an instance makes it.
 *
 * Its layers and caches stay those of the user: between two runs a cache can be rewound, and a layer's weights updated. If a
 * run fails, its caches are as before (a ring that has dropped tokens keeps the new ones).
 */
export class Step<O extends StepOutputs = StepOutputs> extends Disposing {
  readonly #context: Context;
  readonly #step: EngineStep;
  readonly #recorded: Recorded;
  #disposed = false;

  /** @internal */
  constructor(context: Context, step: EngineStep, recorded: Recorded) {
    super();
    this.#context = context;
    this.#step = step;
    this.#recorded = recorded;
  }

  /** Bytes of the step: its tensors, and the weights that it has copied. */
  get bytes(): number {
    return this.#step.bytes;
  }

  /**
   * Runs the step.
   *
   * @param inputs - A value for each input that was recorded.
   * @throws OptionError or ShapeError before anything runs; the errors of the recorded operations; DisposedError if the step,
   *   or a layer or cache of it, was disposed.
   */
  async run(
    inputs: StepInputs = {},
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<StepResult<O>> {
    const call = this.#context.arguments("step.run");
    call.changes = true; // its layers may have caches
    call.needs(() => {
      if (this.#disposed) throw new DisposedError("step.run: the step was disposed");
    });
    const signal = readOptions(call, options, ["signal"]).signal();
    const given = this.#read(call, inputs);
    for (const layer of this.#recorded.layers) layer.assertAlive(call.operation);
    const compute = (): Eventually<StepResult<O>> => {
      for (const layer of this.#recorded.layers) layer.assertUsable(call.operation);
      const running = this.#step.run(call.operation, given);
      return running instanceof Promise ? running.then((all) => this.#results(all)) : this.#results(running);
    };
    return this.#context.run(call, compute, signal);
  }

  /** Gives the memory of the step back after the calls made so far have run. Layers, caches and weights stay. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#context.release("step.dispose", () => this.#step.release());
  }

  /** Reads the inputs of a run. */
  #read(call: CallArguments, given: unknown): readonly StepArray[] {
    const { inputs } = this.#recorded;
    const reader = readOptions(call, given, [...inputs.keys()], "inputs", "input");
    return [...inputs].map(([name, input]) => {
      if (!reader.has(name)) throw reader.missing(name, "floats" in input ? "a float32 tensor" : "whole numbers");
      if ("floats" in input) return readFloats(reader, name, input.floats.shape);
      const { length, limit } = input.numbers;
      return reader.integers(name, { min: 0, max: limit - 1 }, length)!;
    });
  }

  #results(numbers: readonly StepArray[]): StepResult<O> {
    for (const layer of this.#recorded.layers) layer.note();
    const results = [...this.#recorded.outputs].map(([name, x], n) => {
      const dtype = StepTensor.is(x) ? "float32" : "int32";
      return [name, { data: numbers[n]!, shape: [...x.shape], dtype }] as const;
    });
    return Object.fromEntries(results) as StepResult<O>; // it keeps the name __proto__ too
  }
}

function readFloats(reader: OptionReader, name: string, shape: readonly number[]): Float32Array {
  const tensor = reader.tensor(name, ["float32"], shape) as CheckedTensor<"float32">;
  if (describe(tensor.shape) !== describe(shape))
    throw new ShapeError(`${reader.at(name)}.shape must be ${describe(shape)}, got ${describe(tensor.shape)}`);
  return tensor.data;
}
