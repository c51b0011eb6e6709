import type { Tensor } from "headwise";

import { differences } from "../web/close.js";
import type { Expected } from "../attention-conformance/reference/reference.js";
import type { ReferenceGradients } from "../attention-conformance/reference/referenceBackward.js";

type Numbers = Tensor<"float32">;
type Found = Readonly<Record<string, Numbers | Readonly<Record<string, Numbers>>>>;

/** The gradients that are outside their bounds, or that nobody asked for. Empty if there are none. */
export function gradientProblems(
  found: object,
  returns: Readonly<Record<string, boolean>>,
  reference: ReferenceGradients,
): Record<string, string[]> {
  const problems: Record<string, string[]> = {};
  const check = (name: string, tensor: Numbers, expected: Expected) => {
    const lines = differences(tensor, expected);
    if (lines.length > 0) problems[name] = lines;
  };
  for (const name of Object.keys(found)) if (!returns[name]) problems[name] = ["was not asked for"];
  for (const name of Object.keys(returns)) {
    const gradient = (found as Found)[name];
    if (!gradient) problems[name] = ["is missing"];
    else if (name !== "dTables") check(name, gradient as Numbers, reference[name as "dQuery"]);
    else
      for (const [table, expected] of Object.entries(reference.dTables))
        check(`dTables.${table}`, (gradient as Readonly<Record<string, Numbers>>)[table]!, expected);
  }
  return problems;
}
