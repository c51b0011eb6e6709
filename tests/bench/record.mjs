// `--record TABLE`: keeps the cases of a run in a table of tests/figures/figures.json. The table's columns say what is kept.
// A cell has a figure for the first number of threads, and one in brackets for the second.

import { keepRows, readParts, today } from "../figures/file.mjs";
import { fillPages } from "../figures/pages.mjs";
import { commandOf } from "./schema/command.mjs";
import { digits } from "./columns.mjs";
import { FORMULA_RATIOS, insideOf } from "./targets.mjs";

const shareText = (share) => `${(share * 100).toFixed(0)} %`;
const ratioTo =
  (name) =>
  ({ peers }) =>
    peers[name]?.ratio.toPrecision(2) ?? "–";

/** What a case of a formula is compared with. */
function comparisonOf(record, { records }) {
  const [, name, goal] = FORMULA_RATIOS.find(([formula]) => formula === record.case) ?? [];
  const other = records.find((each) => each.case === name);
  return other && { name, goal, milliseconds: digits(other.milliseconds), ratio: insideOf(record) / insideOf(other) };
}

/** Cells that are the same for every number of threads: functions of a record and its run. */
const SAME = {
  case: (record) => record.case,
  engine: (record, { engine, variant }) => (variant === "simd" ? `${engine}, plain SIMD` : engine),
  group: ({ group }) => group,
  binds: ({ roofline }) => roofline.binds,
  "compared with": (record, run) => comparisonOf(record, run)?.name,
  goal: (record, run) => comparisonOf(record, run)?.goal.toFixed(2),
};

/** Cells for each number of threads. */
const MEASURED = {
  ms: ({ milliseconds }) => digits(milliseconds),
  µs: ({ milliseconds }) => (1e3 * milliseconds).toFixed(1),
  "GFLOP/s": ({ gflops }) => gflops.toFixed(0),
  "of the roof": ({ roofline }) => shareText(roofline.share),
  inside: ({ inside }) => (inside ? shareText(inside.share) : "–"),
  "× MultiHeadAttention": ratioTo("ort-mha"),
  "× its fastest": ratioTo("ort"),
  "× ONNX Runtime native": ratioTo("ort-native"),
  "× jax-js": ratioTo("jax"),
  "× TensorFlow.js": ratioTo("tfjs"),
  "its ms": (record, run) => comparisonOf(record, run)?.milliseconds,
  ratio: (record, run) => comparisonOf(record, run)?.ratio.toFixed(2),
};

/** The rows of a table by name. A case that lacks a column, as a comparison, is no row. */
export function rowsOf({ machine, runs }, columns) {
  const calls = runs.filter(({ variant }) => variant).map((run) => ({ ...run, engine: machine.engine }));
  const firsts = calls.filter((run) => calls.find(({ variant }) => variant === run.variant) === run);
  const rows = firsts.flatMap((first) => {
    const sameVariant = calls.filter(({ variant }) => variant === first.variant);
    return first.records.map((record) => columns.map((column) => cellOf(column, record, sameVariant)));
  });
  const nameOf = (cells) => cells.filter((_, n) => ["case", "engine"].includes(columns[n])).join(", ");
  return Object.fromEntries(rows.filter((cells) => !cells.includes(undefined)).map((cells) => [nameOf(cells), cells]));
}

function cellOf(column, { case: name }, runs) {
  const inRuns = runs.flatMap((run) => run.records.filter((each) => each.case === name).map((each) => [each, run]));
  if (SAME[column]) return SAME[column](...inRuns[0]);
  const [first, ...more] = inRuns.map((each) => MEASURED[column](...each));
  return more.length > 0 && first !== "–" ? `${first} (${more.join(", ")})` : first;
}

/** The table that `--record` names. Throws if there is none. */
export function recordedTable(name) {
  const table = readParts()[name];
  const known = [...Object.keys(SAME), ...Object.keys(MEASURED)];
  if (table?.columns?.every((column) => known.includes(column))) return table;
  throw new Error(`--record: tests/figures/figures.json has no table of the bench named ${name}`);
}

/** @param {import("./compare.mjs").Saved} run */
export function record(name, run, args) {
  const { columns } = recordedTable(name);
  const { cpu, cores, engine } = run.machine;
  const machine = columns.includes("engine") ? `${cpu}, ${cores} cores` : `${cpu}, ${cores} cores, ${engine}`;
  keepRows(name, { commands: [commandOf("bench", args)], date: today(), machine, columns, rows: rowsOf(run, columns) });
  fillPages();
}
