// Products of sizes that overflow, long sequences, and memory above 2 GiB.

import path from "node:path";

import { figuresIn, largestOf, verdictOf } from "../figures.mjs";
import { jest } from "../programs.mjs";

export const sizeArithmetic = {
  name: "size-arithmetic",
  what: "extents whose product overflows; 65,536 keys in 64 MiB of scratch; memory above 2 GiB",
  goal: "a typed error in 10 ms, the right result elsewhere",
  minutes: { quick: 0.5, whole: 0.5 },
  async measure({ folder }) {
    const file = path.join(folder, "figures.jsonl");
    const counts = await jest(folder, ["tests/web/sizeArithmetic.test.ts", "tests/web/longSequences.test.ts"], { HEADWISE_FIGURES: file }); // oxfmt-ignore
    const refuses = largestOf(figuresIn(file).get("refuses"));
    const { verdict, rest } = verdictOf(counts);
    return {
      verdict,
      figure: `overflow is refused in at most ${refuses.toFixed(1)} ms; ${counts.passed} tests hold${rest}`,
      isLate: refuses > 10,
      numbers: { counts, refuses },
    };
  },
};
