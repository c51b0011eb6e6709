/** Every check of a suite on one engine. */

import type { CaseGradient } from "../reference/caseTable.js";
import { referenceAttention, type ReferenceResult } from "../reference/reference.js";
import { referenceBackward } from "../reference/referenceBackward.js";
import type { OnnxCase } from "../reference/onnxTensors.js";
import { callOf, exchanged, referenceOptions, type Call, type Output, type Row } from "./call.js";
import type { Engine } from "./engine.js";
import { categoryOf, needsOf, type Category, type Needs, type Offered } from "./features.js";
import { judge, judgeTopK, worst, type Judgement, type Numbers } from "./judge.js";
import { inputsOf, judgeOnnx } from "./onnx.js";
import { openPoisonedRows } from "./poison.js";

export interface Check extends Judgement {
  readonly name: string;
  readonly category: Category;
}

export interface Suite {
  readonly rows: readonly Row[];
  /** Empty where the published cases are not on this machine. */
  readonly onnx: readonly OnnxCase[];
}

/** Gradients of calls with more multiplications than this are left out. */
const MOST_GRADIENT_WORK = 2e6;

export async function measure(engine: Engine, { rows, onnx }: Suite, say: (check: Check) => unknown): Promise<void> {
  const report = (check: Check, needs?: Needs) => say(asPromised(engine, check, needs));
  for (const row of rows) {
    const needs = needsOf(row);
    const call = withPolicy(callOf(row), engine, needs);
    const { poison: _, ...clean } = row;
    const reference = referenceOf(withPolicy(callOf(clean), engine, needs));
    const heading = categoryOf(needs, hasEmptyRows(reference, call));
    for (const check of await forwardChecks(engine, row, { call, needs, reference, heading }))
      await report(check, needs);
    if (row.poison || row.formula || workOf(call) > MOST_GRADIENT_WORK) continue;
    for (const check of await gradientChecks(engine, { call, needs, reference, heading })) await report(check, needs);
  }
  for (const example of onnx) if (example.op === "Attention") await report(await onnxCheck(engine, example));
}

/** So many rows of each heading, spread over them: for engines on a software adapter, which take seconds for a row. */
export function few(rows: readonly Row[], count: number): Row[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const heading = headingOf(row);
    groups.set(heading, [...(groups.get(heading) ?? []), row]);
  }
  return [...groups.values()].flatMap((group) =>
    group.filter((_, k) => Math.floor((k * count) / group.length) !== Math.floor(((k - 1) * count) / group.length)),
  );
}

function headingOf(row: Row): Category {
  if (row.poison) return "isolation";
  return row.backward?.lse === undefined ? categoryOf(needsOf(row), false) : "gradients of lse";
}

/** What an engine's documents do not promise cannot be wrong. */
function asPromised({ unpromised = [] }: Engine, check: Check, needs?: Needs): Check {
  const { name, category, verdict } = check;
  if (verdict === "passed" || verdict === "refused") return check;
  const concerned = [category, needs?.special, ...(needs?.offered ?? [])];
  const missing = concerned.find((each) => each && unpromised.includes(each));
  return missing ? { name, category, verdict: "refused", note: `not promised: ${missing}` } : check;
}

/** Engines without policies are judged by their own. */
function withPolicy(call: Call, { offers, emptyRows = "zero" }: Engine, needs: Needs): Call {
  if (offers.includes("empty-row policies") || needs.offered.includes("empty-row policies")) return call;
  return { ...call, options: { ...call.options, emptyRows } };
}

function workOf({ query: { shape }, key, value }: Call): number {
  const [B, H, S, D] = shape as [number, number, number, number];
  return B * H * S * key.shape[2]! * (D + value.shape[3]!);
}

/** A case: its call, what it needs, what comes out, and the heading under which its output counts. */
interface Case {
  readonly call: Call;
  readonly needs: Needs;
  readonly reference: ReferenceResult;
  readonly heading: Category;
}

function referenceOf({ query, key, value, options }: Call): ReferenceResult {
  return referenceAttention(query, key, value, referenceOptions(options));
}

async function forwardChecks(engine: Engine, row: Row, { call, needs, reference, heading }: Case): Promise<Check[]> {
  const asked = (Object.keys(call.returns) as Output[]).filter((part) => part !== "topK" || isDecided(reference));
  const parts: Output[] = ["output", ...(row.poison ? [] : asked)];
  const isOffered = (part: Output) => part === "output" || engine.offers.includes(part);
  const returns = Object.fromEntries(Object.entries(call.returns).filter(([part]) => isOffered(part as Output)));
  const result = await resultOf(engine, needs.offered, () => attention(engine, { ...call, returns }));
  return parts.map((part) => {
    const category = row.poison ? "isolation" : part === "output" ? heading : partHeading(heading, part);
    const name = `${row.name}/${part}`;
    if ("verdict" in result) return { name, category, ...result };
    if (!isOffered(part)) return { name, category, ...notOffered(part) };
    if (part === "topK") return { name, category, ...judgeTopK(result.parts[part], call.returns.topK!, reference) };
    const expected = part === "scores" ? reference[call.returns.scores!] : reference[part];
    const values = row.poison ? openPoisonedRows(reference, row.poison) : expected;
    return { name, category, ...judge(part, result.parts[part], values) };
  });
}

/** Whether the error model says of every row which keys have the largest weights. */
const isDecided = ({ openRows }: ReferenceResult) => !openRows.includes(1);

const ROWS_AND_EXTENTS: readonly Category[] = [
  "empty rows",
  "empty-row policies",
  "zero extents",
  "large magnitudes",
  "formulas",
];

/** What a row of one feature says about another output, counts for the output. */
const partHeading = (heading: Category, part: Exclude<Output, "output">): Category =>
  ROWS_AND_EXTENTS.includes(heading) || heading === "combinations" ? heading : part;

/** Padding rows do not count: they are zero under every policy. */
function hasEmptyRows({ visibleKeys, shape: { Hq, Sq, Skv } }: ReferenceResult, { options }: Call): boolean {
  const lengths = options.queryLengths as readonly number[] | undefined;
  const isPadding = (row: number) => lengths !== undefined && row % Sq >= lengths[Math.floor(row / (Hq * Sq))]!;
  return Skv > 0 && visibleKeys.some((count, row) => count === 0 && !isPadding(row));
}

const SIDES: readonly CaseGradient[] = ["dQuery", "dKey", "dValue"];

async function gradientChecks(engine: Engine, { call, needs, heading }: Case): Promise<Check[]> {
  const { query, key, value, dOutput, dLse, gradients } = call;
  const sides = gradients.filter((name) => SIDES.includes(name));
  const others = gradients.filter((name) => !SIDES.includes(name));
  const groups = (
    dLse
      ? [{ category: "gradients of lse" as const, names: gradients }]
      : [
          { category: "gradients" as const, names: sides },
          { category: "gradients of options" as const, names: others },
        ]
  ).filter(({ names }) => names.length > 0);
  const asked = groups.filter(({ category }) => engine.offers.includes(category)).flatMap(({ names }) => names);
  const result = await resultOf(engine, [...needs.offered, "gradients"], () =>
    gradientsOf(engine, { ...call, gradients: asked }),
  );
  const isRefused = "verdict" in result;
  const reference = isRefused
    ? undefined
    : referenceBackward(query, key, value, dOutput, referenceOptions(call.options), dLse);
  return groups.map(({ category: offer, names }) => {
    const name = `${call.name}/${offer}`;
    const category = heading === "empty rows" ? heading : offer;
    if (isRefused) return { name, category, ...result };
    if (!engine.offers.includes(offer)) return { name, category, ...notOffered(offer) };
    return { name, category, ...worst(names.map((each) => judge(each, result.parts[each], reference![each]))) };
  });
}

async function onnxCheck(engine: Engine, example: OnnxCase): Promise<Check> {
  const check = { name: example.name, category: "onnx" as const };
  if (!engine.onnx) return { ...check, verdict: "refused", note: "not offered: ONNX operators" };
  const result = await resultOf(engine, [], () => engine.onnx!(example, inputsOf(example)));
  return { ...check, ...("verdict" in result ? result : judgeOnnx(result.parts, example)) };
}

type Parts = Readonly<Record<string, Numbers>>;

/** What the engine gives, or a refusal: because the adapter does not offer it, or because the engine throws. */
async function resultOf(
  { offers }: Engine,
  needed: readonly Offered[],
  compute: () => Promise<Parts>,
): Promise<{ readonly parts: Parts } | Judgement> {
  const missing = needed.filter((feature) => !offers.includes(feature));
  if (missing.length > 0) return notOffered(missing.join(", "));
  try {
    return { parts: await compute() };
  } catch (error) {
    return { verdict: "refused", note: `throws: ${String(error).split("\n")[0]!.slice(0, 200)}` };
  }
}

const notOffered = (what: string): Judgement => ({ verdict: "refused", note: `not offered: ${what}` });

const HEADS = ["query", "key", "value", "dOutput"] as const;
const RESULTS = ["output", "dQuery", "dKey", "dValue"];

/** The call and its results in the layout that the adapter wants. */
export async function attention(engine: Engine, call: Call): Promise<Parts> {
  if (engine.layout !== "BSHD") return engine.attention(call);
  return backAgain(await engine.attention(inTokens(call)), call);
}

async function gradientsOf(engine: Engine, call: Call): Promise<Parts> {
  if (engine.layout !== "BSHD") return engine.gradients!(call);
  return backAgain(await engine.gradients!(inTokens(call)), call);
}

function inTokens(call: Call): Call {
  return { ...call, ...Object.fromEntries(HEADS.map((name) => [name, exchanged(call[name])])) };
}

function backAgain(parts: Parts, { query, key, value, dOutput }: Call): Parts {
  const shapes: Record<string, readonly number[]> = {
    output: dOutput.shape,
    dQuery: query.shape,
    dKey: key.shape,
    dValue: value.shape,
  };
  return Object.fromEntries(
    Object.entries(parts).map(([name, part]) => {
      if (!part || !RESULTS.includes(name)) return [name, part];
      const [B, H, S, D] = shapes[name] as [number, number, number, number];
      return [name, exchanged({ data: part.data, shape: [B, S, H, D] })];
    }),
  );
}
