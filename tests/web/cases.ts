import { readFileSync } from "node:fs";

import { casesOf, type AttentionCase } from "../attention-conformance/reference/caseTable.js";

export { word, type AttentionCase, type CaseGradient } from "../attention-conformance/reference/caseTable.js";

export function attentionCases(): readonly AttentionCase[] {
  const file = new URL("../cases/attention.json", import.meta.url);
  return casesOf(JSON.parse(readFileSync(file, "utf8")));
}
