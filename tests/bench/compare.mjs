// Compares a new measurement with an earlier one, case by case.

import { percent, table, time } from "./columns.mjs";
import { geometricMean } from "./harness/statistics.mjs";

/** If other programs use more than this share of the cores, the times are unreliable. */
export const BUSY = 0.75;

/**
 * @typedef {object} Saved - what `--save` writes
 * @property {string} date
 * @property {string} [commit]
 * @property {number} load - the machine's load when the bench began
 * @property {{ cpu?: string, cores: number, engine: string, pages?: string, adapter?: object }} machine - `pages`: the
 *   browser of pages
 * @property {{ rounds: number, peers: string[] }} options
 * @property {{ name: string, records: object[] }[]} runs
 */

/**
 * @param {Saved} before
 * @param {Saved} now
 * @returns the runs that both have, each with its rows and its means by group, and warnings about what makes them hard
 *   to compare
 */
export function compare(before, now) {
  const runs = now.runs.flatMap((run) => {
    const old = before.runs.find(({ name }) => name === run.name);
    return old?.records.length && run.records.length ? [compareRuns(run.name, old.records, run.records)] : [];
  });
  return { warnings: [...differences(before, now), ...[before, now].flatMap(busyness)], runs };
}

function compareRuns(name, before, now) {
  const oldOf = (record) => before.find((old) => isSameWork(old, record));
  const rows = now.filter(oldOf).map((record) => compareRecords(oldOf(record), record));
  const groups = [...new Set(rows.map(({ group }) => group))];
  return {
    name,
    rows,
    means: groups.map((group) => meanOf(rows.filter((row) => row.group === group))),
    onlyBefore: before.filter((old) => !now.some((record) => isSameWork(old, record))).map((old) => old.case),
    onlyNow: now.filter((record) => !oldOf(record)).map((record) => record.case),
  };
}

const isSameWork = (a, b) => a.case === b.case && a.operations === b.operations && a.bytes === b.bytes;

function compareRecords(before, now) {
  const [shareBefore, shareNow] = [shareOfRoof(before), shareOfRoof(now)];
  return judged({
    case: now.case,
    group: now.group,
    before: before.milliseconds,
    now: now.milliseconds,
    ratio: now.milliseconds / before.milliseconds,
    spread: Math.hypot(before.spread, now.spread),
    ...(shareBefore && shareNow && { shareBefore, shareNow, shares: shareNow / shareBefore }),
  });
}

/** A case's share of the machine's best rate, which was measured in the same minute; on wasm or on WebGPU. */
const shareOfRoof = ({ roofline, share }) => roofline?.share ?? share;

/**
 * If the machine became slower, all cases of a group are slower. So the spread of a mean is the mean of their spreads,
 * not less.
 */
function meanOf(rows) {
  const withRoof = rows.filter(({ shares }) => shares);
  return judged({
    group: rows[0].group,
    cases: rows.length,
    ratio: geometricMean(rows.map(({ ratio }) => ratio)),
    spread: rows.reduce((sum, { spread }) => sum + spread, 0) / rows.length,
    ...(withRoof.length > 0 && { shares: geometricMean(withRoof.map(({ shares }) => shares)) }),
  });
}

const judged = (figures) => ({ ...figures, verdict: verdictOf(figures) });

/** Judges a case by its times. If its share of the roof did not change in the same way, the machine has changed. */
function verdictOf({ ratio, spread, shares }) {
  const isSame = isWithin(ratio, spread);
  if (!isSame && spread === 0) return "measured once";
  const word = isSame ? "within the spread" : ratio > 1 ? "slower" : "faster";
  if (!shares || isWithin(shares, spread) === isSame) return word;
  return isSame ? `${word}, though the machine is ${shares > 1 ? "slower" : "faster"}` : `${word}, as the machine is`;
}

const isWithin = (ratio, spread) => Math.abs(Math.log(ratio)) <= Math.log1p(spread);

function differences(before, now) {
  const parts = [
    ...["cpu", "cores", "engine", "pages", "adapter"].map((name) => [name, before.machine[name], now.machine[name]]),
    ...["rounds", "peers"].map((name) => [name, before.options[name], now.options[name]]),
  ].map(([name, ...values]) => [name, ...values.map((value) => JSON.stringify(value))]);
  return parts.filter(([, a, b]) => a !== b).map(([name, a, b]) => `${name}: ${a} before, ${b} now`);
}

const busyness = ({ date, load, machine }) =>
  load > machine.cores * BUSY ? [`the machine was busy on ${date}: load ${load.toFixed(1)}`] : [];

// Printing.

const shareText = ({ shareBefore, shareNow }) => `${percent(shareBefore).slice(0, -1)}→${percent(shareNow)}`;

const { header, line } = table(
  [
    ["case", 34, ({ case: name }) => name],
    ["before ms", 10, ({ before }) => time(before)],
    ["now ms", 10, ({ now }) => time(now)],
    ["now/before", 10, ({ ratio }) => ratio.toFixed(3)],
    ["±", 5, ({ spread }) => percent(spread)],
    ["of roof", 9, (row) => (row.shares ? shareText(row) : "")],
    ["shares", 7, ({ shares }) => shares?.toFixed(3) ?? ""],
  ],
  0,
);

export const COMPARISON_LEGEND = [
  "now/before: ratio of the medians, ± both spreads together (the root of the sum of their squares); shares: ratio of the",
  "shares of the roof, which stays 1 when the machine itself became slower or faster; within the spread: no difference seen.",
].join("\n");

export function comparisonLines({ warnings, runs }) {
  return [
    ...warnings.map((warning) => `WARNING: ${warning}`),
    ...(runs.length === 0 ? ["No configuration was measured both times."] : [COMPARISON_LEGEND]),
    ...runs.flatMap(({ name, rows, means, onlyBefore, onlyNow }) => [
      `\n${name}`,
      ...(rows.length > 0 ? [header([]), ...rows.map(rowLine), "Geometric means", ...means.map(meanLine)] : []),
      ...(onlyBefore.length > 0 ? [`Only before: ${onlyBefore.join(", ")}`] : []),
      ...(onlyNow.length > 0 ? [`Only now: ${onlyNow.join(", ")}`] : []),
    ]),
  ];
}

const rowLine = (row) => `${line(row, [])}  ${row.verdict}`;

function meanLine({ group, cases, ratio, spread, shares, verdict }) {
  const ofRoof = shares ? `, shares ${shares.toFixed(3)}` : "";
  return `  ${group} (${cases}): ${ratio.toFixed(3)} ± ${percent(spread)}${ofRoof}: ${verdict}`;
}
