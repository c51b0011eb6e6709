import { attentionProblem, OPTION_NAMES as ATTENTION_NAMES } from "../attention/attentionProblem.js";
import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import { FORWARD_NAMES } from "../layer/forwardOptions.js";
import { Layer } from "../layer/layer.js";
import type { RecordedForward } from "../layer/recordedForward.js";
import { linearProblem } from "../linear/linearProblem.js";
import type { UploadedWeight } from "../linear/uploadedWeight.js";
import { readScales, WEIGHTS, type Int8Weight, type LinearLayout } from "../linear/weight.js";
import { OPTION_NAMES as ROTARY_NAMES, rotaryProblem } from "../position/rotaryProblem.js";
import { CallArguments } from "../read/callArguments.js";
import { argument, readOptions, type OptionReader } from "../read/options.js";
import { LEAST } from "../read/settingKinds.js";
import { headsShape, LAYOUTS } from "../tensor/layout.js";
import { product } from "../tensor/product.js";
import type { CheckedTensor, FloatTensorLike, FloatWeightLike } from "../tensor/tensor.js";
import type { Context } from "../turn/context.js";
import {
  refuseChanging,
  type RecordedAttentionOptions,
  type RecordedLayerOptions,
  type RecordedRotaryOptions,
} from "./recordedOptions.js";
import type { StepMemory } from "./stepMemory.js";
import {
  ACTIVATIONS,
  type MapPart,
  type NormPart,
  type Rows,
  type StepActivation,
  type StepPart,
} from "./stepProblem.js";
import { StepNumbers, StepTensor } from "./stepTensor.js";

/** An input of a step, by its kind. */
export type StepInput = { readonly numbers: StepNumbers } | { readonly floats: StepTensor };

const NORM_NAMES = ["epsilon"] as const;
const EPSILON = { layer: 1e-5, rms: 1e-6 } as const;
/** The least float32 above 0. */
const LEAST_FLOAT = 2 ** -149;

type TableLike = FloatWeightLike | Int8Weight;

/**
 * Records the operations of a step. `record` of an instance gives one to its callback; it can be used only there. Nothing
 * is computed while a step is recorded: each method checks its arguments and returns a tensor that has numbers when the
 * step runs. Weights and gains that lie in tensors of `allocate` are read where they are; others are copied into the step.
 */
export class Recorder {
  readonly #context: Context;
  readonly #memory: StepMemory;
  readonly #parts: StepPart[] = [];
  readonly #layers: RecordedForward[] = [];
  readonly #inputs = new Map<string, StepInput>();
  /** What the methods were given. */
  readonly #calls: CallArguments[] = [];
  #isOpen = true;

  /** @internal */
  constructor(context: Context, memory: StepMemory) {
    this.#context = context;
    this.#memory = memory;
  }

  /** @internal What was recorded. No method works after it. */
  close() {
    this.#isOpen = false;
    const calls = this.#calls;
    return {
      parts: this.#parts,
      layers: this.#layers,
      inputs: this.#inputs as ReadonlyMap<string, StepInput>,
      /** Throws if memory that a method was given has been taken away since. */
      assertIntact: () => calls.forEach((call) => call.assertIntact()),
    };
  }

  /**
   * Whole numbers that each run gets, such as tokens.
   *
   * @param length - How many.
   */
  numbers(name: string, length = 1): StepNumbers {
    const call = this.#arguments("numbers");
    const count = argument(call, "length", length).requiredInteger("length", { min: 1 });
    const numbers = new StepNumbers(this, [count], this.#memory.allocate(call.operation, [count], "int32"));
    this.#take(call, name, { numbers });
    return numbers;
  }

  /** A tensor of float32 that each run gets. `shape` is `[…, width]`. */
  input(name: string, shape: readonly number[]): StepTensor {
    const call = this.#arguments("input");
    const floats = this.#tensor(call.operation, call.shape("input", shape));
    this.#take(call, name, { floats });
    return floats;
  }

  /**
   * Rows of a table, such as embeddings of tokens: `[length, width]`.
   *
   * @param table - `[rows, width]`: float32, float16, bfloat16, or int8 with a scale for each row.
   * @param options - `scale`: a factor for the rows. Default: 1.
   * @throws ShapeError or OptionError.
   */
  rows(table: TableLike, numbers: StepNumbers, options: { readonly scale?: number | undefined } = {}): StepTensor {
    const call = this.#arguments("rows");
    const { operation } = call;
    const scale = readOptions(call, options, ["scale"]).number("scale") ?? 1;
    const given = StepNumbers.in(this, operation, "numbers", numbers);
    const read = call.placed("table", table, WEIGHTS);
    const [rows, width] = read.shape;
    if (read.shape.length !== 2 || !rows || !width)
      throw new ShapeError(`${operation}: table.shape must be [rows, width], got ${describe(read.shape)}`);
    const scales = readScales(call, table, read, rows, "table");
    given.mustBeBelow(operation, "numbers", rows);
    const y = this.#tensor(operation, [given.length, width]);
    const places = { numbers: wholeOf(call, given), y: placed(call, y) };
    this.#parts.push({ kind: "take", rows: given.length, width, table: read, scales, scale, ...places });
    return y;
  }

  /**
   * A layer's `forward`. With a cache, each run appends its tokens.
   *
   * @param x - `[S, inputDim]` or `[B, S, inputDim]`; in layout "BES" as the layer has it.
   * @param options - Those of `forward` that every run has in common.
   * @throws UnsupportedError if an option cannot be recorded; the errors of `layer.forward`.
   */
  layer(layer: Layer, x: StepTensor, options: RecordedLayerOptions = {}): StepTensor {
    const call = this.#arguments("layer");
    const { operation } = call;
    if (!Layer.is(layer))
      throw new OptionError(`${operation}: layer must be a layer of this instance, got ${describe(layer)}`);
    const given = this.#given(operation, "x", x);
    const reader = readOptions(call, options, FORWARD_NAMES);
    refuseChanging(reader, "layer.forward");
    const axis = layer.layout === "BES" ? given.shape.length - 2 : given.shape.length - 1;
    const y = this.#tensor(
      operation,
      given.shape.map((extent, n) => (n === axis ? layer.shape.outputDim : extent)),
    );
    const into = tensorOf(y);
    const part = layer.recorded(call, this.#context, this.#dense(call, given), {
      ...valuesOf(reader, FORWARD_NAMES),
      into,
    });
    this.#layers.push(part);
    this.#parts.push({ kind: "layer", ...part });
    return y;
  }

  /**
   * `linear`: x · weight + bias for every row.
   *
   * @param weight - `[inputDim, outputDim]`, or `[outputDim, inputDim]` with `weightLayout: "out-in"`; also what
   *   `uploadWeight` has made of it, if the step computes with WebGPU.
   * @param bias - `[outputDim]`. Default: none.
   */
  linear(
    x: StepTensor,
    weight: TableLike | UploadedWeight,
    bias?: FloatWeightLike,
    options: { readonly weightLayout?: LinearLayout | undefined } = {},
  ): StepTensor {
    const call = this.#arguments("linear");
    const { operation } = call;
    const dense = this.#dense(call, this.#given(operation, "x", x));
    const weightLayout = readOptions(call, options, ["weightLayout"]).value("weightLayout");
    const problem = linearProblem(call, this.#context.engine, dense, weight, bias, { weightLayout });
    const y = this.#tensor(operation, problem.output.shape);
    const into = { tensor: tensorOf(y), place: placed(call, y) };
    this.#parts.push({ kind: "linear", problem: { ...problem, output: { ...problem.output, into } } });
    return y;
  }

  /**
   * Layer norm of the last axis (Ba et al. 2016): gain · (x − mean) / √(variance + epsilon) + bias.
   *
   * @param gain - `[width]`, float32.
   * @param options - `epsilon`; default: 1e-5.
   */
  layerNorm(
    x: StepTensor,
    gain: FloatTensorLike,
    bias?: FloatTensorLike,
    options: { readonly epsilon?: number | undefined } = {},
  ): StepTensor {
    return this.#norm("layerNorm", "layer", x, gain, bias, options);
  }

  /**
   * RMS norm of the last axis (Zhang & Sennrich 2019): gain · x / √(mean(x²) + epsilon).
   *
   * @param gain - `[width]`, float32.
   * @param options - `epsilon`; default: 1e-6.
   */
  rmsNorm(x: StepTensor, gain: FloatTensorLike, options: { readonly epsilon?: number | undefined } = {}): StepTensor {
    return this.#norm("rmsNorm", "rms", x, gain, undefined, options);
  }

  /**
   * A function of each number: `"gelu"` x·Φ(x), `"geluTanh"` its form with tanh, `"quickGelu"` x·σ(1.702·x), `"silu"` x·σ(x),
   * `"relu"` or `"tanh"`. An error is at most 2⁻²¹·|x|.
   *
   * @param times - Multiplied with the result: the other half of a gated layer.
   */
  activation(x: StepTensor, name: StepActivation, times?: StepTensor): StepTensor {
    const call = this.#arguments("activation");
    if (!ACTIVATIONS.includes(name))
      throw argument(call, "name", name).refuse("name", `be one of ${ACTIVATIONS.join(", ")}`);
    const given = this.#given(call.operation, "x", x);
    const factor = times === undefined ? undefined : this.#operand(call, "times", times, given);
    return this.#map(call, given, { f: name, times: factor });
  }

  /** a + b. `b` has the shape of a, or it is a row `[width]` that repeats; also a tensor of numbers, such as a bias. */
  add(a: StepTensor, b: StepTensor | FloatTensorLike): StepTensor {
    const call = this.#arguments("add");
    const given = this.#given(call.operation, "a", a);
    return this.#map(call, given, { plus: this.#operand(call, "b", b, given) });
  }

  /** a · b, number by number. `b` as in `add`. */
  multiply(a: StepTensor, b: StepTensor | FloatTensorLike): StepTensor {
    const call = this.#arguments("multiply");
    const given = this.#given(call.operation, "a", a);
    return this.#map(call, given, { times: this.#operand(call, "b", b, given) });
  }

  /** factor · x */
  scale(x: StepTensor, factor: number): StepTensor {
    const call = this.#arguments("scale");
    const scale = argument(call, "factor", factor).number("factor");
    if (scale === undefined) throw argument(call, "factor", factor).missing("factor", "a finite number");
    return this.#map(call, x, { scale });
  }

  /** cap · tanh(x / cap) */
  softcap(x: StepTensor, cap: number): StepTensor {
    const call = this.#arguments("softcap");
    const reader = argument(call, "cap", cap);
    const number = reader.number("cap");
    if (number === undefined || !(number > 0)) throw reader.refuse("cap", "be a finite number above 0");
    const limit = Math.max(number, LEAST);
    return this.#map(call, x, { f: "tanh", divisor: limit, scale: limit });
  }

  /**
   * The softmax of each row of the last axis: exp(scale · x) / Σ exp(scale · x). A row of −Infinity gives 0, as a row of
   * attention that sees nothing. A row in which a number is NaN, or scale · x is Infinity, gives NaN.
   *
   * @param options - `scale`: a factor for x, such as 1 / temperature. Default: 1.
   */
  softmax(x: StepTensor, options: { readonly scale?: number | undefined } = {}): StepTensor {
    const call = this.#arguments("softmax");
    const { operation } = call;
    const given = this.#given(operation, "x", x);
    const scale = readOptions(call, options, ["scale"]).number("scale") ?? 1;
    const y = this.#tensor(operation, given.shape);
    const { rows, width } = given;
    this.#parts.push({ kind: "softmax", rows, width, scale, x: rowsOf(call, given), y: placed(call, y) });
    return y;
  }

  /**
   * The k largest numbers of each row `[…, width]`, the largest first, and their columns: both `[…, k]`. Of equal numbers the
   * lower column is first; −0 equals 0. NaN comes before every number.
   *
   * @param k - From 1 to the width of x.
   * @throws OptionError if k is not in this range.
   */
  topK(x: StepTensor, k: number): { readonly values: StepTensor; readonly indices: StepNumbers } {
    const call = this.#arguments("topK");
    const { operation } = call;
    const given = this.#given(operation, "x", x);
    const { rows, width } = given;
    const count = argument(call, "k", k).requiredInteger("k", { min: 1, max: width });
    const shape = [...given.shape.slice(0, -1), count];
    const values = this.#tensor(operation, shape);
    const indices = new StepNumbers(this, shape, this.#memory.allocate(operation, shape, "int32"), width);
    const places = { x: rowsOf(call, given), values: placed(call, values), indices: wholeOf(call, indices) };
    this.#parts.push({ kind: "top", rows, width, k: count, ...places });
    return { values, indices };
  }

  /** The same numbers in another shape, such as `[1, S, width]` for the batch axis that attention needs. */
  reshape(x: StepTensor, shape: readonly number[]): StepTensor {
    const call = this.#arguments("reshape");
    const given = this.#given(call.operation, "x", x);
    const extents = call.shape("shape", shape);
    const [count, wanted] = [product(given.shape), product(extents)];
    if (extents.length === 0 || count !== wanted)
      throw new ShapeError(
        `${call.operation}: shape must hold the ${count} numbers of x, of shape ${describe(given.shape)}, got ${describe(extents)}`,
      );
    const { memory, offset } = this.#denseOf(call, given).place;
    return new StepTensor(this, extents, { memory, offset, stride: extents.at(-1)! });
  }

  /**
   * `rotaryEmbedding`: turns the features of each head by the positions of its tokens.
   *
   * @param x - In `layout`, by default `[B, H, S, D]`.
   * @param options - Those of `rotaryEmbedding`. `positions` may be numbers of the step, one for each token.
   * @throws UnsupportedError if an option cannot be recorded; the errors of `rotaryEmbedding`.
   */
  rotary(x: StepTensor, options: RecordedRotaryOptions = {}): StepTensor {
    const call = this.#arguments("rotary");
    const given = this.#given(call.operation, "x", x);
    const reader = readOptions(call, options, ROTARY_NAMES);
    refuseChanging(reader, "rotaryEmbedding", "positions");
    const values = valuesOf(reader, ROTARY_NAMES);
    const numbers = StepNumbers.is(values.positions) ? this.#positions(reader, values.positions, given) : undefined;
    const problem = rotaryProblem(call, this.#dense(call, given), { ...values, ...numbers?.instead });
    const { tables } = problem.angles;
    if (tables) numbers?.given.mustBeBelow(call.operation, "positions", tables.rows);
    const y = this.#tensor(call.operation, problem.output.shape);
    const into = { tensor: tensorOf(y), place: placed(call, y) };
    this.#parts.push({
      kind: "turn",
      problem: { ...problem, output: { ...problem.output, into } },
      numbers: numbers && wholeOf(call, numbers.given),
    });
    return y;
  }

  /**
   * `scaledDotProductAttention` of tensors of the step.
   *
   * @param query - In `layout`, by default `[B, H, S, D]`; key and value in `kvLayout`.
   * @param options - Those that every run has in common.
   * @throws UnsupportedError if an option cannot be recorded; the errors of `scaledDotProductAttention`.
   */
  attention(query: StepTensor, key: StepTensor, value: StepTensor, options: RecordedAttentionOptions = {}): StepTensor {
    const call = this.#arguments("attention");
    const { operation } = call;
    const dense = (name: string, x: StepTensor) => this.#dense(call, this.#given(operation, name, x));
    const reader = readOptions(call, options, ATTENTION_NAMES);
    refuseChanging(reader, "scaledDotProductAttention");
    const [q, k, v] = [dense("query", query), dense("key", key), dense("value", value)];
    const problem = attentionProblem(call, q, k, v, reader);
    const y = this.#tensor(operation, problem.output.shape);
    const into = { tensor: tensorOf(y), place: placed(call, y) };
    this.#parts.push({ kind: "attention", problem: { ...problem, output: { ...problem.output, into } } });
    return y;
  }

  /** Positions that a run has, and what the checks of rotary embedding read in their place. */
  #positions(reader: OptionReader, positions: StepNumbers, { shape }: StepTensor) {
    const { operation } = reader;
    const given = StepNumbers.in(this, operation, "positions", positions);
    const layout = reader.oneOf("layout", LAYOUTS, "BHSD");
    const numHeads = reader.integer("numHeads", { min: 1 });
    const { batchSize, length } = headsShape(operation, "x", shape, layout, numHeads, "numHeads");
    if (given.length !== batchSize * length)
      throw new ShapeError(
        `${operation}: positions must have a number for each token (${batchSize * length}), got ${given.length}`,
      );
    return { given, instead: { positions: { data: new Int32Array(given.length), shape: [batchSize, length] } } };
  }

  /** The columns from `from` to before `to` of every row. Nothing is copied until an operation needs them side by side. */
  columns(x: StepTensor, from: number, to: number): StepTensor {
    const call = this.#arguments("columns");
    const { shape, width, place } = this.#given(call.operation, "x", x);
    checkRange(call.operation, "columns", from, to, width);
    return new StepTensor(this, [...shape.slice(0, -1), to - from], { ...place, offset: place.offset + from });
  }

  /** The rows from `from` to before `to` of a tensor `[S, width]`. Nothing is copied. */
  tokens(x: StepTensor, from: number, to: number): StepTensor {
    const call = this.#arguments("tokens");
    const { shape, width, place } = this.#given(call.operation, "x", x);
    if (shape.length !== 2)
      throw new ShapeError(`${call.operation}: x.shape must be [S, width], got ${describe(shape)}`);
    checkRange(call.operation, "rows", from, to, shape[0]!);
    return new StepTensor(this, [to - from, width], { ...place, offset: place.offset + from * place.stride });
  }

  #norm(
    name: "layerNorm" | "rmsNorm",
    norm: NormPart["norm"],
    x: StepTensor,
    gain: unknown,
    bias: unknown,
    options: object,
  ): StepTensor {
    const call = this.#arguments(name);
    const { operation } = call;
    const given = this.#given(operation, "x", x);
    const reader = readOptions(call, options, NORM_NAMES);
    const epsilon = reader.number("epsilon") ?? EPSILON[norm];
    if (epsilon < 0) throw reader.refuse("epsilon", "be a finite number of 0 or more");
    const added = epsilon > 0 ? Math.max(epsilon, LEAST_FLOAT) : 0; // 0 would make NaN of a row of zeros
    const vector = (argumentName: string, value: unknown) => {
      const read = call.placed(argumentName, value, ["float32"]);
      if (describe(read.shape) !== describe([given.width]))
        throw new ShapeError(
          `${operation}: ${argumentName}.shape must be ${describe([given.width])}, got ${describe(read.shape)}`,
        );
      return read;
    };
    const [factors, shift] = [vector("gain", gain), bias === undefined ? undefined : vector("bias", bias)];
    const y = this.#tensor(operation, given.shape);
    const { rows, width } = given;
    const places = { x: rowsOf(call, given), y: placed(call, y) };
    this.#parts.push({ kind: "norm", norm, rows, width, gain: factors, shift, epsilon: added, ...places });
    return y;
  }

  #map(
    call: CallArguments,
    x: StepTensor,
    change: Partial<Pick<MapPart, "f" | "divisor" | "scale" | "times" | "plus">>,
  ): StepTensor {
    const given = this.#given(call.operation, "x", x);
    const y = this.#tensor(call.operation, given.shape);
    const usual = { f: undefined, divisor: 1, scale: 1, times: undefined, plus: undefined };
    const { rows, width } = given;
    const places = { x: rowsOf(call, given), y: placed(call, y) };
    this.#parts.push({ kind: "map", rows, width, ...usual, ...change, ...places });
    return y;
  }

  /** The other operand of a sum or a product, whose rows may be one that repeats. */
  #operand(call: CallArguments, name: string, value: unknown, { shape, width }: StepTensor): Rows {
    const inStep = StepTensor.is(value) ? this.#given(call.operation, name, value) : undefined;
    const tensor = inStep ? undefined : call.tensor(name, value, ["float32"]);
    const extents = (inStep ?? tensor!).shape;
    const isRow = describe(extents) === describe([width]);
    if (!isRow && describe(extents) !== describe(shape))
      throw new ShapeError(
        `${call.operation}: ${name}.shape must be ${describe(shape)} or ${describe([width])}, got ${describe(extents)}`,
      );
    if (!inStep) return { tensor: tensor!, offset: 0, stride: isRow ? 0 : width };
    return isRow ? { ...rowsOf(call, inStep), stride: 0 } : rowsOf(call, inStep);
  }

  /** A tensor without gaps, as an array in the engine: x, or a copy of it that the step makes. */
  #dense(call: CallArguments, x: StepTensor) {
    return tensorOf(this.#denseOf(call, x));
  }

  #denseOf(call: CallArguments, x: StepTensor): StepTensor {
    return x.isDense ? x : this.#map(call, x, {});
  }

  #given(operation: string, name: string, value: unknown): StepTensor {
    return StepTensor.in(this, operation, name, value);
  }

  #tensor(operation: string, shape: readonly number[]): StepTensor {
    if (shape.length === 0 || shape.includes(0))
      throw new ShapeError(`${operation}: a tensor of a step must have extents of at least 1, got ${describe(shape)}`);
    const memory = this.#memory.allocate(operation, shape, "float32");
    return new StepTensor(this, [...shape], { memory, offset: 0, stride: shape.at(-1)! });
  }

  #take(call: CallArguments, name: unknown, input: StepInput): void {
    if (typeof name !== "string" || name === "")
      throw new OptionError(`${call.operation}: name must be a text, got ${describe(name)}`);
    if (this.#inputs.has(name))
      throw new OptionError(
        `${call.operation}: name must be one that the step does not have yet, got ${describe(name)}`,
      );
    this.#inputs.set(name, input);
  }

  #arguments(method: string): CallArguments {
    if (!this.#isOpen)
      throw new OptionError(
        `recorder.${method}: the step was recorded: a recorder works only in the callback of record`,
      );
    const call = new CallArguments(`recorder.${method}`, this.#memory.placement);
    this.#calls.push(call);
    return call;
  }
}

/** The options as they were read. */
const valuesOf = (options: OptionReader, names: readonly string[]) =>
  Object.fromEntries(names.filter((name) => options.has(name)).map((name) => [name, options.value(name)]));

/** The array of a tensor without gaps. */
function tensorOf({ shape, rows, width, place: { memory, offset } }: StepTensor) {
  return { data: memory.subarray(offset, offset + rows * width), shape, dtype: "float32" as const };
}

const placed = (call: CallArguments, x: StepTensor) => call.tensor("y", tensorOf(x), ["float32"]);

/** Where the rows of a tensor will lie. */
export function rowsOf(call: CallArguments, { place: { memory, offset, stride } }: StepTensor): Rows {
  return { tensor: whole(call, memory) as CheckedTensor<"float32">, offset, stride };
}

export const wholeOf = (call: CallArguments, { memory }: StepNumbers) => whole(call, memory) as CheckedTensor<"int32">;

/** All of an array. */
export const whole = (call: CallArguments, data: Float32Array | Int32Array) =>
  call.tensor("x", { data, shape: [data.length] }, ["float32", "int32"]);

function checkRange(operation: string, what: string, from: unknown, to: unknown, most: number): void {
  const isWhole = Number.isInteger(from) && Number.isInteger(to);
  if (!isWhole || !(0 <= (from as number) && (from as number) < (to as number) && (to as number) <= most))
    throw new OptionError(
      `${operation}: from and to must be whole numbers with 0 ≤ from < to ≤ ${most} (${what}), got ${describe(from)} and ${describe(to)}`,
    );
}
