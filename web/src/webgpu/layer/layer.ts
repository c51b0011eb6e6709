import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { PlacedResult } from "../../attention/attentionResult.js";
import { DisposedError, OptionError, UnsupportedError } from "../../errors/errors.js";
import type { LayerBackwardProblem, PlacedLayerGradients } from "../../layer/backwardProblem.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";
import type { LayerProblem } from "../../layer/layerProblem.js";
import { updatedProblem, type LayerUpdate } from "../../layer/layerUpdate.js";
import { withInt8Weights } from "../../layer/int8Weights.js";
import type { PlacedLayerViews } from "../../layer/views.js";
import { withOwnWeights } from "../../layer/ownWeights.js";
import { largestOf } from "../../tensor/largest.js";
import type { PlacedFloats, PlacedTensor } from "../../tensor/tensor.js";
import { anglePairs, sectionPairs } from "../attention/angles.js";
import { attendOn, deliverAttended, type Attended } from "../attention/attention.js";
import { rowSection, SECTION } from "../attention/attentionArrays.js";
import { keyTokens, queryTokens } from "../attention/chosenRows.js";
import { insideTensor } from "../call/span.js";
import type { HeadArray } from "../attention/moveRows.js";
import { outputRoom, writeOutput } from "../attention/output.js";
import { patchAttended } from "../attention/patchAttended.js";
import { refuseWithWeights } from "../attention/patchedWeights.js";
import { formWhileGaining, type CacheForm } from "../../cache/cacheProblem.js";
import type { GpuCache, GpuEngineCache, Growth } from "../cache/cache.js";
import { padded } from "../cache/cacheStore.js";
import type { Rows } from "../cache/storeRows.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { IterableWeakSet } from "../device/iterableWeakSet.js";
import type { InPlace } from "../plan/attentionParams.js";
import { narrowStep } from "../plan/flatKernels.js";
import { checkBytes } from "../plan/limits.js";
import { plannedAttention, type PlannedAttention } from "../plan/plannedAttention.js";
import { resolveSequences, type Sequence } from "../plan/sequences.js";
import type { TokenPositions } from "../../position/tokenPositions.js";
import { stridesOf } from "../plan/strides.js";
import { finishOf, headEnds, turnHeads, type Angles, type HeadColumns, type HeadEnds } from "./headEnds.js";
import { KeptTable } from "./keptTable.js";
import { recordLayerBackward } from "./layerBackward.js";
import { mostBytes, type Section } from "./matrix.js";
import { patchHeads } from "./patches.js";
import { project } from "./projection.js";
import { ROLES, runsOf, type OfRoles, type Role } from "./roles.js";
import { GpuSaved, ownSettings, type Positions, type SavedCall } from "./saved.js";
import { sinusoidalRows, tokenRows, type Added } from "./tokenRows.js";
import { viewInside } from "./views.js";
import { dtypesOf, GpuWeights, partsOf } from "./weights.js";
import { UNWATCHED } from "../../call/watched.js";

/** The attention inside of a call, and what was made of its inputs. */
interface Inside {
  readonly attention: AttentionProblem;
  readonly inPlace: InPlace;
  readonly growth: Growth | undefined;
  /** Queries, keys and values; with a cache all keys and values that it holds. */
  readonly heads: OfRoles<HeadArray>;
  /** Their memory, without that of a cache. */
  readonly spans: readonly Span[];
  readonly inputs: OfRoles<Span>;
  readonly positions: Positions;
  readonly added: Int32Array | undefined;
}

/** A layer whose weights lie on the GPU. All intermediate results stay there. */
export class GpuLayer {
  #problem: LayerProblem;
  readonly #ends: HeadEnds | undefined;
  readonly #angles = new KeptTable();
  readonly #sinusoids = new KeptTable();
  /** If a new device replaces the one that was lost, the weights are uploaded again. */
  #weights: GpuWeights | undefined;
  /** Saved calls that were not released yet. */
  readonly #saved = new IterableWeakSet<GpuSaved>();
  #released = false;

  constructor(problem: LayerProblem) {
    this.#problem = keptProblem(problem);
    this.#ends = headEnds(problem);
  }

  get bytes(): number {
    return this.#weights?.bytes ?? 0;
  }

  /** Uploads the weights to the device, as part of the call that needs them. */
  upload(call: Call): GpuWeights {
    if (this.#weights?.device === call.core.device.gpuDevice) return this.#weights;
    call.onFailure(() => this.#free());
    return (this.#weights = new GpuWeights(call, this.#problem, this.#ends));
  }

  forward(
    call: Call,
    problem: ForwardProblem,
  ): Deliver<PlacedResult & PlacedLayerViews & { readonly saved?: GpuSaved }> {
    this.#assertThere(call);
    refuseWithWeights(problem);
    const cache = (problem.cache as GpuEngineCache | undefined)?.cache;
    const before = cache?.appended;
    const after = before?.map((total, b) => total + gainOf(problem, b));
    const sequences =
      cache && before && after
        ? cache.sequences(problem, { appended: after }, formDuring(problem, cache.form, before))
        : resolveSequences(problem.shape, problem.settings, problem.ragged);
    this.#checkPositions(problem, sequences);
    const { position } = this.#problem;
    if (cache?.form.rotary && position.kind === "rotary" && !cache.turnsLike(position.angles))
      throw new OptionError(
        `${problem.operation}: a ring that turns the layer's keys by their places must have the layer's rotary options`,
      );
    const weights = this.upload(call);
    const { output } = weights.sections;
    const inside = this.#attention(call, weights, problem, sequences, cache);
    const planned = plannedAttention(inside.attention, sequences, call.core.device.capabilities, inside.inPlace);
    const { probs } = problem.patches ?? {};
    const attended = attendOn(call, planned, output || !problem.wanted.output ? "cpu" : problem.location, probs);
    const headOutputs = patchAttended(call, planned, attended, problem.patches, problem.shape.valueDim);
    const views = viewInside(call, problem, { ...inside.heads, headOutputs }, output, this.#problem.shape.outputDim);
    const saved = problem.save ? this.#savedCall(call, problem, planned, inside, attended) : undefined;
    const deliver = output
      ? this.#projected(call, problem, output, attended)
      : this.#asAttended(call, problem, planned, attended);
    return (mapped) => {
      inside.growth?.commit();
      const result = { ...deliver(mapped), ...views(mapped) };
      return saved ? { ...result, saved: saved() } : result;
    };
  }

  backward(call: Call, problem: LayerBackwardProblem): Deliver<PlacedLayerGradients> {
    this.#assertThere(call);
    const saved = (problem.saved as GpuSaved).in(call);
    const weights = this.upload(call);
    call.onFailure(() => this.#free()); // the first gradient makes buffers
    const layer = {
      problem: this.#problem,
      ends: this.#ends,
      parts: partsOf(this.#problem, this.#ends),
      sections: weights.sections,
      backs: weights.backs(call, this.#problem),
      angles: this.#turningAngles(call, saved.positions),
    };
    return recordLayerBackward(call, layer, saved, problem);
  }

  /** Replaces the weights. They stay in the same buffers, so nothing is compiled and no bind group is made. */
  update(call: Call, update: LayerUpdate): Deliver<void> {
    this.#assertThere(call);
    const before = this.#problem;
    call.onFailure(() => {
      this.#problem = before;
      this.#free();
    });
    this.#problem = keptProblem(updatedProblem(before, update));
    if (dtypesOf(before) !== dtypesOf(this.#problem)) this.#free();
    if (this.#weights?.device === call.core.device.gpuDevice) this.#weights.fill(call, this.#problem);
    else this.upload(call);
    return () => undefined;
  }

  release(): void {
    this.#released = true;
    for (const saved of this.#saved.values()) saved.release();
    this.#free();
  }

  #assertThere({ operation }: Call): void {
    if (this.#released) throw new DisposedError(`${operation}: the layer was disposed`);
  }

  #free(): void {
    this.#weights?.free();
    this.#weights = undefined;
    this.#angles.free();
    this.#sinusoids.free();
  }

  /**
   * The attention inside the layer. Queries, keys and values lie where the projections put them; keys and values may be
   * a cache's.
   */
  #attention(
    call: Call,
    weights: GpuWeights,
    problem: ForwardProblem,
    sequences: readonly Sequence[],
    cache: GpuCache | undefined,
  ): Inside {
    const { shape, settings, contextLength: length } = problem;
    const { batchSize, numHeads, numKvHeads, queryLength, headDim, valueDim } = shape;
    const positions = givenPositions(problem) ?? {
      query: queryPositions(sequences, batchSize, queryLength),
      key: cache ? cachePositions(cache.appended, length) : keyPositions(sequences, batchSize, length),
    };
    const { heads, inputs, added } = this.#heads(call, weights, problem, positions);
    if (problem.patches) {
      const keysOf = cache ? (b: number, row: number) => row < gainOf(problem, b) : keyTokens(sequences, length);
      patchHeads(call, problem, heads, { query: queryTokens(sequences, queryLength), key: keysOf, value: keysOf });
    }
    const queryExtents = [batchSize, numHeads, queryLength, headDim] as const;
    const extentsOf = (width: number) => [batchSize, numKvHeads, shape.keyLength, width] as const;
    const attention = {
      operation: problem.operation,
      layout: weights.sections.output ? "BSHD" : problem.layout,
      kvLayout: "BSHD",
      // the output projection reads whole vec4
      shape: weights.sections.output ? { ...shape, valueDim: padded(valueDim) } : shape,
      settings: { ...settings, scale: settings.scale ?? 1 / Math.sqrt(headDim) },
      ragged: problem.ragged,
      wanted: { ...problem.wanted, output: needsHeadOutputs(problem) },
      output: weights.sections.output
        ? { ...problem.output, dtype: "float32" as const, into: undefined }
        : problem.output,
      location: problem.location,
      ...UNWATCHED,
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
        heads: {
          query: { ...query, extents: queryExtents },
          key: { ...key, extents: extentsOf(headDim) },
          value: { ...value, extents: extentsOf(valueDim) },
        },
        spans: [query.span, key.span, value.span],
        inputs: inputs as OfRoles<Span>,
        positions,
        added,
      };
    }
    const growth = problem.attendOnly
      ? undefined
      : cache.grow(
          call,
          length,
          problem.appendLengths,
          {
            key: cache.turn(
              call,
              heads.key!,
              [batchSize, numKvHeads, length],
              cache.nextTokens(length, problem.appendLengths, problem.key ? problem.keyPositions : problem.positions),
            ),
            value: heads.value!,
          },
          problem.settings,
          problem.positions !== undefined,
        );
    const { rows: query, keptQueries } = cache.turnQueries(
      call,
      heads.query!,
      [batchSize, numHeads, queryLength],
      sequences,
      problem.positions,
    );
    return {
      attention: { ...attention, query: insideTensor("query", query.span), ...cache.keysAndValues(growth) },
      inPlace: { query: query.strides, keptQueries, cached: cache.cached(growth) },
      growth,
      heads: {
        query: { ...query, extents: queryExtents },
        key: { ...cache.stored("key", growth), extents: extentsOf(headDim) },
        value: { ...cache.stored("value", growth), extents: extentsOf(valueDim) },
      },
      spans: [],
      inputs: inputs as OfRoles<Span>,
      positions,
      added,
    };
  }

  /** Projects queries, and keys and values if they are needed. Those that come from the same rows share a product. */
  #heads(
    call: Call,
    weights: GpuWeights,
    problem: ForwardProblem,
    positions: Positions,
  ): {
    readonly heads: Partial<Record<Role, Rows>>;
    readonly inputs: Partial<Record<Role, Span>>;
    readonly added: Int32Array | undefined;
  } {
    const { x, shape, contextLength, attendOnly } = problem;
    const { layout, shape: layer } = this.#problem;
    const key = problem.key ?? x;
    const value = problem.value ?? key;
    const inputs = {
      query: { tensor: x, length: shape.queryLength, width: layer.inputDim },
      key: { tensor: key, length: contextLength, width: layer.keyInputDim },
      value: { tensor: value, length: contextLength, width: layer.valueInputDim },
    };
    const cache = (problem.cache as GpuEngineCache | undefined)?.cache;
    const angles = this.#turningAngles(call, positions, cache?.form.rotary);
    const added = this.#added(call, weights, positions.query);
    const placedRows = new Map<PlacedFloats, Span>();
    const rowsOf = (role: Role): Span => {
      const { tensor, length, width } = inputs[role];
      const extents = [shape.batchSize, length, width] as const;
      const rows =
        placedRows.get(tensor) ??
        tokenRows(call, tensor, layout, extents, tensor === x ? added : undefined, problem.save);
      placedRows.set(tensor, rows);
      return rows;
    };
    const { roles: sections } = weights.sections;
    const together = (a: Role, b: Role) =>
      inputs[a].tensor === inputs[b].tensor && sections[a].matrix === sections[b].matrix;
    const rowBytes = (roles: readonly Role[]) => 16 * roles.reduce((sum, role) => sum + sections[role].columns4, 0);
    const fits = (roles: readonly Role[]) =>
      rowBytes(roles) * shape.batchSize * inputs[roles[0]!].length <= mostBytes(call);
    const groups = runsOf(
      attendOnly ? ["query"] : ROLES,
      (roles, role) => together(roles[0]!, role) && fits([...roles, role]),
    );
    const heads = Object.assign(
      {},
      ...groups.map((roles) =>
        this.#product(call, weights, rowsOf(roles[0]!), roles, shape.batchSize, inputs[roles[0]!].length, angles),
      ),
    ) as Partial<Record<Role, Rows>>;
    return {
      heads,
      inputs: Object.fromEntries(groups.flat().map((role) => [role, rowsOf(role)])),
      added: weights.learned && added?.rows,
    };
  }

  /** One product for the columns of some roles. Its rows hold the heads of all of them. */
  #product(
    call: Call,
    { sections: { roles: sections }, gains }: GpuWeights,
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
  #added(call: Call, { learned }: GpuWeights, positions: Float64Array): Added | undefined {
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
  #turningAngles(call: Call, positions: Positions, isTurnedByCache = false): Angles {
    const { position, shape } = this.#problem;
    if (position.kind !== "rotary") return { span: undefined, firstKey: 0 };
    if (isTurnedByCache) {
      const pairs = (position.angles.rotaryDim || shape.headDim) / 2; // the layer's kernels turn by nothing
      const tokens = Math.max(positions.query.length, positions.key.length);
      return {
        span: call.table(Float32Array.from({ length: 2 * pairs * tokens }, (_, n) => 1 - (n % 2))),
        firstKey: 0,
      };
    }
    const { scaling } = position.angles;
    const { query, key } = positions;
    const queries = positions.planes?.query ?? [query];
    const keys = positions.planes?.key ?? [key];
    const sequenceLength = scaling?.sequenceLength ?? Math.max(...[...queries, ...keys].map(largestOf)) + 1;
    const angles = { ...position.angles, scaling: scaling && { ...scaling, sequenceLength } };
    const isSame = (a: Float64Array, b: Float64Array) => a.length === b.length && a.every((at, n) => at === b[n]);
    const shared = queries.every((plane, n) => isSame(plane, keys[n]!));
    const planes = shared ? queries : queries.map((plane, n) => joined(plane, keys[n]!));
    const decides = Float64Array.from([...planes.flatMap((plane) => [...plane]), scaling ? sequenceLength : 0]);
    const make = () =>
      planes.length > 1 ? sectionPairs(angles, shape.headDim, planes) : anglePairs(angles, shape.headDim, planes[0]!);
    return { span: this.#angles.place(call, decides, make), firstKey: shared ? 0 : query.length };
  }

  /** The output projection of an attention pass. */
  #projected(
    call: Call,
    { shape, output, wanted, location }: ForwardProblem,
    { matrix }: Section,
    { wide, collect }: Attended,
  ): Deliver<PlacedResult> {
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

  /** The results of an attention pass without output projection. */
  #asAttended(
    call: Call,
    { wanted }: ForwardProblem,
    planned: PlannedAttention,
    attended: Attended,
  ): Deliver<PlacedResult> {
    if (wanted.output) return deliverAttended(call, planned, attended);
    return attended.collect as Deliver<PlacedResult>;
  }

  /** What the gradient of the call needs. The returned function hands it over when the call has succeeded. */
  #savedCall(
    call: Call,
    { operation, contextLength }: ForwardProblem,
    planned: PlannedAttention,
    { inPlace, spans: heads, inputs, positions, added }: Inside,
    { wide, arrays }: Attended,
  ): () => GpuSaved {
    if (call.recording) throw new UnsupportedError(`${operation}: save must be false for a recorded call`);
    const { problem, sequences } = planned;
    const { mask, bias } = problem.settings;
    const own = (tensor: PlacedTensor | undefined, span: Span | undefined) =>
      tensor?.gpu ? copied(call, call.source(tensor.gpu)) : span;
    const options = { mask: own(mask?.tensor, arrays.inputs[4]), bias: own(bias?.tensor, arrays.inputs[5]) };
    // without output projection the output may be the caller's
    const output = this.#weights!.sections.output ? wide! : copiedOut(call, wide!);
    const settings = ownSettings(problem.settings, options);
    const saved: SavedCall = {
      attention: {
        problem: { ...problem, settings },
        sequences,
        inPlace,
        output,
        lse: rowSection(arrays, planned, SECTION.lse),
      },
      inputs,
      contextLength,
      positions,
      added,
    };
    const spans = [...heads, ...Object.values(inputs), output, arrays.rows, options.mask, options.bias];
    return () => {
      const made = new GpuSaved(
        call,
        saved,
        spans.filter((span) => span !== undefined),
      );
      this.#saved.add(made);
      return made;
    };
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

/** The problem with copies of its weights, in int8 if the layer keeps them so. */
function keptProblem(problem: LayerProblem): LayerProblem {
  return withOwnWeights(problem.weightDtype === "int8" ? withInt8Weights(problem) : problem);
}

/** Whether the results of heads must be computed. */
function needsHeadOutputs({ wanted, views, save }: ForwardProblem): boolean {
  return wanted.output || save || views.headOutputs !== undefined || views.contributions !== undefined;
}

/** A copy of the caller's bytes, made before the kernels run. */
function copied(call: Call, source: Span): Span {
  const copy = call.room(source.bytes);
  call.copyIn(source, copy);
  return copy;
}

/** A copy of a result, made after the kernels have run. */
function copiedOut(call: Call, source: Span): Span {
  const copy = call.room(source.bytes);
  call.copyOut(source, copy);
  return copy;
}

function joined(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
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

/** The form of the cache while the queries of a call attend. */
function formDuring(problem: ForwardProblem, form: CacheForm, before: readonly number[]): CacheForm {
  const lengths = Int32Array.from(before, (_, b) => gainOf(problem, b));
  return formWhileGaining(form, before, { numTokens: problem.contextLength, lengths });
}

/** Number of tokens that batch b of the cache gains. */
function gainOf({ attendOnly, appendLengths, contextLength }: ForwardProblem, b: number): number {
  return attendOnly ? 0 : (appendLengths?.[b] ?? contextLength);
}

/** Where tokens stand, if the caller says it. Without keyPositions nothing reads those of a context. */
function givenPositions({ positions, keyPositions, key, shape, contextLength }: ForwardProblem): Positions | undefined {
  if (!positions) return undefined;
  const queries = planesOf(positions);
  const ofContext = keyPositions ? planesOf(keyPositions) : [new Float64Array(shape.batchSize * contextLength)];
  const keys = key ? ofContext : queries;
  return {
    query: queries[0]!,
    key: keys[0]!,
    ...(queries.length > 1 && { planes: { query: queries, key: keys } }),
  };
}

function planesOf({ data, planes }: TokenPositions): Float64Array[] {
  const size = data.length / planes;
  return Array.from({ length: planes }, (_, n) => Float64Array.from(data.subarray(n * size, (n + 1) * size)));
}
