import type { readDerivatives } from "../formula/derivatives.js";
import type { readFormula } from "../formula/readFormula.js";
import type { checkFormulas } from "./formulaChecks.js";

/** What reads, checks and differentiates formulas. */
interface FormulaReading {
  readonly readFormula: typeof readFormula;
  readonly checkFormulas: typeof checkFormulas;
  readonly readDerivatives: typeof readDerivatives;
}

/**
 * The place of that code. A plain call needs none of it, so it comes later: `instance/parts/formulas.ts` brings it. Whoever
 * reads options with a formula must have let it come.
 */
export const formulaReading: { code: FormulaReading | undefined } = { code: undefined };
