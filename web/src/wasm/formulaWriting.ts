import type { writeDerivative, writeFormula } from "./formula.js";

/** What writes formulas into calls. */
interface FormulaWriting {
  readonly writeDerivative: typeof writeDerivative;
  readonly writeFormula: typeof writeFormula;
}

/** The place of that code. It comes later, as what reads formulas does. */
export const formulaWriting: { code: FormulaWriting | undefined } = { code: undefined };
