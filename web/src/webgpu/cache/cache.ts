import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { PlacedResult } from "../../attention/attentionResult.js";
import type { AttentionSettings } from "../../attention/attentionSettings.js";
import { checkKeyLengths } from "../../attention/keyLengths.js";
import type { PlacedViews } from "../../attention/views.js";
import { DeviceLostError, OptionError, ShapeError, UnsupportedError } from "../../base/errors.js";
import type { AppendProblem } from "../../cache/appendProblem.js";
import type { AttendProblem } from "../../cache/attendProblem.js";
import type { CacheForm, CacheProblem } from "../../cache/cacheProblem.js";
import type { EngineCache } from "../../cache/engineCache.js";
import { droppedTokens, formWhileGaining, heldLength } from "../../cache/heldTokens.js";
import type { KeptTokens } from "../../cache/keptTokens.js";
import { placeOfQuery } from "../../cache/ringPlaces.js";
import { savedBytes } from "../../cache/savedRows.js";
import { checkTableRows } from "../../position/checkedAngles.js";
import type { CheckedAngles } from "../../position/rotaryAngles.js";
import type { TokenPositions } from "../../position/tokenPositions.js";
import { UNWATCHED } from "../../read/watched.js";
import { largestOf } from "../../tensor/largest.js";
import type { PlacedFloats } from "../../tensor/tensor.js";
import { sameAngles, withoutAmplitude } from "../attention/angles.js";
import { attendOn, deliverAttended } from "../attention/attention.js";
import { queryTokens } from "../attention/chosenRows.js";
import { moveRows, type HeadArray } from "../attention/moveRows.js";
import { packRows } from "../attention/pack.js";
import { patchAttended } from "../attention/patchAttended.js";
import { patchRows } from "../attention/patchRows.js";
import { refuseWithWeights } from "../attention/patchedWeights.js";
import { turnRows } from "../attention/turnRows.js";
import { viewRows } from "../attention/viewRows.js";
import type { Call, Deliver, Span } from "../call/call.js";
import type { GpuCore } from "../call/core.js";
import { insideTensor } from "../call/span.js";
import type { Cached, InPlace } from "../plan/attentionParams.js";
import { divideUp } from "../plan/limits.js";
import { plannedAttention } from "../plan/plannedAttention.js";
import { MOST_TOKENS, type Sequence } from "../plan/sequences.js";
import { stridesOf } from "../plan/strides.js";
import { branchesOf, type Branch } from "./branch.js";
import { readCache, writeCache } from "./cacheFile.js";
import { CacheStore, fillFile, fillStore, padded, placeOf, runsOf, SIDES, type Run, type Side } from "./cacheStore.js";
import { storeMeans, storeRows, type Rows } from "./storeRows.js";

/** Room for this many tokens at the start. It doubles when it is full. */
const FIRST_PLACES = 64;

/** The offset of a part of a buffer is a multiple of this. */
const PART_BYTES = 256;

/** The content of a cache at one moment. */
interface Held {
  readonly store: CacheStore;
  /** Tokens appended, by batch. */
  readonly appended: readonly number[];
  /**
   * By batch: the number that rotary embedding adds to positions. It is not 0 if keys keep the angles of positions that
   * they had before: in a slice, and after the first tokens were removed.
   */
  readonly origins: readonly number[];
  /** Whether tokens were given positions. They are not kept, so `keep` cannot turn keys from them. */
  readonly hasGivenPositions: boolean;
}

/** Tokens of a batch, whose angles follow one another unless they are given. Rows after them are padding. */
interface TurnedTokens {
  readonly first: number;
  readonly count: number;
  /** Where the rows stand, if the caller says it: one plane, or three with sections. */
  readonly given?: readonly (Int32Array | Float64Array)[] | undefined;
}

/** Queries as attention reads them. */
interface CachedQueries {
  readonly rows: Rows;
  /** See InPlace. */
  readonly keptQueries?: number | undefined;
}

/** The content of a cache after a call. Until `commit` the cache is as before. */
export interface Growth extends Held {
  commit(): void;
}

/** A GpuCache as the public KvCache holds it. */
export interface GpuEngineCache extends EngineCache {
  readonly cache: GpuCache;
}

/** Keys and values on the GPU. Tokens are copied there once, and kernels read them there. */
export class GpuCache {
  readonly form: CacheForm;
  readonly #problem: CacheProblem;
  readonly #device: GPUDevice;
  #held: Held;

  private constructor(core: GpuCore, problem: CacheProblem, held: Held) {
    this.form = held.store.form;
    this.#problem = problem;
    this.#device = core.device.gpuDevice;
    this.#held = held;
  }

  static empty(call: Call, problem: CacheProblem): Deliver<GpuCache> {
    const none = Array.from({ length: problem.batchSize }, () => 0);
    const store = storeFor(call, problem, 0);
    call.onFailure(() => store.release());
    return () => new GpuCache(call.core, problem, { store, appended: none, origins: none, hasGivenPositions: false });
  }

  static load(call: Call, bytes: Uint8Array): Deliver<GpuCache> {
    const { problem, version, appended, origins, hasGivenPositions, rows } = readCache(call.operation, bytes);
    const store = storeFor(call, problem, placesFor(problem, appended), 0);
    call.onFailure(() => store.release());
    fillStore(call, store, appended, rows, version);
    return () => new GpuCache(call.core, problem, { store, appended, origins, hasGivenPositions });
  }

  get appended(): readonly number[] {
    return this.#held.appended;
  }

  get bytes(): number {
    return this.#held.store.bytes;
  }

  append(call: Call, problem: AppendProblem): Deliver<void> {
    const grown = this.#appended(call, problem);
    return () => grown.commit();
  }

  /** Appends, and attends to the cache as it is then. */
  step(call: Call, append: AppendProblem, attend: AttendProblem): Deliver<PlacedResult & PlacedViews> {
    const grown = this.#appended(call, append, attend.settings);
    const deliver = this.attend(call, attend, grown);
    return (mapped) => {
      grown.commit();
      return deliver(mapped);
    };
  }

  #appended(
    call: Call,
    { numTokens, layout, lengths, positions, key, value }: AppendProblem,
    settings?: AttentionSettings,
  ): Growth {
    const { batchSize, numKvHeads, headDim, valueDim } = this.form;
    const rows = (tensor: PlacedFloats, width: number): Rows => ({
      span: call.place(tensor),
      dtype: tensor.dtype,
      strides: stridesOf(layout, numKvHeads, numTokens, width),
    });
    const keys = rows(key, headDim);
    const turned = this.#problem.rotary
      ? this.turn(call, keys, [batchSize, numKvHeads, numTokens], this.nextTokens(numTokens, lengths, positions))
      : keys;
    return this.grow(
      call,
      numTokens,
      lengths,
      { key: turned, value: rows(value, valueDim) },
      settings,
      positions !== undefined,
    );
  }

  /**
   * Lists the kernels that append the leading lengths[b] of `numTokens` rows. The keys are already turned.
   *
   * @param settings - Of the queries that attend in the same call, if there are any.
   * @param isGiven - Whether the tokens were given positions.
   */
  grow(
    call: Call,
    numTokens: number,
    lengths: Int32Array | undefined,
    rows: { readonly key: Rows; readonly value: Rows },
    settings?: AttentionSettings,
    isGiven = false,
  ): Growth {
    this.#assertHere(call);
    const before = this.#held;
    const gains = before.appended.map((_, b) => lengths?.[b] ?? numTokens);
    const appended = before.appended.map((total, b) => total + gains[b]!);
    this.#checkRoom(call.operation, gains);
    const seen = settings && this.#widened(call, numTokens, lengths, appended);
    // A call that may be refused by what it computes must find what a ring drops: the present store stays as it is.
    const isCopy = seen !== undefined && settings?.emptyRows === "throw";
    const store = this.#writable(call, placesFor(this.form, appended), isCopy);
    for (const each of seen ? [store, seen.store] : [store]) {
      storeMeans(call, each, rows.key, numTokens, before.appended, gains);
      for (const side of SIDES) storeRows(call, each, side, rows[side], numTokens, before.appended, gains);
    }
    // positions of tokens that are gone do not count
    const hadGivenPositions = before.hasGivenPositions && before.appended.some((total) => total > 0);
    const hasGivenPositions = hadGivenPositions || (this.form.rotary && isGiven && numTokens > 0);
    const after = { ...before, store, appended, hasGivenPositions };
    if (store === before.store) call.onFailure(() => this.#rewindTo(before));
    const commit = () => {
      this.#held = after;
    };
    return { ...(seen ?? after), commit };
  }

  /**
   * If a ring would drop tokens that the queries of the new ones see: a longer ring for this call, with what it holds
   * before. The new rows must still be stored.
   */
  #widened(
    call: Call,
    numTokens: number,
    lengths: Int32Array | undefined,
    appended: readonly number[],
  ): Held | undefined {
    const { store, appended: before } = this.#held;
    const form = formWhileGaining(this.form, before, { numTokens, lengths });
    if (form === this.form) return undefined;
    const memory = { make: (bytes: number) => call.room(bytes).buffer, free: () => undefined }; // the call's scratch
    const wide = new CacheStore(call.core, call.operation, form, placesFor(form, appended), memory);
    before.forEach((total, b) => {
      const length = heldLength(this.form, total, b);
      store.copyTo(call, wide, b, runsOf(this.form, total, b, 0, length), runsOf(form, total, b, 0, length));
    });
    return { ...this.#held, store: wide, appended };
  }

  attend(call: Call, problem: AttendProblem, held = this.#held): Deliver<PlacedResult & PlacedViews> {
    const { shape, wanted, views, patches, location } = problem;
    this.#assertHere(call);
    refuseWithWeights(problem);
    const sequences = this.sequences(problem, held, held.store.form);
    const { rows, keptQueries } = this.#queries(call, problem, sequences) ?? {};
    const attention: AttentionProblem = {
      ...problem,
      kvLayout: problem.layout, // keys lie in the cache
      query: rows ? insideTensor("query", rows.span) : problem.query,
      ...this.keysAndValues(held),
      ragged: undefined,
      wanted: { ...wanted, output: wanted.output || views.headOutputs !== undefined },
      ...UNWATCHED,
    };
    const inPlace: InPlace = { ...(rows && { query: rows.strides, keptQueries }), cached: this.cached(held) };
    const planned = plannedAttention(attention, sequences, call.core.device.capabilities, inPlace);
    const attended = attendOn(call, planned, wanted.output ? location : "cpu", patches?.probs);
    const { batchSize, numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
    const keyExtents = (width: number) => [batchSize, numKvHeads, keyLength, width] as const;
    const shown = viewRows(call, problem, {
      query: rows && { ...rows, extents: [batchSize, numHeads, queryLength, headDim] },
      key: { ...this.stored("key", held), extents: keyExtents(headDim) },
      value: { ...this.stored("value", held), extents: keyExtents(valueDim) },
      headOutputs: patchAttended(call, planned, attended, patches, valueDim),
    });
    const deliver = wanted.output ? deliverAttended(call, planned, attended) : attended.collect;
    return (mapped) => ({ ...(deliver(mapped) as PlacedResult), ...shown(mapped) });
  }

  /** The queries as attention sees them, if they are turned, overwritten or shown. Otherwise they stay where they are. */
  #queries(call: Call, problem: AttendProblem, sequences: readonly Sequence[]): CachedQueries | undefined {
    const { layout, query, shape, patches, views } = problem;
    const { batchSize, numHeads, queryLength, headDim } = shape;
    const turns = this.#problem.rotary !== undefined;
    if (!turns && !patches?.query && !views.query) return undefined;
    const extents = [batchSize, numHeads, queryLength] as const;
    const strides = stridesOf(layout, numHeads, queryLength, headDim);
    const given = { span: call.place(query), dtype: query.dtype, strides };
    const queries = turns
      ? this.turnQueries(call, given, extents, sequences, problem.positions)
      : { rows: this.#packed(call, given, extents) };
    const { rows } = queries;
    const target: HeadArray = { ...rows, extents: [...extents, headDim] };
    if (patches?.query) patchRows(call, "query", patches.query, target, queryTokens(sequences, queryLength));
    return queries;
  }

  /** The batches as the kernels need them. By default query 0 is at position appended tokens − query length. */
  sequences(
    { operation, shape, settings }: Pick<AttentionProblem, "operation" | "shape" | "settings">,
    { appended }: Pick<Held, "appended"> = this.#held,
    form = this.form,
  ): Sequence[] {
    const { keyLengths, queryLengths, queryOffset, causal } = settings;
    checkKeyLengths(operation, keyLengths, (batch) => heldLength(form, appended[batch]!, batch));
    return appended.map((total, batch) => {
      const numKeys = heldLength(form, total, batch);
      const keyLength = keyLengths?.[batch] ?? numKeys;
      const queryLength = queryLengths?.[batch] ?? shape.queryLength;
      const aligned = causal === "upper-left" ? 0 : total - queryLength;
      const offset = queryOffset?.[batch] ?? aligned;
      const dropped = droppedTokens(form, total, batch);
      const seam = form.ring ? dropped % form.ring.window : 0;
      const whole = { batch, queryBegin: 0, numQueries: shape.queryLength, keyBegin: 0, numKeys };
      const reach = form.ring?.sight && form.ring.keepFirst === 0 ? form.ring.sight - 1 : undefined;
      return { ...whole, queryLength, keyLength, offset, dropped, seam, sight: form.ring?.sight, reach };
    });
  }

  /** Tells the attention kernels where the rows are. */
  cached({ store }: Pick<Held, "store"> = this.#held): Cached {
    const { dtype, ring } = store.form;
    return {
      dtype,
      ring,
      key: store.strides("key"),
      value: store.strides("value"),
      firstScale: { key: store.firstScale("key"), value: store.firstScale("value") },
      firstMean: store.firstMean(),
    };
  }

  keysAndValues({ store }: Pick<Held, "store"> = this.#held): Pick<AttentionProblem, "key" | "value"> {
    return { key: insideTensor("key", store.span("key")), value: insideTensor("value", store.span("value")) };
  }

  /** The rows of a side that the cache holds, for kernels that copy them. */
  stored(side: Side, { store, appended }: Held = this.#held) {
    const { dtype } = store.form;
    return {
      span: store.span(side),
      strides: store.strides(side),
      dtype,
      firstScale: store.firstScale(side),
      firstMean: side === "key" ? store.firstMean() : undefined,
      /** The place of a row; undefined if the batch does not hold it. */
      placeOf: (batch: number, row: number) => placeOf(store.form, appended[batch]!, batch, row),
    };
  }

  /** If the cache is rotary, turns a layer's heads: keys to append, or queries. */
  turn(
    call: Call,
    heads: Rows,
    extents: readonly [batch: number, heads: number, length: number],
    tokens: readonly TurnedTokens[],
  ): Rows {
    if (!this.#problem.rotary) return heads;
    const rows = this.#packed(call, heads, extents);
    return { ...rows, span: this.#turned(call, rows.span, "BHSD", extents, tokens) };
  }

  /** Whether the cache turns as these angles do. Tables never count as alike. */
  turnsLike(angles: CheckedAngles): boolean {
    const { rotary } = this.#problem;
    return rotary !== undefined && sameAngles(rotary, angles, this.form.headDim);
  }

  /** By batch: where the angles of new tokens begin. */
  nextTokens(
    numTokens: number,
    lengths: Int32Array | undefined,
    positions: TokenPositions | undefined,
  ): TurnedTokens[] {
    return this.#ends().map((first, b) => {
      const given = positions && planesOfBatch(positions, b, numTokens);
      return { first, count: lengths?.[b] ?? numTokens, given };
    });
  }

  /** If the cache is rotary, turns queries. Those for the first keys of a ring may be turned by other positions. */
  turnQueries(
    call: Call,
    heads: Rows,
    extents: readonly [batch: number, heads: number, length: number],
    sequences: readonly Sequence[],
    positions: TokenPositions | undefined,
  ): CachedQueries {
    if (!this.#problem.rotary) return { rows: heads };
    const tokens = this.#queryTokens(sequences, positions);
    const kept = this.#keptTokens(sequences);
    if (!kept) return { rows: this.turn(call, heads, extents, tokens) };
    const rows = this.#packed(call, heads, extents);
    const bytes = PART_BYTES * divideUp(4 * extents[0] * rows.strides.batch, PART_BYTES);
    const room = call.room(2 * bytes);
    this.#turned(call, rows.span, "BHSD", extents, tokens, { ...room, bytes });
    this.#turned(call, rows.span, "BHSD", extents, kept, { ...room, offset: room.offset + bytes, bytes });
    return { rows: { ...rows, span: room }, keptQueries: bytes / 16 };
  }

  /** The places of queries in a ring, if its positions are places, and it has dropped tokens. */
  #keptTokens(sequences: readonly Sequence[], ring = this.form.ring): TurnedTokens[] | undefined {
    if (ring?.positions !== "cache" || ring.keepFirst === 0) return undefined;
    let differ = false;
    const tokens = sequences.map(({ offset, queryLength, numQueries, dropped, sight }, b) => {
      const given = Float64Array.from({ length: numQueries }, (_, i) => {
        const place = placeOfQuery({ ...ring, sight }, offset + i, dropped);
        differ ||= i < queryLength && place !== offset + i;
        return place + this.#held.origins[b]!;
      });
      return { first: 0, count: queryLength, given: [given] };
    });
    return differ ? tokens : undefined;
  }

  /** By batch: where the angles of queries begin. */
  #queryTokens(sequences: readonly Sequence[], positions: TokenPositions | undefined): TurnedTokens[] {
    return sequences.map(({ offset, queryLength, numQueries }, b) => ({
      first: offset + this.#held.origins[b]!,
      count: queryLength,
      given: positions && planesOfBatch(positions, b, numQueries),
    }));
  }

  rewind(operation: string, lengths: Int32Array): void {
    lengths.forEach((length, b) => {
      if (!this.#canRewind(b, this.#held.appended[b]!, length))
        throw new OptionError(
          `${operation}: batch ${b} of a ring has dropped tokens that it would hold at length ${length}`,
        );
    });
    const hasGivenPositions = this.#held.hasGivenPositions && lengths.some((length) => length > 0);
    this.#held = { ...this.#held, appended: [...lengths], hasGivenPositions };
  }

  /** Lists the copies of the batches into a new store. The old one is as before if the call fails. */
  select(call: Call, indices: Int32Array): Deliver<void> {
    this.#assertHere(call);
    const before = this.#held;
    if (indices.every((batch, b) => batch === b)) return () => undefined;
    const selected = (numbers: readonly number[]) => Array.from(indices, (batch) => numbers[batch]!);
    const [appended, origins] = [selected(before.appended), selected(before.origins)];
    const store = this.#newStore(call, before.store.places);
    indices.forEach((batch, b) => {
      const runs = placesOf(before.store, appended[b]!);
      before.store.copyTo(call, store, batch, runs, runs, b);
    });
    return this.#becomes({ ...before, store, appended, origins });
  }

  /**
   * Lists the copies of the tokens that stay into a new store, and the kernels that turn those keys of a rotary cache
   * that move. The old store is as before if the call fails. No batch that becomes shorter is of a ring that has dropped
   * tokens.
   */
  keep(call: Call, tokens: KeptTokens): Deliver<void> {
    this.#assertHere(call);
    const before = this.#held;
    const branches = branchesOf(tokens);
    const turns = this.form.rotary && !before.hasGivenPositions;
    const appended = branches.map(({ length }) => length);
    const origins = before.origins.map((origin, b) => origin + (this.form.rotary ? branches[b]!.originShift : 0));
    if (!branches.some(({ moves }) => moves)) return this.#becomes({ ...before, appended });
    const store = this.#newStore(call, before.store.places);
    branches.forEach((branch, b) => {
      const isWhole = branch.length === before.appended[b]!;
      const runs = isWhole ? placesOf(before.store, branch.length) : branch.runs;
      before.store.copyTo(call, store, b, runs, isWhole ? runs : [{ place: 0, count: branch.length }]);
    });
    if (turns) this.#turnMoved(call, branches, store);
    return this.#becomes({ ...before, store, appended, origins });
  }

  /** Replaces the keys of the tokens that have moved, which are in `store`, by turned ones. */
  #turnMoved(call: Call, branches: readonly Branch[], store: CacheStore): void {
    const { batchSize, numKvHeads, headDim } = this.form;
    const first = branches.map(({ firstTurned }) => firstTurned);
    const gains = branches.map(({ rows }, b) => rows.length - first[b]!);
    const most = largestOf(gains);
    if (most === 0) return;
    if (this.#problem.rotary!.tables)
      throw new UnsupportedError(
        `${call.operation}: keys that were turned by tables of cos and sin cannot be turned to other positions`,
        { hint: "Keep the first tokens only, or give frequencies." },
      );
    const strides = stridesOf("BHSD", numKvHeads, most, padded(headDim));
    const moved = { span: call.room(4 * batchSize * strides.batch), dtype: "float32" as const, strides };
    const starts = branches.map(({ from }, b) => from + first[b]!);
    const rows = gains.flatMap((count, b) => Array.from({ length: count }, (_, n) => [b, starts[b]! + n, n]).flat());
    const heads = Array.from({ length: numKvHeads }, (_, h) => [h, h]).flat();
    const from = { span: store.span("key"), strides: store.strides("key"), dtype: this.form.dtype };
    const numbers = { firstScale: store.firstScale("key"), firstMean: store.firstMean() };
    moveRows(call, { ...from, ...numbers }, moved, { rows, heads }, headDim);
    const turns = branches.map((branch, b) =>
      Array.from({ length: most }, (_, n) => (n < gains[b]! ? branch.originShift - branch.shift(first[b]! + n) : 0)),
    );
    const turned = this.#turnedBy(call, moved.span, turns);
    storeRows(call, store, "key", { ...moved, span: turned }, most, starts, gains);
  }

  /**
   * Turns rows [B, H, S, width] by turns[b][s] positions. They have been turned before, and their amplitude stays.
   */
  #turnedBy(call: Call, rows: Span, turns: readonly (readonly number[])[]): Span {
    const { batchSize, numKvHeads, headDim } = this.form;
    const length = turns[0]!.length;
    const angles = withoutAmplitude(this.#problem.rotary!);
    // If a batch turns by one number, all its rows count as heads of one token: they share a row of angles.
    const isOne = turns.every((batch) => batch.every((turn) => turn === batch[0] || turn === 0));
    const extents = isOne ? ([batchSize, numKvHeads * length, 1] as const) : ([batchSize, numKvHeads, length] as const);
    const positions = Float64Array.from(isOne ? turns.map((batch) => batch[0]!) : turns.flat());
    return turnRows(call, rows, angles, headDim, "BHSD", extents, [positions]);
  }

  /** A store for this call, which frees it if it fails. */
  #newStore(call: Call, places: number): CacheStore {
    const store = storeFor(call, this.#problem, places);
    this.#replaceStore(call, this.#held, store);
    return store;
  }

  /** What the cache holds after the call has succeeded. */
  #becomes(after: Held): Deliver<void> {
    return () => {
      this.#held = after;
    };
  }

  /** Shares the memory until one of the two caches writes. */
  fork(core: GpuCore, operation: string): GpuCache {
    this.#assertOn(core, operation);
    return new GpuCache(core, this.#problem, { ...this.#held, store: this.#held.store.share() });
  }

  slice(call: Call, from: number, to: number): Deliver<GpuCache> {
    this.#assertHere(call);
    const { store, appended } = this.#held;
    const ranges = appended.map((total, b) => {
      const length = heldLength(this.form, total, b);
      return { begin: Math.min(from, length), end: Math.min(to, length) };
    });
    const counts = ranges.map(({ begin, end }) => end - begin);
    // The next token follows the last row, in the new row numbers and in the angles.
    const origins = this.#held.origins.map((origin, b) =>
      this.#problem.rotary ? origin + this.#endPosition(b, ranges[b]!.end) - counts[b]! : 0,
    );
    const copy = storeFor(call, this.#problem, largestOf(counts));
    call.onFailure(() => copy.release());
    ranges.forEach(({ begin, end }, b) =>
      store.copyTo(call, copy, b, runsOf(this.form, appended[b]!, b, begin, end), [{ place: 0, count: counts[b]! }]),
    );
    return () => new GpuCache(call.core, this.#problem, { ...this.#held, store: copy, appended: counts, origins });
  }

  save(call: Call): Deliver<Uint8Array> {
    this.#assertHere(call);
    const { store, appended, origins, hasGivenPositions } = this.#held;
    const [key, value] = [call.view(store.span("key")), call.view(store.span("value"))];
    return (mapped) => {
      const rows = new Uint8Array(savedBytes(this.form, appended));
      fillFile(store, appended, { key: key(mapped), value: value(mapped) }, rows);
      return writeCache({ problem: this.#problem, appended, origins, hasGivenPositions, rows });
    };
  }

  release(): void {
    this.#held.store.release();
  }

  /** By batch: the position of the next token's angle. */
  #ends(): number[] {
    return this.#held.appended.map((total, b) => total + this.#held.origins[b]!);
  }

  #endPosition(b: number, row: number): number {
    const kept = this.form.ring?.keepFirst ?? 0;
    return row > kept ? row + droppedTokens(this.form, this.#held.appended[b]!, b) : row;
  }

  /** Rows of keys or queries as float32 [B, H, S, width padded to whole vec4]. */
  #packed(
    call: Call,
    { span, dtype, strides }: Rows,
    extents: readonly [batch: number, heads: number, length: number],
  ): Rows {
    const [, heads, length] = extents;
    const { headDim } = this.form;
    return {
      span: packRows(call, span, dtype, strides, [...extents, headDim]),
      dtype: "float32",
      strides: stridesOf("BHSD", heads, length, padded(headDim)),
    };
  }

  /** Turns row i of batch b by the angle of position tokens[b].first + i, or of the given one. */
  #turned(
    call: Call,
    rows: Span,
    layout: "BHSD" | "BSHD",
    extents: readonly [batch: number, heads: number, length: number],
    tokens: readonly TurnedTokens[],
    turned?: Span,
  ): Span {
    const [batchSize, , length] = extents;
    for (const { first, count, given } of tokens)
      for (const plane of count > 0 ? (given ?? [undefined]) : [])
        checkTableRows(call.operation, this.#problem.rotary!, plane?.subarray(0, count) ?? [first, first + count - 1]);
    const planes = Array.from({ length: tokens[0]?.given?.length ?? 1 }, (_, plane) =>
      Float64Array.from({ length: batchSize * length }, (__, n) => {
        const { first, given } = tokens[Math.floor(n / length)]!;
        return given ? given[plane]![n % length]! : first + (n % length);
      }),
    );
    return turnRows(call, rows, this.#problem.rotary!, this.form.headDim, layout, extents, planes, turned);
  }

  #checkRoom(operation: string, gains: readonly number[]): void {
    const most = this.form.ring ? MOST_TOKENS : Math.min(this.form.capacity ?? MOST_TOKENS, MOST_TOKENS);
    gains.forEach((gain, b) => {
      const total = this.#held.appended[b]!;
      if (total + gain > most)
        throw new ShapeError(`${operation}: batch ${b} holds ${total} of at most ${most} tokens: no room for ${gain}`);
    });
  }

  /**
   * A store with at least `places` places that no fork shares: the present store, or a copy of it that replaces it.
   *
   * @param isCopy - Whether it must be a copy.
   */
  #writable(call: Call, places: number, isCopy: boolean): CacheStore {
    const { store, appended } = this.#held;
    if (!isCopy && !store.isShared && places <= store.places) return store;
    const roomy = places <= store.places ? places : Math.min(Math.max(places, 2 * store.places), mostPlaces(this.form));
    const copy = this.#newStore(call, Math.max(roomy, store.places));
    appended.forEach((total, b) => {
      const runs = placesOf(store, total);
      store.copyTo(call, copy, b, runs, runs);
    });
    return copy;
  }

  /** The old memory of a cache that has grown is freed with the success of the call. After a failure it is used again. */
  #replaceStore(call: Call, before: Held, store: CacheStore): void {
    let ended = false;
    const once = (work: () => void) => () => {
      if (!ended) work();
      ended = true;
    };
    call.onSuccess(once(() => before.store.release()));
    call.onFailure(
      once(() => {
        this.#held = before;
        store.release();
      }),
    );
  }

  /**
   * Removes the tokens of a failed call and those that were appended after them, unless a ring has dropped other tokens
   * for them, or the tokens have moved since: then there are other origins.
   */
  #rewindTo(before: Held): void {
    if (this.#held.origins !== before.origins) return;
    const { appended, hasGivenPositions } = before;
    if (this.#held.appended.every((total, b) => this.#canRewind(b, total, appended[b]!)))
      this.#held = { ...this.#held, appended, hasGivenPositions };
  }

  #canRewind(b: number, total: number, length: number): boolean {
    const dropped = (tokens: number) => droppedTokens(this.form, tokens, b);
    const kept = this.form.ring?.keepFirst ?? 0;
    return length <= kept || length >= total || dropped(length) === dropped(total);
  }

  #assertHere({ core, operation }: Call): void {
    this.#assertOn(core, operation);
  }

  #assertOn({ device }: GpuCore, operation: string): void {
    if (device.gpuDevice !== this.#device)
      throw new DeviceLostError(`${operation}: the cache was lost with its GPU device`, {
        hint: "Make a new cache and append the tokens again.",
      });
  }
}

/** Most places that a batch can use. */
function mostPlaces({ ring, capacity }: Pick<CacheForm, "ring" | "capacity">): number {
  return ring ? ring.keepFirst + ring.window : (capacity ?? Infinity);
}

/** The places of the batch that uses most of them, after `appended` tokens of each. */
function placesFor(form: Pick<CacheForm, "ring" | "capacity">, appended: readonly number[]): number {
  return Math.min(largestOf(appended), mostPlaces(form));
}

/** The places that a batch uses after `total` tokens were appended, in the order of the places. */
function placesOf(store: CacheStore, total: number): Run[] {
  const count = Math.min(total, store.places);
  return count > 0 ? [{ place: 0, count }] : [];
}

/** A store with `places` places, but with at least `first`. */
function storeFor(call: Call, problem: CacheProblem, places: number, first = FIRST_PLACES): CacheStore {
  const form = formOf(problem);
  const enough = Math.max(places, Math.min(first, mostPlaces(form)));
  return new CacheStore(call.core, call.operation, form, enough);
}

/** The form alone: it is also sent from a worker, which cannot send all of a problem. */
function formOf({ batchSize, numKvHeads, headDim, valueDim, dtype, capacity, ring, rotary }: CacheProblem): CacheForm {
  const turns = { rotary: rotary !== undefined, sections: rotary?.sections !== undefined };
  return { batchSize, numKvHeads, headDim, valueDim, dtype, capacity, ring, ...turns };
}

/** Where the tokens of a batch stand, plane by plane. */
function planesOfBatch({ data, planes }: TokenPositions, b: number, length: number): Int32Array[] {
  const size = data.length / planes;
  return Array.from({ length: planes }, (_, n) => data.subarray(n * size + b * length, n * size + (b + 1) * length));
}
