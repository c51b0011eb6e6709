import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { AttentionResult } from "../attention/attentionResult.js";
import { DisposedError, OptionError } from "../errors/errors.js";
import type { ForwardProblem } from "../layer/forwardProblem.js";
import type { LayerProblem } from "../layer/layerProblem.js";
import type { LinearWeights } from "../layer/layerWeights.js";
import { withOwnWeights } from "../layer/ownWeights.js";
import { GpuData } from "../tensor/gpuTensor.js";
import { largestOf } from "../tensor/largest.js";
import type { CheckedFloats } from "../tensor/tensor.js";
import { attendOn, planOf, type InPlace } from "./attention.js";
import type { GpuCache, GpuEngineCache, Growth } from "./cache.js";
import { padded } from "./cacheStore.js";
import { runCall, type Call, type Span } from "./call.js";
import type { GpuCore } from "./core.js";
import { writeOutput } from "./output.js";
import { projectKernel, projectWorkgroups } from "./projection.js";
import { FLAT_WORKGROUP } from "./flatKernels.js";
import { flatKernel, narrowStep } from "./flatKernels.js";
import { checkBytes } from "./limits.js";
import { divideUp } from "./limits.js";
import { resolveSequences, type Sequence } from "./sequences.js";
import { stridesOf, type Strides } from "./strides.js";
import { positionRow, tokenRows } from "./tokenRows.js";
import { turnRows } from "./turnRows.js";
import { widen } from "./widen.js";

/** How the numbers of a row are divided into heads. Each head is padded to whole vec4. */
interface Heads {
  readonly count: number;
  readonly width: number;
}

/** A weight on the GPU, [in, out], with rows and columns padded to whole vec4, and its bias. */
interface Linear {
  readonly weight: Span;
  readonly bias: Span | undefined;
  readonly in4: number;
  readonly out: number;
}

type Projections = Readonly<Record<"query" | "key" | "value" | "output", Linear>>;

const F32_BITS = new DataView(new ArrayBuffer(4));

/** A layer whose weights lie on the GPU. All intermediate results stay there. */
export class GpuLayer {
  readonly #problem: LayerProblem;
  #weights: Projections | undefined;
  /** The device that holds the weights. If a new device replaces it, the weights are uploaded again. */
  #device: GPUDevice | undefined;
  /** Frees the weights. */
  #free: () => void = () => undefined;
  #released = false;

  constructor(problem: LayerProblem) {
    this.#problem = withOwnWeights(problem);
  }

  get bytes(): number {
    const linear = Object.values(this.#weights ?? {});
    return linear.reduce((sum, { weight, bias }) => sum + weight.bytes + (bias?.bytes ?? 0), 0);
  }

  /** Uploads the weights to the device, as part of the call that needs them. */
  upload(call: Call): void {
    const { device, buffers } = call.core;
    if (this.#device === device.gpuDevice) return;
    this.#device = device.gpuDevice;
    const made: GPUBuffer[] = [];
    const persistent = (data: Float32Array) => {
      const span = placeWeight(call, data);
      made.push(span.buffer);
      return span;
    };
    this.#free = () => {
      for (const buffer of made) buffers.free(buffer);
      this.#weights = this.#device = undefined;
    };
    call.onFailure(this.#free);
    const { operation, shape, weights } = this.#problem;
    const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = shape;
    const one = (width: number): Heads => ({ count: 1, width });
    const place = (linear: LinearWeights, inputs: Heads, out: number) =>
      placeLinear(operation, persistent, linear, inputs, out);
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

  forward(core: GpuCore, problem: ForwardProblem): Promise<AttentionResult> {
    const { operation } = problem;
    if (this.#released) throw new DisposedError(`${operation}: the layer was disposed`);
    const cache = (problem.cache as GpuEngineCache | undefined)?.cache;
    const before = cache?.appended;
    const after = before?.map((total, b) => total + gainOf(problem, b));
    const sequences =
      cache && after
        ? cache.sequences(problem, { appended: after })
        : resolveSequences(problem.shape, problem.settings, problem.ragged);
    this.#checkPositions(problem, sequences);
    return runCall(core, operation, (call) => {
      this.upload(call);
      const { attention, inPlace, growth } = this.#attention(core, call, problem, sequences, cache);
      const plan = planOf(core, attention, sequences, inPlace);
      const { wide, collect } = attendOn(call, attention, plan, sequences, inPlace);
      const output = wide && this.#project(call, problem, wide);
      return (result) => {
        growth?.commit();
        return { ...collect(result), ...(output && { output: output(result) }) } as AttentionResult;
      };
    });
  }

  release(): void {
    this.#released = true;
    this.#free();
  }

  /**
   * The attention inside the layer. Queries, keys and values are [B, S, H, padded width] on the GPU; keys and values
   * may be a cache's.
   */
  #attention(
    core: GpuCore,
    call: Call,
    problem: ForwardProblem,
    sequences: readonly Sequence[],
    cache: GpuCache | undefined,
  ): { readonly attention: AttentionProblem; readonly inPlace: InPlace; readonly growth: Growth | undefined } {
    const { shape, settings, ragged } = problem;
    const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = shape;
    const { contextLength: length } = problem;
    const at = queryPositions(sequences, batchSize, queryLength);
    const keysAt = cache ? cachePositions(cache.appended, length) : keyPositions(sequences, batchSize, length);
    const highest = Math.max(largestOf(at), largestOf(keysAt));
    const turn = (heads: Span, positions: Float64Array, tokens: number, count: number) =>
      this.#turn(call, heads, positions, highest, [batchSize, count, tokens]);
    const x = this.#tokens(call, problem, at);
    const query = turn(this.#queries(call, problem, x), at, queryLength, numHeads);
    const keysAndValues = () => {
      const { key, value } = this.#keysAndValues(call, problem, x);
      return { key: turn(key, keysAt, length, numKvHeads), value };
    };
    const padding = { headDim: padded(headDim), valueDim: padded(valueDim) };
    const inside = (name: string, span: Span, tokens: number, count: number, width: number) =>
      gpuTensor(name, span, [batchSize, tokens, count, width]);
    const attention = {
      operation: problem.operation,
      layout: "BSHD",
      kvLayout: "BSHD",
      shape: { ...shape, ...padding },
      settings: { ...settings, scale: settings.scale ?? 1 / Math.sqrt(headDim) },
      ragged,
      wanted: problem.wanted,
      output: { ...problem.output, dtype: "float32" },
      location: "cpu",
      signal: undefined,
      keepRank: problem.keepRank,
    } as const;
    const asTensor = (span: Span) => inside("query", span, queryLength, numHeads, padding.headDim);
    if (!cache) {
      const { key, value } = keysAndValues();
      const arrays = {
        key: inside("key", key, length, numKvHeads, padding.headDim),
        value: inside("value", value, length, numKvHeads, padding.valueDim),
      };
      return { attention: { ...attention, query: asTensor(query), ...arrays }, inPlace: {}, growth: undefined };
    }
    const growth = problem.attendOnly ? undefined : this.#append(core, call, problem, cache, keysAndValues());
    const turned = cache.turn(call, query, [batchSize, numHeads, queryLength], sequences);
    return {
      attention: { ...attention, query: asTensor(turned), ...cache.keysAndValues(growth) },
      inPlace: { cached: cache.cached(growth) },
      growth,
    };
  }

  /** Appends projected keys and values, [B, S, Hkv, padded width], to a cache. */
  #append(
    core: GpuCore,
    call: Call,
    { shape, contextLength, appendLengths }: ForwardProblem,
    cache: GpuCache,
    { key, value }: { readonly key: Span; readonly value: Span },
  ): Growth {
    const { batchSize, numKvHeads, headDim, valueDim } = shape;
    const rows = (span: Span, width: number) =>
      ({ span, dtype: "float32", strides: stridesOf("BSHD", numKvHeads, contextLength, padded(width)) }) as const;
    const turned = cache.turn(call, key, [batchSize, numKvHeads, contextLength]);
    return cache.grow(core, call, contextLength, appendLengths, {
      key: rows(turned, headDim),
      value: rows(value, valueDim),
    });
  }

  /** x, with the added positions if the layer has them. */
  #tokens(call: Call, { x, shape }: ForwardProblem, at: Float64Array): Span {
    const { layout, shape: layer, position } = this.#problem;
    const row = positionRow(position, layer.inputDim);
    const extents = [shape.batchSize, shape.queryLength, layer.inputDim] as const;
    return call.upload(tokenRows(call.operation, x, layout, extents, row && ((token) => row(at[token]!))));
  }

  #queries(call: Call, { shape }: ForwardProblem, x: Span): Span {
    const { batchSize, numHeads, queryLength, headDim } = shape;
    const query = projectHeads(call, x, this.#weights!.query, batchSize, queryLength, {
      count: numHeads,
      width: headDim,
    });
    this.#norm(call, query, batchSize * queryLength * numHeads, this.#problem.qkNorm?.queryGain);
    return query;
  }

  #keysAndValues(call: Call, { key, value, shape, contextLength }: ForwardProblem, x: Span) {
    const { batchSize, numKvHeads, headDim, valueDim } = shape;
    const { layout, shape: layer, qkNorm } = this.#problem;
    const rows = (tensor: CheckedFloats, width: number) =>
      call.upload(tokenRows(call.operation, tensor, layout, [batchSize, contextLength, width]));
    const keyRows = key ? rows(key, layer.keyInputDim) : x;
    const valueRows = value ? rows(value, layer.valueInputDim) : keyRows;
    const project = (from: Span, linear: Linear, width: number) =>
      projectHeads(call, from, linear, batchSize, contextLength, { count: numKvHeads, width });
    const keys = project(keyRows, this.#weights!.key, headDim);
    this.#norm(call, keys, batchSize * contextLength * numKvHeads, qkNorm?.keyGain);
    return { key: keys, value: project(valueRows, this.#weights!.value, valueDim) };
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

  /** The output projection: the heads' outputs, [B, S, H, padded width], to the result. */
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
  if (width % 4 !== 0) call.clear(target); // dot products read the padding, so it must be 0
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
  operation: string,
  persistent: (data: Float32Array) => Span,
  { weight, offset, inStride, outStride, bias }: LinearWeights,
  inputs: Heads,
  out: number,
): Linear {
  const numbers = widen(operation, weight.data);
  const columns = padded(out);
  const rowsPerHead = padded(inputs.width);
  const dense = new Float32Array(inputs.count * rowsPerHead * columns);
  for (let h = 0; h < inputs.count; ++h)
    for (let d = 0; d < inputs.width; ++d)
      for (let o = 0; o < out; ++o)
        dense[(h * rowsPerHead + d) * columns + o] =
          numbers[offset + (h * inputs.width + d) * inStride + o * outStride]!;
  return {
    weight: persistent(dense),
    bias: bias && persistent(widen(operation, bias.tensor.data).slice(bias.offset, bias.offset + out)),
    in4: (inputs.count * rowsPerHead) / 4,
    out,
  };
}

/** The weight of a layer without output projection: the identity, which only removes the heads' padding. */
function identity(width: number): LinearWeights {
  const data = new Float32Array(width * width);
  for (let n = 0; n < width; ++n) data[n * width + n] = 1;
  const weight = { data, shape: [width, width], dtype: "float32" } as const;
  return { weight, offset: 0, inStride: width, outStride: 1, bias: undefined };
}

/** Numbers in a buffer that outlives the call. */
function placeWeight(call: Call, data: Float32Array): Span {
  const { device, buffers } = call.core;
  checkBytes(call.operation, "a weight", data.byteLength, device.limits);
  const buffer = buffers.make(data.byteLength);
  const span = { buffer, offset: 0, bytes: buffer.size };
  call.write(span, 0, data);
  return span;
}

function gpuTensor(name: string, { buffer, offset, bytes }: Span, shape: readonly number[]): CheckedFloats {
  return { data: new GpuData(name, buffer, offset, bytes, true), shape, dtype: "float32" } as unknown as CheckedFloats;
}

/** Positions of queries, [B, S]: query i is at i + offset of its sequence. */
function queryPositions(sequences: readonly Sequence[], batchSize: number, length: number): Float64Array {
  const positions = new Float64Array(batchSize * length);
  for (const { batch, queryBegin, numQueries, offset } of sequences)
    for (let i = 0; i < numQueries; ++i) positions[batch * length + queryBegin + i] = i + offset;
  return positions;
}

/** Positions of keys, [B, S]: key j of a sequence is at j. */
function keyPositions(sequences: readonly Sequence[], batchSize: number, length: number): Float64Array {
  const positions = new Float64Array(batchSize * length);
  for (const { batch, keyBegin, numKeys } of sequences)
    for (let j = 0; j < numKeys; ++j) positions[batch * length + keyBegin + j] = j;
  return positions;
}

/** Positions of tokens to append, [B, S]: they follow the cache's tokens. */
function cachePositions(appended: readonly number[], length: number): Float64Array {
  const position = (_: unknown, n: number) => appended[Math.floor(n / length)]! + (n % length);
  return Float64Array.from({ length: appended.length * length }, position);
}

/** Number of tokens that batch b of the cache gains. */
function gainOf({ attendOnly, appendLengths, contextLength }: ForwardProblem, b: number): number {
  return attendOnly ? 0 : (appendLengths?.[b] ?? contextLength);
}
