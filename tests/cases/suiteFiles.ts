/** The files of tests/attention-conformance/cases that are made of headwise's own tables. */

import { readFileSync } from "node:fs";

import type { Row } from "../attention-conformance/measure/call.js";
import type { FormulaText } from "../attention-conformance/measure/formulas.js";
import type { Formula } from "../attention-conformance/reference/formulaReference.js";
import { standardFormulas } from "../web/formulaTable.js";

/** @param table - the text of tests/cases/attention.json */
export function suiteFiles(table: string): Record<"attention.json" | "formulas.json", string> {
  const { cases } = JSON.parse(table) as { cases: OwnRow[] };
  return { "attention.json": fileOf(rowsOfEveryEngine(cases)), "formulas.json": fileOf(formulaRows()) };
}

type OwnRow = Row & { readonly layout?: string };

export const tableText = () => readFileSync(new URL("attention.json", import.meta.url), "utf8");

function fileOf(rows: readonly object[]): string {
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
  return `{\n  "version": 1,\n  "cases": [\n${lines.join(",\n")}\n  ]\n}\n`;
}

/** Without layouts and parts of outputs, which are headwise's own: rows that differ in nothing else are one row. */
function rowsOfEveryEngine(rows: readonly OwnRow[]): object[] {
  const seen = new Set<string>();
  return rows
    .map(({ layout: _, returns, ...row }) => ({ ...row, ...(returns && { returns: wholeOutputs(returns) }) }))
    .filter(({ name, seed: _, ...rest }) => {
      const key = JSON.stringify([name.replace(/-(BHSD|BSHD|BSE|BES)\b/, ""), rest]);
      return !seen.has(key) && seen.add(key);
    });
}

function wholeOutputs(returns: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const whole: Record<string, (value: never) => unknown> = {
    probs: () => true,
    scores: (value: string | { stage: string }) => (typeof value === "string" ? value : value.stage),
    topK: (value: number | { k: number }) => (typeof value === "number" ? value : value.k),
  };
  return Object.fromEntries(
    Object.entries(returns).map(([name, value]) => [name, (whole[name] ?? ((x) => x))(value as never)]),
  );
}

const SHAPE = { B: 2, Hq: 4, Hkv: 2, Sq: 17, Skv: 29 };

/** The standard formulas of tests/web/formulaTable.ts as text, on one shape. */
function formulaRows(): object[] {
  const { B, Hq, Hkv, Sq, Skv } = SHAPE;
  const shape = { batchSize: B, numHeads: Hq, numKvHeads: Hkv, queryLength: Sq, keyLength: Skv, headDim: 12 };
  return standardFormulas(SHAPE).map(({ name, options: { score, visible, queryOffset } }, k) => ({
    name: `formula-${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`,
    seed: 7500 + k,
    shape,
    options: { queryOffset: new Array<unknown>(B).fill(queryOffset) },
    formula: {
      ...(score && { score: textOf(score as unknown as Formula) }),
      ...(visible && { visible: textOf(visible as unknown as Formula) }),
    },
  }));
}

function textOf({ text, graph, values }: Formula): FormulaText {
  const parameters = graph.parameters.map(({ name }, slot) => {
    const value = values[slot]!;
    return [name, typeof value === "number" ? value : { data: [...Array.from(value.data)], shape: [...value.extents] }];
  });
  return { text, parameters: Object.fromEntries(parameters) as FormulaText["parameters"] };
}
