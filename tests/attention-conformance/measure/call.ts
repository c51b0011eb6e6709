/**
 * A case as an engine gets it. The tensors of a case lie as [B, H, S, D]; layouts are a matter of an engine's own tests.
 */

import { casesOf, type CaseGradient } from "../reference/caseTable.js";
import type { Formula } from "../reference/formulaReference.js";
import type { Input, ReferenceOptions } from "../reference/reference.js";
import { formulaOf, type FormulaText } from "./formulas.js";
import { isBits } from "./judge.js";
import { poisonedCall, type Poison } from "./poison.js";

export type Output = "output" | "lse" | "entropy" | "probs" | "scores" | "topK";
export type Stage = "raw" | "softcapped" | "biased";

/** A row of a file of cases. schema/case.schema.json has every field. */
export interface Row {
  readonly name: string;
  readonly seed: number;
  readonly shape: Readonly<Record<string, number>>;
  readonly dtype?: "float32" | "float16";
  readonly amplitude?: Readonly<Record<string, number>>;
  readonly mask?: { readonly visible: number };
  readonly bias?: { readonly amplitude?: number; readonly minimum?: number; readonly dtype?: string };
  readonly options?: Readonly<Record<string, unknown>>;
  readonly returns?: Readonly<Record<string, unknown>> & Pick<Call["returns"], "topK" | "scores">;
  readonly formula?: { readonly score?: FormulaText; readonly visible?: FormulaText };
  readonly poison?: Poison;
  readonly backward?: { readonly lse?: number };
}

export type CallOptions = Omit<ReferenceOptions, "score" | "visible" | "layout"> & {
  readonly score?: FormulaText;
  readonly visible?: FormulaText;
};

export interface Call {
  readonly name: string;
  readonly query: Input;
  readonly key: Input;
  readonly value: Input;
  readonly options: CallOptions;
  /** What to compute besides the output; the scores have a stage, and topK has the number of keys. */
  readonly returns: Readonly<Partial<Record<"lse" | "entropy" | "probs", true>>> & {
    readonly scores?: Stage;
    readonly topK?: number;
  };
  readonly dOutput: Input;
  /** The gradient of a loss that reads lse, [B, numHeads, Sq]. */
  readonly dLse?: Input;
  readonly gradients: readonly CaseGradient[];
}

export function callOf(row: Row): Call {
  const { formula = {}, poison, ...rest } = row;
  const [read] = casesOf({ version: 1, cases: [rest] });
  const { query, key, value, options, backward } = read!;
  const { layout: _, returns, ...others } = options;
  const call: Call = {
    name: row.name,
    query: typed(query),
    key: typed(key),
    value: typed(value),
    options: {
      ...(others as object),
      ...(others.mask ? { mask: { ...(others.mask as Input), dtype: "bool" } as never } : {}),
      ...(others.bias ? { bias: typed(others.bias as Input) as never } : {}),
      ...formula,
    },
    returns: besides(returns as Row["returns"]),
    dOutput: typed(backward.dOutput),
    ...(backward.dLse && { dLse: typed(backward.dLse) }),
    gradients: Object.keys(backward.returns) as CaseGradient[],
  };
  return poison ? poisonedCall(call, poison) : call;
}

/** What the reference needs: formulas with the names and values of their parameters. */
export function referenceOptions({ score, visible, ...options }: CallOptions): ReferenceOptions {
  const formulas: { score?: Formula; visible?: Formula } = {
    ...(score && { score: formulaOf(score) }),
    ...(visible && { visible: formulaOf(visible) }),
  };
  return { ...options, ...(formulas as object) };
}

function typed(input: Input): Input {
  return { ...input, dtype: isBits(input.data) ? "float16" : "float32" };
}

/** What is asked for besides the output: a case may also say of a result that it is not asked for. */
const besides = ({ output: _, ...others }: NonNullable<Row["returns"]> = {}): Call["returns"] =>
  Object.fromEntries(Object.entries(others).filter(([, wanted]) => wanted !== false));

/** The tensor with heads and positions exchanged: [B, H, S, D] becomes [B, S, H, D], and the other way. */
export function exchanged({ data, shape, dtype }: Input): Input {
  const [B, first, second, D] = shape as [number, number, number, number];
  const to = (data as Float32Array).slice();
  for (let b = 0; b < B; ++b)
    for (let x = 0; x < first; ++x)
      for (let y = 0; y < second; ++y)
        for (let d = 0; d < D; ++d)
          to[((b * second + y) * first + x) * D + d] = data[((b * first + x) * second + y) * D + d]!;
  return { data: to, shape: [B, second, first, D], ...(dtype && { dtype }) };
}
