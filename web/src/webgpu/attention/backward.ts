import type { PlacedGradients } from "../../attention/backwardProblem.js";
import type { ResultTensor } from "../../attention/attentionResult.js";
import { product } from "../../tensor/product.js";
import { elementCount } from "../../tensor/tensor.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { placesOf } from "../formula/formulaWords.js";
import { tablesOf } from "../plan/attentionParams.js";
import {
  cleanStep,
  plannedBackward,
  ROW_WORD_BYTES,
  type BackwardCall,
  type PairPass,
  type PartsPass,
  type PlannedBackward,
} from "../plan/backward.js";
import type { Step } from "../plan/flatKernels.js";
import { resolveSequences } from "../plan/sequences.js";
import { stridesOf, type Strides } from "../plan/strides.js";
import { emptyRowCheck } from "./emptyRows.js";
import { hand } from "./result.js";

/** Where a gradient of heads is written: from element `first` of a span on, by its strides. */
export interface GradientTarget {
  readonly span: Span;
  readonly first: number;
  readonly strides: Strides;
}

type Heads = "dQuery" | "dKey" | "dValue";
const HEADS: readonly Heads[] = ["dQuery", "dKey", "dValue"];

/** Where the gradients of heads go that are wanted. */
export type GradientTargets = Partial<Record<Heads, GradientTarget>>;

/** Lists the commands of a call. */
export function recordBackward(call: Call, problem: BackwardCall): Deliver<PlacedGradients> {
  const sequences = resolveSequences(problem.shape, problem.settings, problem.ragged);
  const planned = plannedBackward(problem, sequences, call.core.device.capabilities);
  const { targets, collect } = ownTargets(call, problem);
  const rest = backwardOn(call, planned, targets);
  const results = collect();
  return (mapped) => {
    const others = rest(mapped);
    return { ...deliverAll(results, mapped), ...others };
  };
}

/** Results by name, as the engine gives them. */
type Delivers = Readonly<Record<string, Deliver<ResultTensor<"float32">>>>;

function deliverAll(results: Delivers, mapped: ArrayBuffer): Record<string, ResultTensor<"float32">> {
  return Object.fromEntries(Object.entries(results).map(([name, read]) => [name, read(mapped)]));
}

/**
 * Room for the gradients of heads. dKey and dValue lie side by side, because one kernel writes both; on the GPU they are
 * copied to buffers of their own. `collect` lists that after the kernels.
 */
function ownTargets(
  call: Call,
  problem: BackwardCall,
): { readonly targets: GradientTargets; readonly collect: () => Delivers } {
  const { layout, kvLayout, shape, wanted, location } = problem;
  const { numHeads, numKvHeads, queryLength, keyLength, headDim, valueDim } = shape;
  const forms = {
    dQuery: { tensor: problem.query, strides: stridesOf(layout, numHeads, queryLength, headDim) },
    dKey: { tensor: problem.key, strides: stridesOf(kvLayout, numKvHeads, keyLength, headDim) },
    dValue: { tensor: problem.value, strides: stridesOf(kvLayout, numKvHeads, keyLength, valueDim) },
  };
  const count = (name: Heads) => elementCount(call.operation, name, forms[name].tensor.shape);
  const isShared = wanted.dKey && wanted.dValue;
  const shared = isShared ? call.room(4 * (count("dKey") + count("dValue"))) : undefined;
  const targets: GradientTargets = Object.fromEntries(
    HEADS.filter((name) => wanted[name]).map((name): [Heads, GradientTarget] => {
      const { strides } = forms[name];
      if (!shared || name === "dQuery")
        return [name, { span: call.resultRoom(4 * count(name), location), first: 0, strides }];
      return [name, { span: shared, first: name === "dKey" ? 0 : count("dKey"), strides }];
    }),
  );
  const collect = () =>
    Object.fromEntries(
      (Object.entries(targets) as [Heads, GradientTarget][]).map(([name, { span, first }]) => {
        const bytes = 4 * count(name);
        const part = { buffer: span.buffer, offset: span.offset + 4 * first, bytes };
        const own = span === shared && location === "gpu" ? call.resultRoom(bytes, location) : part;
        if (own !== part) call.copyOut(part, own);
        return [name, hand(call, own, forms[name].tensor.shape, "float32", location)];
      }),
    );
  return { targets, collect };
}

/**
 * Lists the kernels of a planned call. The gradients of heads are written to `targets`, all features of every row. The
 * returned function delivers the other gradients that are wanted. It throws if a row sees no key and the call forbids
 * that.
 */
export function backwardOn(
  call: Call,
  planned: PlannedBackward,
  targets: GradientTargets,
): Deliver<Omit<PlacedGradients, Heads>> {
  const { problem, plan, sequences, params, formulaWords } = planned;
  const { mask, bias } = problem.settings;
  const rows = preparedRows(call, planned);
  const inputs = {
    1: cleanRows(call, planned, "query", params.query_scale),
    2: cleanRows(call, planned, "key", 1),
    3: cleanRows(call, planned, "value", 1),
    ...(mask && { 4: call.place(mask.tensor) }),
    ...(bias && { 5: call.place(bias.tensor) }),
    6: call.table(tablesOf(problem, sequences, formulaWords)),
    9: rows,
  };
  const dispatch = ({ kernel, workgroups, blocks }: PairPass, others: Inputs, isCertain = true) => {
    const numbers = (start: number, count: number) => call.params({ ...params, value_blocks: blocks }, count, start);
    const given = { ...inputs, ...others };
    call.dispatchLong(kernel, workgroups, blocks * pairWork(problem), numbers, given, isCertain);
  };
  const run = (pass: PairPass, written: GradientTargets) => {
    const [first] = Object.values(written);
    dispatch(pass, {
      ...(first && { 10: first.span }),
      11: call.numbers(targetNumbers(problem, written), pass.workgroups),
    });
  };
  dispatch(plan.lse, {}, false); // a tile without rows whose lse is far from 0 does nothing
  const { dQuery, dKey, dValue } = targets;
  if (plan.queries) run(plan.queries, { ...(dQuery && { dQuery }) });
  if (plan.keys)
    for (const together of sameSpan({ ...(dKey && { dKey }), ...(dValue && { dValue }) })) run(plan.keys, together);
  const checkRows = problem.settings.emptyRows === "throw" ? emptyRowCheck(call, planned, rowWords(planned, rows), undefined, ROW_FLAGS) : undefined; // oxfmt-ignore
  const others = { ...headGradients(call, planned, rows), ...biasGradient(call, planned, inputs) };
  const tables = tableGradients(call, planned, inputs);
  return (mapped) => {
    checkRows?.(mapped);
    return { ...deliverAll(others, mapped), ...(tables && { dTables: deliverAll(tables, mapped) }) };
  };
}

/** The multiply-adds of a pass over all pairs of rows and keys: two products and one or two sums. */
function pairWork({ shape }: BackwardCall): number {
  const { batchSize, numHeads, queryLength, keyLength, headDim, valueDim } = shape;
  return batchSize * numHeads * queryLength * keyLength * 2 * (headDim + valueDim);
}

/** The flags among the words of a row. */
const ROW_FLAGS = { count: ROW_WORD_BYTES / 4, flags: 4 };

function rowWords({ problem: { shape } }: PlannedBackward, { buffer, offset }: Span): Span {
  return { buffer, offset, bytes: ROW_WORD_BYTES * shape.batchSize * shape.numHeads * shape.queryLength };
}

/** Packs rows of heads, times a factor. What is not finite becomes 0 and is marked. */
function cleanRows(
  call: Call,
  { problem, strides }: PlannedBackward,
  name: "query" | "key" | "value",
  factor: number,
): Span {
  const tensor = problem[name];
  const { given, extents } = strides[name];
  const [batchSize, heads, length, width] = extents;
  const width4 = Math.ceil(width / 4);
  const rows = batchSize * heads * length;
  const packed = call.room(16 * rows * (width4 + 1));
  const { kernel, workgroups } = cleanStep(tensor.dtype, rows);
  const { batch, head, position, feature } = given;
  const factorBits = new Uint32Array(Float32Array.of(factor).buffer)[0]!;
  call.dispatch(kernel, workgroups, {
    0: call.numbers([batch, head, position, feature, heads, length, width, width4, rows, factorBits], workgroups),
    1: call.place(tensor),
    2: packed,
  });
  return packed;
}

/** Packs dO, and computes what every kernel needs of a row. */
function preparedRows(call: Call, { problem, plan }: PlannedBackward): Span {
  const { output, dOutput, dLse, lse, layout, shape } = problem;
  const { batchSize, numHeads, queryLength, valueDim } = shape;
  const { batch, head, position, feature } = stridesOf(layout, numHeads, queryLength, valueDim);
  const rows = call.room(plan.rowBytes);
  const { kernel, workgroups } = plan.rows;
  const numRows = batchSize * numHeads * queryLength;
  const extents = [numHeads, queryLength, valueDim, Math.ceil(valueDim / 4), numRows];
  call.dispatch(kernel, workgroups, {
    0: call.numbers([batch, head, position, feature, ...extents], workgroups),
    1: call.place(output),
    2: call.place(dOutput),
    3: call.place(lse),
    4: rows,
    ...(dLse && { 5: call.place(dLse) }),
  });
  return rows;
}

/** Targets that one dispatch can write, because they lie in one span. */
function sameSpan({ dKey, dValue }: GradientTargets): GradientTargets[] {
  const isOne = dKey && dValue && dKey.span.buffer === dValue.span.buffer && dKey.span.offset === dValue.span.offset;
  if (isOne) return [{ dKey, dValue }];
  return [...(dKey ? [{ dKey }] : []), ...(dValue ? [{ dValue }] : [])];
}

const WANTS: Readonly<Record<Heads, number>> = { dQuery: 1, dKey: 2, dValue: 4 };

/** `Targets` of backward_targets.wgsl. A target has 32 bytes there. */
function targetNumbers({ shape }: BackwardCall, targets: GradientTargets): number[] {
  const wanted = HEADS.reduce((bits, name) => bits | (targets[name] ? WANTS[name] : 0), 0);
  const places = HEADS.flatMap((name) => {
    const target = targets[name];
    if (!target) return [0, 0, 0, 0, 0, 0, 0, 0];
    const { batch, head, position, feature } = target.strides;
    return [target.first, batch, head, position, feature, 0, 0, 0];
  });
  return [...places, shape.headDim, wanted];
}

/** dSinks, dHeadGain and dAlibiSlopes. */
function headGradients(call: Call, planned: PlannedBackward, rows: Span): Delivers {
  const { problem, plan, sequences, params, formulaWords } = planned;
  if (!plan.heads) return {};
  const { numHeads } = problem.shape;
  const names = ["dSinks", "dHeadGain", "dAlibiSlopes"] as const;
  const all = call.room(4 * names.length * numHeads);
  const { kernel, workgroups } = plan.heads;
  call.dispatch(kernel, workgroups, {
    0: call.params(params, workgroups),
    6: call.table(tablesOf(problem, sequences, formulaWords)),
    9: rows,
    10: all,
  });
  const wanted = names.filter((name) => problem.wanted[name]);
  return Object.fromEntries(
    wanted.map((name) => [name, handPart(call, planned, all, names.indexOf(name) * numHeads, [numHeads])]),
  );
}

/** The inputs of kernels, by their bindings. */
type Inputs = Readonly<Record<number, Span>>;

function biasGradient(call: Call, { problem, plan, params }: PlannedBackward, inputs: Inputs): Delivers {
  const { bias } = problem.settings;
  if (!plan.bias || !bias) return {};
  const { kernel, workgroups, parts, count, sum, repeats } = plan.bias;
  const dBias = call.resultRoom(4 * count, problem.location);
  const target = sum ? call.room(4 * parts * count) : dBias;
  const numbersOf = (first: number, some: number) => call.params(params, some, first);
  call.dispatchLong(kernel, workgroups, pairWork(problem), numbersOf, {
    ...inputs,
    10: target,
    11: call.numbers(repeats, workgroups),
  });
  if (sum) addParts(call, plan.bias, sum, target, dBias);
  return {
    dBias: hand(call, { ...dBias, bytes: 4 * count }, bias.tensor.shape, "float32", problem.location),
  };
}

/** Adds the parts of a result. */
function addParts(call: Call, { parts, count }: PartsPass, { kernel, workgroups }: Step, from: Span, to: Span): void {
  call.dispatch(kernel, workgroups, { 0: call.numbers([count, parts, count], workgroups), 1: from, 2: to });
}

/** The gradients of the score's parameters, by their names. */
function tableGradients(call: Call, planned: PlannedBackward, inputs: Inputs): Delivers | undefined {
  const { problem, plan, params, formulaWords } = planned;
  const { score, visible } = problem.settings;
  if (!plan.tables || !score) return undefined;
  const { kernel, workgroups, parts, count, sum, rowTiles } = plan.tables;
  const each = call.room(4 * parts * count);
  call.clear(each);
  const own = { ...params, row_tiles: rowTiles, value_blocks: 1, row_stride: count, row_count: workgroups };
  const numbers = (first: number, some: number) => call.params(own, some, first);
  call.dispatchLong(kernel, workgroups, pairWork(problem), numbers, { ...inputs, 10: each });
  const all = sum ? call.room(4 * count) : each;
  if (sum) addParts(call, plan.tables, sum, each, all);
  const { words } = placesOf(score.graph.parameters, placesOf(visible?.graph.parameters ?? []).end);
  const integers = new Uint32Array(formulaWords.buffer);
  return Object.fromEntries(
    score.graph.parameters.map(({ name }, slot) => {
      const value = score.values[slot]!;
      const isNumber = typeof value === "number";
      const first = isNumber ? words[slot]! : integers[words[slot]!]!;
      return [name, handPart(call, planned, all, first, isNumber ? [] : value.extents)];
    }),
  );
}

/** Gives a part of an array to the caller, from element `first` on. */
function handPart(
  call: Call,
  { problem: { location } }: PlannedBackward,
  { buffer, offset }: Span,
  first: number,
  shape: readonly number[],
): Deliver<ResultTensor<"float32">> {
  const bytes = 4 * product(shape);
  const part = { buffer, offset: offset + 4 * first, bytes };
  const own = location === "gpu" ? call.resultRoom(bytes, location) : part;
  if (own !== part) call.copyOut(part, own);
  return hand(call, own, shape, "float32", location);
}
