// The results of all places as a figure, and as the table of web/docs/engines.md.

/** The ways of ways.mjs, as the table names them. */
const TITLES = { simd: "SIMD", relaxed: "relaxed SIMD", threads: "two threads", webgpu: "WebGPU" };

const grouped = (count) => count.toLocaleString("en");
const titled = ({ place, version }) => [place, version].filter(Boolean).join(" ");

/** What is wrong with a result, in a sentence; undefined if nothing is. A way that an engine does not have is not wrong. */
function faultOf({ name, isPossible, absent, failure, passed, failed, examples }) {
  if (failure) return `${TITLES[name]}: ${failure}`;
  if (absent !== undefined)
    return isPossible ? `${TITLES[name]}: the engine has it, but headwise says: ${absent}` : undefined;
  if (failed > 0) return `${TITLES[name]}: ${failed} checks failed (${examples[0]})`;
  return passed > 0 ? undefined : `${TITLES[name]}: nothing was checked`;
}

/** What is wrong at any place, in sentences. */
export const faultsOf = (outcomes) =>
  outcomes.flatMap((outcome) => {
    const faults = (outcome.results ?? []).map(faultOf).filter(Boolean);
    return faults.map((fault) => `${titled(outcome)}, ${fault}`);
  });

/** All of it in one line of the table of trust. */
export function figureOf(outcomes) {
  const measured = outcomes.filter(({ results }) => results);
  const checks = measured.flatMap(({ results }) => results).reduce((sum, { passed = 0 }) => sum + passed, 0);
  const faults = faultsOf(outcomes).map((fault) => `**${fault}**`);
  const missing = outcomes.filter((each) => each.missing).map((each) => `${each.place} not measured (${each.missing})`);
  return [`${grouped(checks)} checks passed (${measured.map(titled).join("; ")})`, ...faults, ...missing].join("; ");
}

function cellOf({ absent, failure, passed, failed }) {
  if (failure) return "**did not end**";
  if (absent !== undefined) return "no";
  return failed > 0 ? `**${grouped(failed)} of ${grouped(passed + failed)} failed**` : grouped(passed);
}

function cellsOf({ place, version, missing, results }) {
  const cells = Object.keys(TITLES).map((way) => {
    return missing ? `not measured (${missing})` : cellOf(results.find(({ name }) => name === way));
  });
  return [titled({ place, version }), ...cells];
}

/** Why an engine lacks a way, and which adapter WebGPU had: what does not fit into the table. */
const notesOf = (outcome) =>
  (outcome.results ?? []).flatMap(({ name, absent, adapter }) => [
    ...(absent !== undefined ? [`${titled(outcome)}, ${TITLES[name]}: ${absent}`] : []),
    ...(adapter ? [`${titled(outcome)}, ${TITLES[name]}: the adapter calls itself "${adapter}".`] : []),
  ]);

/** The table, its notes, and where and by which command it was made: a part of tests/figures/figures.json. */
export const matrixOf = (outcomes, { date, machine, isQuick }) => ({
  commands: [`npm run trust -- --only=engines${isQuick ? " --quick" : ""} --record`],
  date,
  machine,
  columns: ["engine", ...Object.values(TITLES)],
  rows: Object.fromEntries(outcomes.map((outcome) => [outcome.place, cellsOf(outcome)])),
  notes: outcomes.flatMap(notesOf),
});
