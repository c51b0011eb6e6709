// What the bench prints.

import { digits, percent, table, time } from "./columns.mjs";
import { geometricMean } from "./harness/statistics.mjs";

const COLUMNS = [
  ["case", 34, ({ case: name }) => name],
  ["ms", 9, ({ milliseconds }) => time(milliseconds)],
  ["±", 5, ({ spread }) => percent(spread)],
  ["best", 9, ({ samples }) => (samples ? time(Math.min(...samples)) : "")],
  ["GFLOP/s", 8, ({ gflops }) => gflops.toFixed(1)],
  ["GB/s", 6, ({ gigabytes }) => gigabytes.toFixed(1)],
  ["binds", 13, ({ roofline }) => roofline.binds],
  ["of roof", 8, ({ roofline }) => percent(roofline.share)],
  ["inside", 7, ({ inside }) => (inside ? percent(inside.share) : "")],
  ["first ms", 9, ({ firstMilliseconds }) => digits(firstMilliseconds)],
  ["outside", 8, ({ outside }) => (outside === undefined ? "" : percent(outside))],
  ["init ms", 8, ({ initMilliseconds }) => digits(initMilliseconds)],
  ["MB", 6, ({ peakBytes }) => (peakBytes ? megabytes(peakBytes) : "")],
];

export const { header, line } = table(COLUMNS, 11);

export const LEGEND = [
  "ms: median of rounds, ± half the distance of their quartiles; best: the fastest round; GFLOP/s: visible work; binds:",
  "what takes this engine longer at its best rate, the multiply-adds or reading the bytes; of roof: that time ÷ ms; inside:",
  "the same without copies; first ms: first call of a fresh module; outside: share of ms spent in copies; MB: peak wasm",
  "memory; ×peer: how many times longer the peer takes.",
].join("\n");

/** Geometric means over the cases of a group: of the shares of the roofline, and of the ratios to each peer. */
export function means(records, peers) {
  return [...new Set(records.map(({ group }) => group))].flatMap((group) => {
    const own = records.filter((record) => record.group === group);
    const meanShare = (shares) => percent(geometricMean(shares));
    const within = own.flatMap(({ inside }) => (inside ? [inside.share] : []));
    const withoutCopies = within.length > 0 ? ` (${meanShare(within)} inside)` : "";
    const roof = `${meanShare(own.map(({ roofline }) => roofline.share))} of roof${withoutCopies}`;
    const ratios = peers.flatMap((name) => {
      const both = own.filter((record) => record.peers[name]).map((record) => record.peers[name].ratio);
      return both.length ? [`${geometricMean(both).toFixed(2)}× ${name} (${both.length} of ${own.length})`] : [];
    });
    return `  ${group}: ${[roof, ...ratios].join(", ")}`;
  });
}

/** Remarks on a case: the form in which a peer computed it, or why a peer did not. */
export function remarks(record) {
  const chosen = Object.entries(record.peers)
    .filter(([, { trials }]) => trials)
    .map(
      ([name, { form, trials }]) =>
        `${name}: ${form} of ${Object.entries(trials)
          .map(([f, ms]) => `${f} ${digits(ms)} ms`)
          .join(", ")}`,
    );
  const failed = Object.entries(record.peers).flatMap(([name, { failures = [] }]) =>
    failures.map((failure) => `${name}: not ${failure}`),
  );
  const missing = Object.entries(record.notRun ?? {}).map(([name, reason]) => `${name}: not run, ${reason}`);
  const scratch =
    record.scratchBytes === undefined ? [] : [`scratch beside its tensors: ${megabytes(record.scratchBytes)} MB`];
  return [...scratch, ...chosen, ...failed, ...missing];
}

const megabytes = (bytes) => (bytes / 2 ** 20).toFixed(0);
