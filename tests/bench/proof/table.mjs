// The case table on one variant of the kernels: every result against the definition in double precision.

import { referenceAttention } from "../../attention-conformance/reference/reference.ts";
import { resultProblems } from "../../web/resultProblems.ts";

const MOST_WRONG_CASES = 20;

/** Every `step`th case of each group of the table, the first one always. The group is the first word of a name. */
export function sampleOf(cases, step) {
  const seen = new Map();
  return cases.filter(({ name }) => {
    const group = name.split("-")[0];
    const n = seen.get(group) ?? 0;
    seen.set(group, n + 1);
    return n % step === 0;
  });
}

/** The results that are right, computed once for all variants. */
export function makeReferences() {
  const known = new Map();
  return ({ name, query, key, value, options }) => {
    if (!known.has(name)) known.set(name, referenceAttention(query, key, value, options));
    return known.get(name);
  };
}

/**
 * Runs cases until they are done or `mayGoOn` says no. One case always runs.
 *
 * @returns how many cases ran, how many the engine refused with a typed error, and the wrong ones
 */
export async function checkCases(hw, cases, reference, mayGoOn, onCase) {
  const found = { cases: cases.length, ran: 0, right: 0, refused: [], wrong: [] };
  for (const each of cases) {
    if (found.ran > 0 && !mayGoOn()) break;
    onCase(each.name);
    const problems = await problemsOf(hw, each, reference);
    found.ran++;
    if (problems === undefined) found.right++;
    else if (problems.refusal) found.refused.push({ case: each.name, reason: problems.refusal });
    else found.wrong.push({ case: each.name, problems: problems.lines });
    if (found.wrong.length === MOST_WRONG_CASES) break;
  }
  return found;
}

async function problemsOf(hw, each, reference) {
  let result;
  try {
    result = await hw.scaledDotProductAttention(each.query, each.key, each.value, each.options);
  } catch (error) {
    if (error.code === "UNSUPPORTED") return { refusal: error.message };
    return { lines: [String(error.message ?? error)] };
  }
  const problems = resultProblems(result, each.options.returns, reference(each));
  const lines = Object.entries(problems).map(([part, found]) => `${part}: ${found.slice(0, 2).join("; ")}`);
  return lines.length === 0 ? undefined : { lines };
}
