import type { AttentionProblem, CheckedFloats } from "../attentionProblem.js";
import type { AttentionResult } from "../backend.js";
import { DisposedError, OptionError, UnsupportedError } from "../errors.js";
import { GpuData } from "../gpuData.js";
import type { ForwardProblem, LayerProblem } from "../layerProblem.js";
import type { LinearWeights } from "../layerWeights.js";
import { attendOn, planOf } from "./attention.js";
import { runCall, type Call, type Span } from "./call.js";
import type { Engine } from "./engine.js";
import { writeOutput } from "./output.js";
import { divideUp, FLAT_WORKGROUP, flatKernel, narrowStep, projectKernel, projectWorkgroups } from "./plan.js";
import { resolveSequences, type Sequence } from "./sequences.js";
import { stridesOf, type Strides } from "./strides.js";
import { positionRow, tokenRows } from "./tokenRows.js";
import { turnRows } from "./turnRows.js";
import { widen } from "./widen.js";

/** A row of `width` numbers occupies this many: whole vec4. */
const padded = (width: number): number => 4 * divideUp(width, 4);

/** How the numbers of a row are grouped: heads, each padded to whole vec4. */
interface Heads {
  readonly count: number;
  readonly width: number;
}

/** A weight on the GPU, [in, out] with rows and columns padded to whole vec4, and its bias. */
interface Linear {
  readonly weight: Span;
  readonly bias: Span | undefined;
  readonly in4: number;
  readonly out: number;
}

type Projections = Readonly<Record<"query" | "key" | "value" | "output", Linear>>;

const STORAGE_AND_COPY = 0x80 | 0x8;
const F32_BITS = new DataView(new ArrayBuffer(4));

/** A layer whose weights lie on the GPU; everything between its input and its output stays there. */
export class GpuLayer {
  readonly #problem: LayerProblem;
  #weights: Projections | undefined;
  /** The device that holds the weights; one that replaces it gets them again. */
  #device: GPUDevice | undefined;
  #released = false;

  constructor(problem: LayerProblem) {
    this.#problem = problem;
  }

  get bytes(): number {
    const linear = Object.values(this.#weights ?? {});
    return linear.reduce((sum, { weight, bias }) => sum + weight.bytes + (bias?.bytes ?? 0), 0);
  }

  /** Puts the weights on the engine's device. */
  upload({ device }: Engine): void {
    if (this.#device === device.gpuDevice) return;
    this.#device = device.gpuDevice;
    const { shape, weights } = this.#problem;
    const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = shape;
    const one = (width: number): Heads => ({ count: 1, width });
    const place = (linear: LinearWeights, inputs: Heads, out: number) =>
      placeLinear(device.gpuDevice, linear, inputs, out);
    const heads = { count: numHeads, width: valueHeadDim };
    this.#weights = {
      query: place(weights.query, one(inputDim), numHeads * headDim),
      key: place(weights.key, one(keyInputDim), numKvHeads * headDim),
      value: place(weights.value, one(valueInputDim), numKvHeads * valueHeadDim),
      output: weights.output
        ? place(weights.output, heads, outputDim)
        : place(identity(numHeads * valueHeadDim), heads, outputDim),
    };
  }

  forward(engine: Engine, problem: ForwardProblem): Promise<AttentionResult> {
    const { operation } = problem;
    if (this.#released) throw new DisposedError(`${operation}: the layer was disposed`);
    if (problem.cache)
      throw new UnsupportedError(`${operation}: caches are not offered by the WebGPU engine yet`, {
        hint: 'Use backend "wasm", or "auto", which computes this on wasm.',
      });
    const sequences = resolveSequences(problem.shape, problem.settings, problem.ragged);
    this.#checkPositions(problem, sequences);
    return runCall(engine, operation, (call) => {
      this.upload(engine);
      const attention = this.#attention(call, problem, sequences);
      const { wide, collect } = attendOn(call, attention, planOf(engine, attention, sequences), sequences);
      const output = wide && this.#project(call, problem, wide);
      return (result) => ({ ...collect(result), ...(output && { output: output(result) }) }) as AttentionResult;
    });
  }

  release(): void {
    this.#released = true;
    for (const { weight, bias } of Object.values(this.#weights ?? {})) {
      weight.buffer.destroy();
      bias?.buffer.destroy();
    }
    this.#weights = undefined;
  }

  /** The attention inside: queries, keys and values of [B, S, H, padded width] on the GPU. */
  #attention(call: Call, problem: ForwardProblem, sequences: readonly Sequence[]): AttentionProblem {
    const { shape, settings, ragged } = problem;
    const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = shape;
    const { layout, shape: layer } = this.#problem;
    const weights = this.#weights!;
    const at = queryPositions(sequences, batchSize, queryLength);
    const row = positionRow(this.#problem.position, layer.inputDim);
    const rows = (tensor: CheckedFloats, length: number, width: number) =>
      call.upload(tokenRows(tensor, layout, [batchSize, length, width]));
    const x = call.upload(
      tokenRows(problem.x, layout, [batchSize, queryLength, layer.inputDim], row && ((token) => row(at[token]!))),
    );
    const length = problem.contextLength;
    const keyRows = problem.key ? rows(problem.key, length, layer.keyInputDim) : x;
    const valueRows = problem.value ? rows(problem.value, length, layer.valueInputDim) : keyRows;
    const project = (from: Span, linear: Linear, tokens: number, count: number, width: number) =>
      projectHeads(call, from, linear, batchSize, tokens, { count, width });
    const query = project(x, weights.query, queryLength, numHeads, headDim);
    const key = project(keyRows, weights.key, length, numKvHeads, headDim);
    const value = project(valueRows, weights.value, length, numKvHeads, valueDim);
    const { qkNorm } = this.#problem;
    this.#norm(call, query, batchSize * queryLength * numHeads, qkNorm?.queryGain);
    this.#norm(call, key, batchSize * length * numKvHeads, qkNorm?.keyGain);
    const keysAt = keyPositions(sequences, batchSize, length);
    const highest = Math.max(0, ...at, ...keysAt);
    const turn = (heads: Span, positions: Float64Array, tokens: number, count: number) =>
      this.#turn(call, heads, positions, highest, [batchSize, count, tokens]);
    const padding = { headDim: padded(headDim), valueDim: padded(valueDim) };
    const inside = (name: string, span: Span, tokens: number, count: number, width: number) =>
      gpuTensor(name, span, [batchSize, tokens, count, width]);
    return {
      operation: problem.operation,
      layout: "BSHD",
      shape: { ...shape, ...padding },
      query: inside("query", turn(query, at, queryLength, numHeads), queryLength, numHeads, padding.headDim),
      key: inside("key", turn(key, keysAt, length, numKvHeads), length, numKvHeads, padding.headDim),
      value: inside("value", value, length, numKvHeads, padding.valueDim),
      settings: { ...settings, scale: settings.scale ?? 1 / Math.sqrt(headDim) },
      ragged,
      wanted: problem.wanted,
      output: { ...problem.output, dtype: "float32" },
      location: "cpu",
      signal: undefined,
      keepRank: problem.keepRank,
    };
  }

  #norm(call: Call, heads: Span, rows: number, gain: Float32Array | undefined): void {
    const { qkNorm, shape } = this.#problem;
    if (!qkNorm) return;
    F32_BITS.setFloat32(0, qkNorm.epsilon);
    const { headDim } = shape;
    const isL2 = Number(qkNorm.kind === "l2");
    const numbers = [rows, headDim, padded(headDim), isL2, F32_BITS.getUint32(0), Number(gain !== undefined)];
    const workgroups = divideUp(rows, FLAT_WORKGROUP);
    call.dispatch(flatKernel("head_norm"), workgroups, {
      0: call.numbers(numbers, workgroups),
      ...(gain && { 1: call.upload(gain) }),
      2: heads,
    });
  }

  /** Rotary embedding of [B, S, H, padded width]. */
  #turn(
    call: Call,
    heads: Span,
    positions: Float64Array,
    highest: number,
    extents: readonly [number, number, number],
  ): Span {
    const { position, shape } = this.#problem;
    if (position.kind !== "rotary") return heads;
    const { scaling } = position.angles;
    const length = scaling?.sequenceLength ?? highest + 1;
    const angles = { ...position.angles, scaling: scaling && { ...scaling, sequenceLength: length } };
    return turnRows(call, heads, angles, shape.headDim, "BSHD", extents, positions);
  }

  /** The heads' outputs, [B, S, H, padded width], to what the caller gets. */
  #project(call: Call, { shape, output }: ForwardProblem, heads: Span) {
    const { batchSize, queryLength } = shape;
    const { outputDim } = this.#problem.shape;
    const length = batchSize * queryLength * outputDim;
    const y = call.room(4 * length);
    const strides = stridesOf(this.#problem.layout, 1, queryLength, outputDim);
    project(call, heads, this.#weights!.output, batchSize, queryLength, y, outputDim, strides);
    return writeOutput(call, output, y, length, narrowStep(output.dtype, length));
  }

  #checkPositions({ operation }: ForwardProblem, sequences: readonly Sequence[]): void {
    const { position } = this.#problem;
    if (position.kind !== "learned") return;
    const rows = position.table.shape[0]!;
    sequences.forEach(({ offset, queryLength }, n) => {
      if (queryLength > 0 && (offset < 0 || offset + queryLength > rows))
        throw new OptionError(
          `${operation}: the position table has rows 0..${rows - 1}, sequence ${n} stands at ` +
            `${offset}..${offset + queryLength - 1}`,
        );
    });
  }
}

function projectHeads(call: Call, rows: Span, linear: Linear, batchSize: number, length: number, heads: Heads): Span {
  const { count, width } = heads;
  const target = call.room(4 * batchSize * length * count * padded(width));
  if (width % 4 !== 0) call.clear(target); // the padding takes part in dot products
  const strides = stridesOf("BSHD", count, length, padded(width));
  project(call, rows, linear, batchSize, length, target, width, strides);
  return target;
}

function project(
  call: Call,
  rows: Span,
  { weight, bias, in4, out }: Linear,
  batchSize: number,
  length: number,
  target: Span,
  headWidth: number,
  { batch, head, position, feature }: Strides,
): void {
  const workgroups = projectWorkgroups(batchSize * length, out);
  const sizes = [batchSize * length, length, in4, divideUp(out, 4), out, headWidth];
  call.dispatch(projectKernel, workgroups, {
    0: call.numbers([...sizes, batch, head, position, feature, Number(bias !== undefined)], workgroups),
    1: rows,
    2: weight,
    ...(bias && { 3: bias }),
    4: target,
  });
}

function placeLinear(
  device: GPUDevice,
  { weight, offset, inStride, outStride, bias }: LinearWeights,
  inputs: Heads,
  out: number,
): Linear {
  const numbers = widen(weight.data);
  const columns = padded(out);
  const rowsPerHead = padded(inputs.width);
  const dense = new Float32Array(inputs.count * rowsPerHead * columns);
  for (let h = 0; h < inputs.count; ++h)
    for (let d = 0; d < inputs.width; ++d)
      for (let o = 0; o < out; ++o)
        dense[(h * rowsPerHead + d) * columns + o] =
          numbers[offset + (h * inputs.width + d) * inStride + o * outStride]!;
  return {
    weight: persistent(device, dense),
    bias: bias && persistent(device, widen(bias.tensor.data).slice(bias.offset, bias.offset + out)),
    in4: (inputs.count * rowsPerHead) / 4,
    out,
  };
}

/** Without an output projection the heads lie side by side: the identity only drops their padding. */
function identity(width: number): LinearWeights {
  const data = new Float32Array(width * width);
  for (let n = 0; n < width; ++n) data[n * width + n] = 1;
  const weight = { data, shape: [width, width], dtype: "float32" } as const;
  return { weight, offset: 0, inStride: width, outStride: 1, bias: undefined };
}

function persistent(device: GPUDevice, data: Float32Array): Span {
  const bytes = Math.max(16, data.byteLength);
  const buffer = device.createBuffer({ size: bytes, usage: STORAGE_AND_COPY });
  device.queue.writeBuffer(buffer, 0, data as Float32Array<ArrayBuffer>);
  return { buffer, offset: 0, bytes };
}

function gpuTensor(name: string, { buffer, offset, bytes }: Span, shape: readonly number[]): CheckedFloats {
  return { data: new GpuData(name, buffer, offset, bytes, true), shape, dtype: "float32" } as unknown as CheckedFloats;
}

/** Query i stands at i + offset of its sequence: [B, S]. */
function queryPositions(sequences: readonly Sequence[], batchSize: number, length: number): Float64Array {
  const positions = new Float64Array(batchSize * length);
  for (const { batch, queryBegin, numQueries, offset } of sequences)
    for (let i = 0; i < numQueries; ++i) positions[batch * length + queryBegin + i] = i + offset;
  return positions;
}

/** Key j of a sequence stands at j: [B, S]. */
function keyPositions(sequences: readonly Sequence[], batchSize: number, length: number): Float64Array {
  const positions = new Float64Array(batchSize * length);
  for (const { batch, keyBegin, numKeys } of sequences)
    for (let j = 0; j < numKeys; ++j) positions[batch * length + keyBegin + j] = j;
  return positions;
}
