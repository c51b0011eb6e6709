// The score, and the report as Markdown.

/** What can become of a mutant. A timeout counts as killed: the mutant does not end. */
export const OUTCOMES = ["killed", "timeout", "survived", "equivalent", "not compiled"];

/** At least this share of the mutants must be killed. */
export const GOAL = 0.85;

const countOf = (results, outcome) => results.filter((result) => result.outcome === outcome).length;

/** Killed / (killed + survived). Equivalent mutants and those that do not compile do not count. NaN without mutants. */
export function scoreOf(results) {
  const killed = countOf(results, "killed") + countOf(results, "timeout");
  return killed / (killed + countOf(results, "survived"));
}

const percent = (score) => (Number.isNaN(score) ? "—" : `${(100 * score).toFixed(1)} %`);

/** One line of the table. */
function rowOf(names, results) {
  return `| ${[...names, ...OUTCOMES.map((outcome) => countOf(results, outcome)), percent(scoreOf(results))].join(" | ")} |`;
}

/** The mutant as a diff. */
function diffOf({ language, area, file, line, operator, before, after, note }) {
  const lines = (sign, text) => text.split("\n").map((part) => `${sign} ${part}`);
  const heading = `${file}:${line} (${language}, ${area}, ${operator}${note ? `; ${note}` : ""})`;
  return [heading, "", "```diff", ...lines("-", before), ...lines("+", after), "```", ""].join("\n");
}

/** @param {{ command: string, machine: string, results: object[] }} report */
export function markdownOf({ command, machine, results }) {
  const groups = new Map();
  for (const result of results) {
    const key = `${result.language}\0${result.area}`;
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  const survivors = results.filter(({ outcome }) => outcome === "survived");
  return [
    `# Mutation score: ${percent(scoreOf(results))}`,
    "",
    `\`${command}\`; goal: at least ${100 * GOAL} %. Measured on: ${machine}.`,
    "",
    `| language | area | ${OUTCOMES.join(" | ")} | score |`,
    `|---|---|${OUTCOMES.map(() => "---:|").join("")}---:|`,
    ...[...groups].map(([key, ofGroup]) => rowOf(key.split("\0"), ofGroup)),
    rowOf(["**all**", ""], results),
    "",
    `## Survivors: ${survivors.length}`,
    "",
    ...survivors.map(diffOf),
  ].join("\n");
}
