import type { AttentionProblem } from "../attention/attentionProblem.js";
import type { PlacedOutput, PlacedResult } from "../attention/attentionResult.js";
import type { AttentionShape } from "../attention/attentionShape.js";
import { masks, refuseOverlap } from "../attention/overlap.js";
import type { Ragged } from "../attention/ragged.js";
import { selectedExtents, type Selection, type Wanted } from "../attention/returns.js";
import { assertIntact } from "../base/intact.js";
import type { OutputForm } from "../read/outputForm.js";
import { asHalves, elementCount, inMemory, type TypedTensor } from "../tensor/tensor.js";
import type { Eventually } from "../turn/context.js";
import type { WasmCore } from "./core.js";
import type { Arena, Heap, Room } from "./heap.js";
import { DTYPE, LAYOUT, placeInput } from "./inputs.js";
import type { AttentionCall, InputCopy } from "./module.js";
import { writeSettings } from "./settings.js";

/** The enumerators of attention.h. */
const STAGE = { raw: 0, softcapped: 1, biased: 2, formula: 3 } as const;

/** Reads a result after the call. Its shape [B, H, …] gets the rank of the inputs. */
type Collect<T> = () => T;

export function runAttention(core: WasmCore, problem: AttentionProblem): Eventually<PlacedResult> {
  const { operation, query, key, value, settings, output } = problem;
  refuseOverlap(operation, output, { query, key, value, ...masks(settings) });
  return core.call(operation, (arena) => {
    const call = core.struct("AttentionCall");
    call.reset();
    const meanwhile: InputCopy[] | undefined = core.copiesMeanwhile ? [] : undefined;
    writeInputs(call, arena, problem, meanwhile);
    const collect = writeWanted(call, core.heap, arena, problem);
    if (meanwhile) attendMeanwhile(core, call, arena, meanwhile);
    else core.native.attention(call);
    return collect;
  });
}

/** Starts attention. Its inputs are copied, and the arrays of its results made, while other threads begin. */
function attendMeanwhile(core: WasmCore, call: AttentionCall, arena: Arena, meanwhile: readonly InputCopy[]): void {
  core.module.meanwhile = meanwhile;
  core.module.makeResults = () => arena.makeResults();
  core.native.attention(call);
  core.module.meanwhile = core.module.makeResults = undefined;
}

type Inputs = Pick<
  AttentionProblem,
  "shape" | "layout" | "kvLayout" | "query" | "key" | "value" | "settings" | "ragged"
>;

/** One property after the other: Object.assign took four times as long. */
export function writeShape(call: AttentionCall, shape: AttentionShape): void {
  call.batchSize = shape.batchSize;
  call.numHeads = shape.numHeads;
  call.numKvHeads = shape.numKvHeads;
  call.queryLength = shape.queryLength;
  call.keyLength = shape.keyLength;
  call.headDim = shape.headDim;
  call.valueDim = shape.valueDim;
}

/** Writes everything that a call reads. Queries, keys and values are copied now or `meanwhile`. */
export function writeInputs(call: AttentionCall, arena: Room, inputs: Inputs, meanwhile?: InputCopy[]): void {
  const { shape, layout, kvLayout, query, key, value, settings, ragged } = inputs;
  writeShape(call, shape);
  call.layout = LAYOUT[layout];
  call.kvLayout = LAYOUT[kvLayout];
  call.query = placeInput(arena, query, meanwhile);
  call.queryDtype = DTYPE[query.dtype];
  writeKeysAndValues(call, arena, { key, value }, meanwhile);
  writeSettings(call, arena, settings);
  if (ragged) writeRagged(call, arena, ragged);
}

export function writeKeysAndValues(
  call: Pick<AttentionCall, "key" | "keyDtype" | "value" | "valueDtype">,
  arena: Room,
  { key, value }: Pick<AttentionProblem, "key" | "value">,
  meanwhile?: InputCopy[],
): void {
  call.key = placeInput(arena, key, meanwhile);
  call.keyDtype = DTYPE[key.dtype];
  call.value = value === key ? call.key : placeInput(arena, value, meanwhile);
  call.valueDtype = DTYPE[value.dtype];
}

export function writeRagged(call: AttentionCall, arena: Room, ragged: Ragged): void {
  call.cuSeqLensQuery = arena.copy(ragged.query);
  call.cuSeqLensKey = arena.copy(ragged.key);
  call.numSequences = ragged.query.length - 1;
}

/** The part of a problem that describes the results. */
export interface ResultForm {
  readonly operation: string;
  readonly shape: AttentionShape;
  readonly wanted: Wanted;
  readonly output: OutputForm;
  readonly keepRank: (shape: readonly number[]) => number[];
}

/** Makes room for the wanted results. The returned function reads them after the call. */
export function writeWanted(call: AttentionCall, heap: Heap, arena: Room, form: ResultForm): Collect<PlacedResult> {
  const { wanted, shape, keepRank } = form;
  const { batchSize, numHeads, queryLength, keyLength } = shape;
  const results: Partial<Record<keyof PlacedResult, Collect<unknown>>> = {};

  const room = <D extends "float32" | "int32">(dtype: D, full: readonly number[]) => {
    const length = elementCount(form.operation, "result", full);
    const result = arena.result(dtype, length);
    const collect = (): TypedTensor<D> => ({ data: result.collect(), shape: keepRank(full), dtype });
    return { address: result.address, collect };
  };
  const place = (name: "lse" | "entropy" | "probs" | "scores", full: readonly number[]) => {
    const { address, collect } = room("float32", full);
    call[name] = address;
    results[name] = collect;
  };
  const placeWeights = (name: "probs" | "scores", selection: Selection) => {
    place(name, [batchSize, ...selectedExtents(selection, shape), keyLength]);
    writeSelection(call, arena, name, selection);
  };
  if (wanted.probs || wanted.scores) call.keyRoom = keyLength;
  if (wanted.output) results.output = writeOutput(call, heap, arena, form);
  for (const name of ["lse", "entropy"] as const) if (wanted[name]) place(name, [batchSize, numHeads, queryLength]);
  if (wanted.probs) {
    placeWeights("probs", wanted.probs);
    call.probsAverage = Number(wanted.probs.average);
  }
  if (wanted.scores) {
    placeWeights("scores", wanted.scores.selection);
    call.scoresStage = STAGE[wanted.scores.stage];
  }
  if (wanted.topK) {
    const { k, selection } = wanted.topK;
    const full = [batchSize, ...selectedExtents(selection, shape), k];
    const values = room("float32", full);
    const indices = room("int32", full);
    call.topK = k;
    call.topKValues = values.address;
    call.topKIndices = indices.address;
    writeSelection(call, arena, "topK", selection);
    call.topKAverage = Number(selection.average);
    results.topK = () => ({ values: values.collect(), indices: indices.collect() });
  }
  return () => {
    const collected: Partial<Record<keyof PlacedResult, unknown>> = {};
    for (const name of Object.keys(results) as (keyof PlacedResult)[]) collected[name] = results[name]!();
    return collected as unknown as PlacedResult;
  };
}

/** An absent list means all, and is a null pointer. An empty list has an address. */
function writeSelection(
  call: AttentionCall,
  arena: Room,
  result: "probs" | "scores" | "topK",
  { heads, queries }: Selection,
): void {
  call[`${result}Heads`] = arena.copy(heads);
  call[`${result}NumHeads`] = heads?.length ?? 0;
  call[`${result}Queries`] = arena.copy(queries);
  call[`${result}NumQueries`] = queries?.length ?? 0;
}

function writeOutput(call: AttentionCall, heap: Heap, arena: Room, form: ResultForm): Collect<PlacedOutput> {
  const placed = placeOutput(heap, arena, form.operation, form.output);
  call.output = placed.address;
  call.outputDtype = DTYPE[form.output.dtype];
  return placed.collect;
}

/** Makes room for an output, or takes the place of `into` if that lies in the engine. */
export function placeOutput(
  heap: Heap,
  arena: Room,
  operation: string,
  { shape, dtype, half, into }: OutputForm,
): { readonly address: number; readonly collect: Collect<PlacedOutput> } {
  const place = into && inMemory(into.place);
  if (place?.address !== undefined) return { address: place.address, collect: () => into!.tensor };
  const length = elementCount(operation, "output", shape);
  if (place) {
    const address = arena.room(dtype, length);
    const collect = () => {
      assertIntact(operation, "into", place.data);
      heap.readInto(address, place.data);
      return into.tensor;
    };
    return { address, collect };
  }
  const result = arena.result(dtype, length);
  const collect = () => {
    const data = result.collect();
    return { data: half ? asHalves(data as Uint16Array) : data, shape: [...shape], dtype };
  };
  return { address: result.address, collect };
}
