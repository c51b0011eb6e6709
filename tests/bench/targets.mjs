// The targets of headwise, with the measured values. They only inform; nothing fails.

import { geometricMean } from "./harness/statistics.mjs";

/**
 * How many times faster than ONNX Runtime Web's MultiHeadAttention with the same number of threads, as a mean over a
 * group.
 */
const TIMES_FASTER = {
  relaxed: { dense: 2.5, causal: 4.5, decode: 6 },
  simd: { dense: 1.8, causal: 3.5, decode: 6 },
};
const ROOFLINE_SHARE = 0.8;
const FIRST_CALL_RATIO = 2;
const INIT_MILLISECONDS = 50;
const OUTSIDE_SHARE = 0.1;
const SCRATCH_MEGABYTES = 64;
const LOOKED_AT_RATIO = 2;
const SPEED_UP = 1.85;
/** Threads need not make shorter calls faster. */
const SHARED_MILLISECONDS = 1;

const TYPICAL = "BERT 12×512×64";
const PREFILL = ["dense", "causal", "window"];

/**
 * @param {object} run - of one configuration: { variant, threads, records }
 * @param {object[]} runs - all runs so far
 * @returns {{ name: string, value: number, goal: number, atMost: boolean, isMet: boolean }[]}
 */
export function targetsOf(run, runs) {
  return [
    ...Object.entries(TIMES_FASTER[run.variant]).flatMap(([group, goal]) => timesFaster(run.records, group, goal)),
    ...[...PREFILL, "decode"].flatMap((group) => rooflineShare(run.records, group)),
    ...speedUp(run, runs),
    ...ofTypicalCase(run.records),
    ...highest(run.records, "init, ms", INIT_MILLISECONDS, (record) => record.initMilliseconds),
    ...highest(run.records, "scratch at 65,536 keys, MB", SCRATCH_MEGABYTES, (record) => record.scratchBytes / 2 ** 20),
  ];
}

/** The targets of other times than calls; each has a goal of its own. */
export const timesTargets = (records) =>
  records.map(({ case: name, milliseconds, goal }) => atMost(`${name}, ms`, milliseconds, goal));

export const describe = ({ name, value, goal, atMost, isMet }) =>
  `  ${isMet ? "met   " : "missed"} ${name}: ${value.toFixed(2)}, goal ${atMost ? "≤" : "≥"} ${goal}`;

const atLeast = (name, value, goal) => ({ name, value, goal, atMost: false, isMet: value >= goal });
const atMost = (name, value, goal) => ({ name, value, goal, atMost: true, isMet: value <= goal });

function timesFaster(records, group, goal) {
  const ratios = records
    .filter((record) => record.group === group && record.peers["ort-mha"])
    .map((record) => record.peers["ort-mha"].ratio);
  return ratios.length
    ? [atLeast(`${group}, × MultiHeadAttention (${ratios.length})`, geometricMean(ratios), goal)]
    : [];
}

function rooflineShare(records, group) {
  const shares = records.filter((record) => record.group === group).map(({ roofline }) => roofline.share);
  return shares.length ? [atLeast(`${group}, share of the roofline`, geometricMean(shares), ROOFLINE_SHARE)] : [];
}

/** The smallest gain from two threads, over the prefill cases that are long enough. */
function speedUp({ variant, threads, records }, runs) {
  const single = runs.find((run) => run.variant === variant && run.threads === 1);
  if (threads !== 2 || !single) return [];
  const gains = single.records
    .filter(({ group, milliseconds }) => PREFILL.includes(group) && milliseconds >= SHARED_MILLISECONDS)
    .flatMap(({ case: name, milliseconds }) =>
      records.filter((record) => record.case === name).map((record) => milliseconds / record.milliseconds),
    );
  return gains.length ? [atLeast("prefill, least gain of two threads", Math.min(...gains), SPEED_UP)] : [];
}

function ofTypicalCase(records) {
  const typical = records.find((record) => record.case === TYPICAL);
  if (!typical) return [];
  const lookedAt = records.find(({ group }) => group === "looked at");
  return [
    atMost(`${TYPICAL}, first call ÷ steady`, typical.firstMilliseconds / typical.milliseconds, FIRST_CALL_RATIO),
    atMost(`${TYPICAL}, share outside the engine`, typical.outside, OUTSIDE_SHARE),
    ...(lookedAt
      ? [atMost(`${lookedAt.case} ÷ plain`, lookedAt.milliseconds / typical.milliseconds, LOOKED_AT_RATIO)]
      : []),
  ];
}

function highest(records, name, goal, read) {
  const values = records.map(read).filter(Number.isFinite);
  return values.length ? [atMost(name, Math.max(...values), goal)] : [];
}
