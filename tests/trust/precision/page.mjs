// The table of errors as a page of the documentation.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { root } from "../../../web/build/paths.mjs";

export const PAGE = path.join(root, "web/docs/precision.md");

/** The part of the page that int8Keys.mjs measures. */
const INT8_KEYS = path.join(root, "tests/trust/precision/int8Keys.md");

const short = (number) => (number === 0 ? "0" : number.toExponential(1));

/** One line for each operation, case and dtype: the worst of all sizes and variants. */
export function worstLines(reports) {
  const worst = new Map();
  for (const { lines } of reports)
    for (const line of lines) {
      const key = [line.operation, line.what, line.dtype].join("|");
      const old = worst.get(key) ?? { ...line, largest: 0, sum: 0, count: 0, share: 0, sizes: new Set() };
      worst.set(key, {
        ...old,
        largest: Math.max(old.largest, line.largest),
        sum: old.sum + line.mean * line.count,
        count: old.count + line.count,
        share: Math.max(old.share, line.share),
        sizes: old.sizes.add(line.size),
      });
    }
  return [...worst.values()].map(({ sum, count, sizes, ...line }) => ({
    ...line,
    mean: sum / count,
    count,
    sizes: [...sizes],
  }));
}

const sizesOf = (lines, isOne) => [...new Set(lines.filter(isOne).flatMap(({ sizes }) => sizes))].join("; ");

/** @param {{ variant: string, lines: object[] }[]} reports - of all variants */
export function pageOf(reports) {
  const lines = worstLines(reports);
  const rows = lines.map(
    ({ operation, what, dtype, largest, mean, share }) =>
      `| ${operation} | ${what} | ${dtype} | ${short(largest)} | ${short(mean)} | ${(100 * share).toFixed(0)} % |`,
  );
  const isAttention = ({ operation }) => /^(attention|cache|gradients)/.test(operation);
  return `# Precision: errors that were measured

This page shows how far results are from the same formulas in double precision. \`npm run trust -- --only=precision\`
measures the numbers and writes this page, and fails if an error is outside its bound. The bounds are in the
[contract](contract.md#how-accurate-results-are). They are derived from the number of roundings, not from these measurements.

- **largest** and **mean** are absolute errors, over all sizes and the variants ${reports.map(({ variant }) => variant).join(" and ")} of WebAssembly.
- **of the bound** is the largest quotient of an error and the bound of the same number. 100 % means: as large as the bound.
- Inputs are uniform in ±1; with "large scores" queries and keys are in ±8.
- **dtype** is the type of the inputs and the output. For \`linear\` it is the type of the stored weight, and for caches that of
  the stored keys and values. The reference computes with the stored numbers, so the error of storing them is not counted. The
  error of rounding an output to float16 is counted.
- "A sink dominates": the sink is 40. "A bias dominates": the bias of one key is 60. "One key dominates": the score of one
  key is far above the others.
- Sizes, as heads × queries × keys × width: ${sizesOf(lines, isAttention)}.

| result | case | dtype | largest | mean | of the bound |
|---|---|---|---|---|---|
${rows.join("\n")}

WebGPU has larger bounds: the errors that WGSL allows for \`exp\` are added. Its tests check them (\`tests/webgpu\`).

${readFileSync(INT8_KEYS, "utf8")}`;
}

export const writePage = (reports) => writeFileSync(PAGE, pageOf(reports));
