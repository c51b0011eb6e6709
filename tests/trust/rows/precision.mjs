// Errors against double precision, beside the bounds that the contract states.

import { worstLines, writePage } from "../precision/page.mjs";
import { compiled, reportOf } from "../programs.mjs";

const VARIANTS = ["simd", "relaxed"];

export const precision = {
  name: "precision",
  what: "errors against double precision: attention, gradients, caches, products, layers, rotation",
  goal: "inside the documented bounds everywhere, also when a sink, a bias or one key dominates",
  minutes: { quick: 0.5, whole: 1.3 },
  async measure({ isQuick, folder }) {
    const program = await compiled("tests/trust/precision/precision.ts", folder);
    const reports = [];
    for (const variant of VARIANTS) {
      const args = [variant, ...(isQuick ? ["quick"] : [])];
      const report = await reportOf(folder, variant, program, args, isQuick ? 5 : 30);
      if (!report.missing) reports.push(report);
    }
    const lines = worstLines(reports);
    const outside = reports
      .flatMap(({ lines }) => lines)
      .filter(({ share, notFinite }) => !(share <= 1) || notFinite > 0);
    if (!isQuick && outside.length === 0) writePage(reports);
    const worst = lines.reduce((a, b) => (b.share > a.share ? b : a));
    const numbers = lines.reduce((sum, { count }) => sum + count, 0);
    const bad = outside
      .slice(0, 3)
      .map(({ operation, what, size, dtype }) => `${operation}, ${what}, ${size}, ${dtype}`);
    return {
      verdict: outside.length === 0 ? "held" : "failed",
      figure:
        outside.length === 0
          ? `${numbers.toLocaleString("en")} numbers, none outside; at most ${(100 * worst.share).toFixed(0)} % of a bound (${worst.operation}, ${worst.what})`
          : `**outside: ${bad.join("; ")}**`,
      numbers: lines,
    };
  },
};
