import type { CallArguments } from "../call/callArguments.js";
import type { Context, Eventually } from "../call/context.js";
import { Disposing } from "../call/disposable.js";
import { readOptions, type NumberList, type OptionReader } from "../call/options.js";
import type { EngineTensor } from "../engine/engineTensor.js";
import { DisposedError, OptionError, ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { CheckedTensor, Dtype, FloatTensorLike, TypedTensor } from "../tensor/tensor.js";
import type { RecordedForward } from "../layer/recordedForward.js";
import { Recorder, type Recording, type StepInput } from "./recorder.js";
import type { EngineStep, StepProblem } from "./stepProblem.js";
import { StepTensor } from "./stepTensor.js";

/** What a recording gives: tensors by name. */
export type StepOutputs = Readonly<Record<string, StepTensor>>;

/** The inputs of a run, by the names that were recorded: lists of whole numbers, or float32 tensors. */
export type StepInputs = Readonly<Record<string, NumberList | FloatTensorLike>>;

/** The result of a run: float32 tensors, by name. */
export type StepResult<O extends StepOutputs> = { readonly [Name in keyof O]: TypedTensor<"float32"> };

/** Memory of a step. */
type Tensor = Disposing & { readonly data: { readonly byteLength: number } };

/** What a step asks of its engine. */
export interface StepEngine {
  allocate<D extends Dtype>(
    operation: string,
    shape: readonly number[],
    dtype: D,
    later: (release: () => void) => void,
  ): EngineTensor<D>;
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
  const { operation, placement } = call;
  if (typeof build !== "function")
    throw new OptionError(`${operation}: build must be a function that records, got ${describe(build)}`);
  const tensors: Tensor[] = [];
  const recording: Recording = {
    context,
    placement,
    allocate(op, shape, dtype) {
      const tensor = engine.allocate(op, shape, dtype, (release) => context.release("step.dispose", release));
      tensors.push(tensor);
      return tensor;
    },
  };
  const recorder = new Recorder(recording);
  try {
    const outputs = readOutputs(call, recorder, await (build as (recorder: Recorder) => unknown)(recorder));
    const { parts, layers, inputs } = recorder.close();
    const made = await context.run(call, () => engine.createStep({ operation, parts }), signal);
    return new Step<O>(context, made, { tensors, layers, inputs, outputs });
  } catch (error) {
    recorder.close();
    for (const tensor of tensors) tensor.dispose();
    throw error;
  }
}

function readOutputs(call: CallArguments, recorder: Recorder, given: unknown): ReadonlyMap<string, StepTensor> {
  const { operation } = call;
  const outputs = call.record("outputs", given ?? null, []);
  if (outputs.size === 0) throw new OptionError(`${operation}: build must return at least one output by name, got {}`);
  return new Map(
    [...outputs].map(([name, value]) => [name, StepTensor.in(recorder, operation, `outputs.${name}`, value)]),
  );
}

interface Recorded {
  readonly tensors: readonly Tensor[];
  readonly layers: readonly RecordedForward[];
  readonly inputs: ReadonlyMap<string, StepInput>;
  readonly outputs: ReadonlyMap<string, StepTensor>;
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
    return this.#recorded.tensors.reduce((sum, { data }) => sum + data.byteLength, this.#step.bytes);
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
    if (this.#disposed) throw new DisposedError("step.run: the step was disposed");
    const signal = readOptions(call, options, ["signal"]).signal();
    const given = this.#read(call, inputs);
    const compute = (): Eventually<StepResult<O>> => {
      const { layers } = this.#recorded;
      for (const layer of layers) layer.assertUsable(call.operation);
      for (const write of given) write();
      const running = this.#step.run(call.operation);
      return running instanceof Promise ? running.then(() => this.#results()) : this.#results();
    };
    return this.#context.run(call, compute, signal);
  }

  /** Gives the memory of the step back after the calls made so far have run. Layers, caches and weights stay. */
  override dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#context.release("step.dispose", () => this.#step.release());
    for (const tensor of this.#recorded.tensors) tensor.dispose();
  }

  /** Reads the inputs of a run: functions that write them when it is its turn. */
  #read(call: CallArguments, given: unknown): (() => void)[] {
    const { inputs } = this.#recorded;
    const reader = readOptions(call, given, [...inputs.keys()], "inputs", "input");
    return [...inputs].map(([name, input]) => {
      if (!reader.has(name)) throw reader.missing(name, "floats" in input ? "a float32 tensor" : "whole numbers");
      if ("floats" in input) return writerOfFloats(reader, name, input.floats);
      const { memory, length, limit } = input.numbers;
      const numbers = reader.integers(name, { min: 0, max: limit - 1 }, length)!;
      return () => memory.data.set(numbers);
    });
  }

  #results(): StepResult<O> {
    for (const layer of this.#recorded.layers) layer.note();
    const results: Record<string, TypedTensor<"float32">> = {};
    for (const [name, output] of this.#recorded.outputs) results[name] = resultOf(output);
    return results as StepResult<O>;
  }
}

function writerOfFloats(reader: OptionReader, name: string, { shape, place }: StepTensor): () => void {
  const tensor = reader.tensor(name, ["float32"], shape) as CheckedTensor<"float32">;
  if (describe(tensor.shape) !== describe(shape))
    throw new ShapeError(`${reader.at(name)}.shape must be ${describe(shape)}, got ${describe(tensor.shape)}`);
  return () => place.memory.data.set(tensor.data);
}

/** A copy of the numbers. Columns of a wider tensor are gathered. */
function resultOf({
  shape,
  rows,
  width,
  isDense,
  place: { memory, offset, stride },
}: StepTensor): TypedTensor<"float32"> {
  const { data } = memory;
  if (isDense) return { data: data.slice(offset, offset + rows * width), shape: [...shape], dtype: "float32" };
  const gathered = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++)
    gathered.set(data.subarray(offset + row * stride, offset + row * stride + width), row * width);
  return { data: gathered, shape: [...shape], dtype: "float32" };
}
