import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { PlacedResult } from "../../attention/attentionResult.js";
import { DisposedError, OptionError } from "../../errors/errors.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";
import type { LayerProblem } from "../../layer/layerProblem.js";
import { withOwnWeights } from "../../layer/ownWeights.js";
import { largestOf } from "../../tensor/largest.js";
import type { PlacedFloats } from "../../tensor/tensor.js";
import { anglePairs, frequenciesOf } from "../attention/angles.js";
import { attendOn, recordPlanned } from "../attention/attention.js";
import type { InPlace } from "../plan/attentionParams.js";
import type { GpuCache, GpuEngineCache, Growth } from "../cache/cache.js";
import { padded } from "../cache/cacheStore.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { narrowStep } from "../plan/flatKernels.js";
import { finishOf, gainsOf, headEnds, turnHeads, type Angles, type HeadColumns, type HeadEnds } from "./headEnds.js";
import { insideTensor } from "../attention/inside.js";
import { KeptTable } from "./keptTable.js";
import { checkBytes } from "../plan/limits.js";
import { matrixBytes, placeMatrix, uploadPieces, type Heads, type Part, type Piece, type Section } from "./matrix.js";
import { outputRoom, writeOutput } from "../attention/output.js";

import { plannedAttention, type PlannedAttention } from "../plan/plannedAttention.js";
import { project } from "./projection.js";
import { resolveSequences, type Sequence } from "../plan/sequences.js";
import type { Rows } from "../cache/storeRows.js";
import { stridesOf } from "../plan/strides.js";
import { sinusoidalRows, tokenRows, type Added } from "./tokenRows.js";

/** The projections that make queries, keys and values. */
type Role = "query" | "key" | "value";
const ROLES: readonly Role[] = ["query", "key", "value"];

/** What a layer has on a device. */
interface Placed {
  readonly device: GPUDevice;
  readonly sections: Readonly<Record<Role, Section>>;
  readonly output: Section | undefined;
  /** The table of learned positions. */
  readonly learned: Span | undefined;
  /** The gains of a norm that is not done in the projection's store. */
  readonly gains: Span | undefined;
  readonly bytes: number;
}

/** Positions of queries and keys, [B, S]. */
interface Positions {
  readonly query: Float64Array;
  readonly key: Float64Array;
}

/** A layer whose weights lie on the GPU. All intermediate results stay there. */
export class GpuLayer {
  readonly #problem: LayerProblem;
  readonly #ends: HeadEnds | undefined;
  readonly #angles = new KeptTable();
  readonly #sinusoids = new KeptTable();
  /** If a new device replaces the one that was lost, the weights are uploaded again. */
  #placed: Placed | undefined;
  /** Frees the weights. */
  #free: () => void = () => undefined;
  #released = false;

  constructor(problem: LayerProblem) {
    this.#problem = withOwnWeights(problem);
    this.#ends = headEnds(problem);
  }

  get bytes(): number {
    return this.#placed?.bytes ?? 0;
  }

  /** Uploads the weights to the device, as part of the call that needs them. */
  upload(call: Call): Placed {
    const { device, buffers } = call.core;
    if (this.#placed?.device === device.gpuDevice) return this.#placed;
    const made: GPUBuffer[] = [];
    this.#free = () => {
      for (const buffer of made) buffers.free(buffer);
      this.#angles.free();
      this.#sinusoids.free();
      this.#placed = undefined;
    };
    call.onFailure(this.#free);
    const keep = (bytes: number): Span => {
      const buffer = buffers.make(bytes);
      made.push(buffer);
      return { buffer, offset: 0, bytes: buffer.size };
    };
    this.#placed = { device: device.gpuDevice, ...this.#place(call, keep), bytes: 0 };
    this.#placed = { ...this.#placed, bytes: made.reduce((sum, { size }) => sum + size, 0) };
    return this.#placed;
  }

  forward(call: Call, problem: ForwardProblem): Deliver<PlacedResult> {
    if (this.#released) throw new DisposedError(`${call.operation}: the layer was disposed`);
    const cache = (problem.cache as GpuEngineCache | undefined)?.cache;
    const before = cache?.appended;
    const after = before?.map((total, b) => total + gainOf(problem, b));
    const sequences =
      cache && after
        ? cache.sequences(problem, { appended: after })
        : resolveSequences(problem.shape, problem.settings, problem.ragged);
    this.#checkPositions(problem, sequences);
    const placed = this.upload(call);
    const { attention, inPlace, growth } = this.#attention(call, placed, problem, sequences, cache);
    const planned = plannedAttention(attention, sequences, call.core.device.capabilities, inPlace);
    const deliver = placed.output
      ? this.#projected(call, problem, placed.output, planned)
      : recordPlanned(call, planned);
    return (mapped) => {
      growth?.commit();
      return deliver(mapped);
    };
  }

  release(): void {
    this.#released = true;
    this.#free();
  }

  /** Places weights and tables on the GPU. `keep` makes a buffer that outlives the call. */
  #place(call: Call, keep: (bytes: number) => Span): Omit<Placed, "device" | "bytes"> {
    const { shape, weights, position } = this.#problem;
    const uploaded = new Map<object, readonly Piece[]>(); // roles may share one array of packed weights
    const upload = ({ linear: { weight } }: Part): readonly Piece[] => {
      const pieces = uploaded.get(weight.data) ?? uploadPieces(call, weight.data, mostBytes(call));
      uploaded.set(weight.data, pieces);
      return pieces;
    };
    const keepNumbers = (numbers: Float32Array): Span => {
      const span = keep(numbers.byteLength);
      call.write(span, 0, numbers);
      return span;
    };
    const tile4 = this.#ends?.tile4 ?? 16;
    const parts = this.#parts();
    const bytes = (roles: readonly Role[]) => roles.reduce((sum, role) => sum + matrixBytes(parts[role], tile4), 0);
    const width = (role: Role) => parts[role].inputs.width;
    const groups = runsOf(
      ROLES,
      (roles, role) => width(roles[0]!) === width(role) && bytes([...roles, role]) <= mostBytes(call),
    );
    const sections = groups.flatMap((roles) => {
      const of = roles.map((role) => parts[role]);
      const placed = placeMatrix(call, keep, upload, of, tile4);
      return roles.map((role, n) => [role, placed[n]!] as const);
    });
    const inputs = { count: shape.numHeads, width: shape.valueHeadDim };
    const output = weights.output && { linear: weights.output, inputs, outputs: one(shape.outputDim), splitPairs: 0 };
    return {
      sections: Object.fromEntries(sections) as Record<Role, Section>,
      output: output && placeMatrix(call, keep, upload, [output], 16)[0],
      learned: position.kind === "learned" ? keepNumbers(position.table.data) : undefined,
      gains: this.#ends?.inStore === false ? keepNumbers(gainsOf(this.#problem)) : undefined,
    };
  }

  #parts(): Readonly<Record<Role, Part>> {
    const { shape, weights, qkNorm } = this.#problem;
    const { inputDim, keyInputDim, valueInputDim, numHeads, numKvHeads, headDim, valueHeadDim } = shape;
    const splitPairs = this.#ends?.splitPairs ?? 0;
    return {
      query: {
        linear: weights.query,
        inputs: one(inputDim),
        outputs: { count: numHeads, width: headDim },
        gain: qkNorm?.queryGain,
        splitPairs,
      },
      key: {
        linear: weights.key,
        inputs: one(keyInputDim),
        outputs: { count: numKvHeads, width: headDim },
        gain: qkNorm?.keyGain,
        splitPairs,
      },
      value: {
        linear: weights.value,
        inputs: one(valueInputDim),
        outputs: { count: numKvHeads, width: valueHeadDim },
        splitPairs: 0,
      },
    };
  }

  /**
   * The attention inside the layer. Queries, keys and values lie where the projections put them; keys and values may be
   * a cache's.
   */
  #attention(
    call: Call,
    placed: Placed,
    problem: ForwardProblem,
    sequences: readonly Sequence[],
    cache: GpuCache | undefined,
  ): { readonly attention: AttentionProblem; readonly inPlace: InPlace; readonly growth: Growth | undefined } {
    const { shape, settings, contextLength: length } = problem;
    const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = shape;
    const positions = {
      query: queryPositions(sequences, batchSize, queryLength),
      key: cache ? cachePositions(cache.appended, length) : keyPositions(sequences, batchSize, length),
    };
    const heads = this.#heads(call, placed, problem, positions);
    const attention = {
      operation: problem.operation,
      layout: placed.output ? "BSHD" : problem.layout,
      kvLayout: "BSHD",
      // the output projection reads whole vec4
      shape: placed.output ? { ...shape, valueDim: padded(valueDim) } : shape,
      settings: { ...settings, scale: settings.scale ?? 1 / Math.sqrt(headDim) },
      ragged: problem.ragged,
      wanted: problem.wanted,
      output: placed.output ? { ...problem.output, dtype: "float32" as const, into: undefined } : problem.output,
      location: problem.location,
      signal: undefined,
      keepRank: problem.keepRank,
    } as const;
    if (!cache) {
      const { query, key, value } = heads as Record<Role, Rows>;
      return {
        attention: {
          ...attention,
          query: insideTensor("query", query.span),
          key: insideTensor("key", key.span),
          value: insideTensor("value", value.span),
        },
        inPlace: {
          query: query.strides,
          cached: { key: key.strides, value: value.strides, dtype: "float32", ring: undefined },
        },
        growth: undefined,
      };
    }
    const growth = problem.attendOnly
      ? undefined
      : cache.grow(call, length, problem.appendLengths, {
          key: cache.turn(call, heads.key!, [batchSize, numKvHeads, length]),
          value: heads.value!,
        });
    const query = cache.turn(call, heads.query!, [batchSize, numHeads, queryLength], sequences);
    return {
      attention: { ...attention, query: insideTensor("query", query.span), ...cache.keysAndValues(growth) },
      inPlace: { query: query.strides, cached: cache.cached(growth) },
      growth,
    };
  }

  /** Projects queries, and keys and values if they are needed. Those that come from the same rows share a product. */
  #heads(call: Call, placed: Placed, problem: ForwardProblem, positions: Positions): Partial<Record<Role, Rows>> {
    const { x, shape, contextLength, attendOnly } = problem;
    const { layout, shape: layer } = this.#problem;
    const key = problem.key ?? x;
    const value = problem.value ?? key;
    const inputs = {
      query: { tensor: x, length: shape.queryLength, width: layer.inputDim },
      key: { tensor: key, length: contextLength, width: layer.keyInputDim },
      value: { tensor: value, length: contextLength, width: layer.valueInputDim },
    };
    const angles = this.#turningAngles(call, positions);
    const placedRows = new Map<PlacedFloats, Span>();
    const rowsOf = (role: Role): Span => {
      const { tensor, length, width } = inputs[role];
      const added = tensor === x ? this.#added(call, placed, positions.query) : undefined;
      const rows = placedRows.get(tensor) ?? tokenRows(call, tensor, layout, [shape.batchSize, length, width], added);
      placedRows.set(tensor, rows);
      return rows;
    };
    const { sections } = placed;
    const together = (a: Role, b: Role) =>
      inputs[a].tensor === inputs[b].tensor && sections[a].matrix === sections[b].matrix;
    const rowBytes = (roles: readonly Role[]) => 16 * roles.reduce((sum, role) => sum + sections[role].columns4, 0);
    const fits = (roles: readonly Role[]) =>
      rowBytes(roles) * shape.batchSize * inputs[roles[0]!].length <= mostBytes(call);
    const groups = runsOf(
      attendOnly ? ["query"] : ROLES,
      (roles, role) => together(roles[0]!, role) && fits([...roles, role]),
    );
    return Object.assign(
      {},
      ...groups.map((roles) =>
        this.#product(call, placed, rowsOf(roles[0]!), roles, shape.batchSize, inputs[roles[0]!].length, angles),
      ),
    ) as Partial<Record<Role, Rows>>;
  }

  /** One product for the columns of some roles. Its rows hold the heads of all of them. */
  #product(
    call: Call,
    { sections, gains }: Placed,
    x: Span,
    roles: readonly Role[],
    batchSize: number,
    length: number,
    angles: Angles,
  ): Partial<Record<Role, Rows>> {
    const { numHeads, numKvHeads, headDim, valueHeadDim } = this.#problem.shape;
    const { matrix, first4 } = sections[roles[0]!];
    const row4 = roles.reduce((sum, role) => sum + sections[role].columns4, 0);
    const rows = batchSize * length;
    const bytes = 16 * row4 * Math.max(rows, 1);
    checkBytes(call.operation, roles.join(" and "), bytes, call.core.device.limits);
    const target = call.room(bytes);
    const columns: HeadColumns = {
      queryHeads: roles.includes("query") ? numHeads : 0,
      keyHeads: roles.includes("key") ? numKvHeads : 0,
      keyFirst4: sections.key.first4,
    };
    const ends = this.#ends;
    const position = 4 * row4;
    const product = { rows, length, first4, columns: position, batch: length * position, position, feature: 1 };
    project(call, x, matrix, product, target, ends?.inStore ? finishOf(ends, columns, headDim, angles) : undefined);
    if (ends && !ends.inStore) {
      const inRow = { ...columns, keyFirst4: columns.keyFirst4 - first4 };
      turnHeads(call, ends, target, gains!, inRow, headDim, angles, rows, row4);
    }
    const headsOf = (role: Role): Rows => {
      const offset = 16 * (sections[role].first4 - first4);
      const head = padded(role === "value" ? valueHeadDim : headDim);
      return {
        span: { buffer: target.buffer, offset: target.offset + offset, bytes: target.bytes - offset },
        dtype: "float32",
        strides: { batch: product.batch, head, position, feature: 1 },
      };
    };
    return Object.fromEntries(roles.map((role) => [role, headsOf(role)]));
  }

  /** What is added to the tokens of x, which stand at these positions. */
  #added(call: Call, { learned }: Placed, positions: Float64Array): Added | undefined {
    const { position, shape } = this.#problem;
    if (position.kind === "learned") {
      const count = position.table.shape[0]!;
      // outside of the table there is only padding
      return { table: learned!, rows: Int32Array.from(positions, (at) => (at >= 0 && at < count ? at : -1)) };
    }
    if (position.kind !== "sinusoidal") return undefined;
    const table = this.#sinusoids.place(call, positions, () => sinusoidalRows(positions, shape.inputDim, position));
    return { table, rows: Int32Array.from(positions, (_, n) => n) };
  }

  /** The angles of all queries and keys, if the layer turns them. */
  #turningAngles(call: Call, { query, key }: Positions): Angles {
    const { position, shape } = this.#problem;
    if (position.kind !== "rotary") return { span: undefined, firstKey: 0 };
    const { scaling } = position.angles;
    const sequenceLength = scaling?.sequenceLength ?? Math.max(largestOf(query), largestOf(key)) + 1;
    const angles = { ...position.angles, scaling: scaling && { ...scaling, sequenceLength } };
    const shared = query.length === key.length && query.every((at, n) => at === key[n]);
    const positions = shared ? query : joined(query, key);
    const decides = joined(positions, [scaling ? sequenceLength : 0]);
    const make = () => anglePairs(frequenciesOf(angles, shape.headDim), positions);
    return { span: this.#angles.place(call, decides, make), firstKey: shared ? 0 : query.length };
  }

  /** The attention, and its output projection. */
  #projected(
    call: Call,
    { shape, output, wanted, location }: ForwardProblem,
    { matrix }: Section,
    planned: PlannedAttention,
  ): Deliver<PlacedResult> {
    const { wide, collect } = attendOn(call, planned, "cpu");
    if (!wanted.output || !wide) return collect as Deliver<PlacedResult>;
    const { batchSize, queryLength: length } = shape;
    const { outputDim: columns } = this.#problem.shape;
    const rows = batchSize * length;
    const narrow = narrowStep(output.dtype, rows * columns);
    const y = outputRoom(call, output, rows * columns, narrow, location);
    const { batch, position, feature } = stridesOf(this.#problem.layout, 1, length, columns);
    project(call, wide, matrix, { rows, length, first4: 0, columns, batch, position, feature }, y);
    const read = writeOutput(call, output, y, rows * columns, narrow, location);
    return (result) => ({ ...collect(result), output: read(result) });
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

function one(width: number): Heads {
  return { count: 1, width };
}

function joined(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function mostBytes({ core }: Call): number {
  const { maxStorageBufferBindingSize, maxBufferSize } = core.device.limits;
  return Math.min(maxStorageBufferBindingSize, maxBufferSize);
}

/** Splits a list into runs. `joins` says whether an element joins the run before it. */
function runsOf(roles: readonly Role[], joins: (run: readonly Role[], role: Role) => boolean): Role[][] {
  const runs: Role[][] = [];
  for (const role of roles) {
    const last = runs.at(-1);
    if (last && joins(last, role)) last.push(role);
    else runs.push([role]);
  }
  return runs;
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
