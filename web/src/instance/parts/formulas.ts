// What calls with formulas need: what reads, checks and differentiates them, and what WebAssembly runs.

import { checkFormulas } from "../../attention/formulaChecks.js";
import { formulaReading } from "../../attention/formulaReading.js";
import { readDerivatives } from "../../formula/derivatives.js";
import { readFormula } from "../../formula/readFormula.js";
import { writeDerivative, writeFormula } from "../../wasm/formula.js";
import { formulaWriting } from "../../wasm/formulaWriting.js";

/** From now on calls can have formulas. */
export function bringFormulas(): void {
  formulaReading.code = { checkFormulas, readDerivatives, readFormula };
  formulaWriting.code = { writeDerivative, writeFormula };
}
