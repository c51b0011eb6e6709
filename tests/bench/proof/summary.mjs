// The record as text.

import { isRight } from "./record.mjs";
import { nameOf } from "./variants.mjs";

export { nameOf };

/** Goals on a GPU; see targetOf. */
const ROOF = 0.6;
const BANDWIDTH = 0.7;
const ROOF_CASES = ["dense 12×2048×64 float32", "dense 8×2048×128 float32"];

const SOFTWARE =
  "This is a software adapter, which computes on the CPU. This proves correctness only; the times say nothing.";

/** Features that matter to headwise. */
const USED = /^(shader-f16|timestamp-query)$|subgroup/;

const percent = (share) => `${(100 * share).toFixed(0)}%`;
const digits = (number) => number.toPrecision(3);

/** @returns {string[]} the lines of a host's record */
export function summaryOf({ host, notRun, failure, ...record }) {
  if (notRun) return [`${host.name}: not run, ${notRun}`];
  if (failure) return [`${host.name}: FAILED, ${failure}`];
  const { adapter, state, seconds, table, rates, speed, auto, missingPeers } = record;
  return [
    `${host.name}: ${adapterName(adapter)}, ${state} after ${seconds.toFixed(0)} s`,
    `  ${verdictOf({ ...record, failure })}`,
    `  features: ${adapter.features.filter((name) => USED.test(name)).join(", ") || "none"}`,
    `  subgroups: ${adapter.subgroups ? `${adapter.subgroups.join(" to ")} wide` : "none"}`,
    ...table.flatMap(tableLines),
    ...(rates ? [`  probes: ${rateLine(rates)}`] : []),
    ...speed.map((each) => `  ${speedLine(each, adapter.software)}`),
    ...Object.entries(missingPeers).map(([name, reason]) => `  ${name}: not run, ${reason}`),
    ...autoLines(auto),
  ];
}

/** What a record proves, in a sentence or two. */
export function verdictOf(record) {
  const { adapter, table, state } = record;
  const sum = (part) => table.reduce((total, variant) => total + part(variant), 0);
  const [ran, all] = [sum(({ ran: n }) => n), sum(({ cases }) => cases)];
  const counted = `${ran} of ${all} cases ran on ${adapterName(adapter)}`;
  const verdict = isRight(record) ? `${counted}; none is wrong.` : `${counted}; SOME ARE WRONG.`;
  const ended = state === "cancelled" ? " It was cancelled." : "";
  return `${verdict}${ended}${adapter.software ? ` ${SOFTWARE}` : ""}`;
}

export function adapterName({ vendor, architecture, device, description }) {
  return [vendor, architecture, description || device].filter(Boolean).join(" ") || "an adapter without a name";
}

function tableLines(variant) {
  const { cases, ran, right, refused, wrong, failure, stopped } = variant;
  const counts = `${right} of ${ran} right${refused.length > 0 ? `, ${refused.length} refused` : ""}`;
  const rest = stopped && ran < cases ? `, ${cases - ran} not run (${stopped})` : "";
  return [
    `  ${nameOf(variant)}: ${failure ? `FAILED, ${failure}` : `${counts}${rest}`}`,
    ...wrong.map((each) => `    WRONG ${each.case}: ${each.problems.join("; ")}`),
  ];
}

function rateLine({ f32, f16, copy }) {
  const half = f16 ? `, float16 operands ${digits(f16 / 1e9)} GFLOP/s` : "";
  return `multiply-adds ${digits(f32 / 1e9)} GFLOP/s${half}, copying ${digits(copy / 1e9)} GB/s`;
}

function speedLine(record, software) {
  const { case: name, tiling, failure, milliseconds, gpuMilliseconds, group, peers } = record;
  if (failure) return `${name}, ${tiling}: WRONG, ${failure}`;
  const time = `${digits(milliseconds)} ms${gpuMilliseconds ? ` (GPU ${digits(gpuMilliseconds)})` : ""}`;
  const rate =
    group === "decode"
      ? `${digits(record.gigabytesPerSecond)} GB/s, ${percent(record.shareOfBandwidth)} of copying`
      : `${digits(record.gflops)} GFLOP/s, ${percent(record.shareOfMultiplyAdds)} of the roof`;
  const beside = Object.entries(peers).map(([peer, other]) => other.notRun ? `${peer} not run` : `${peer} ${other.ratio.toFixed(2)} × the time`); // oxfmt-ignore
  return [`${name}, ${tiling}: ${time}`, rate, ...beside, ...(software ? [] : goalsMet(record))].join(", ");
}

/** The goals of a measured case, as met or missed. */
function goalsMet({ case: name, group, shareOfMultiplyAdds, shareOfBandwidth, peers }) {
  const verdict = (goal, isMet) => `${isMet ? "met" : "MISSED"}: ${goal}`;
  return [
    ...(ROOF_CASES.includes(name) ? [verdict(`≥ ${percent(ROOF)} of the roof`, shareOfMultiplyAdds >= ROOF)] : []),
    ...(group === "decode" ? [verdict(`≥ ${percent(BANDWIDTH)} of copying`, shareOfBandwidth >= BANDWIDTH)] : []),
    ...Object.entries(peers)
      .filter(([, { ratio }]) => ratio !== undefined)
      .map(([peer, { ratio }]) => verdict(`ahead of ${peer}`, ratio > 1)),
  ];
}

export const shapeName = ({ numHeads, queryLength, keyLength, headDim }) =>
  `${numHeads}×${queryLength}×${keyLength}×${headDim}`;

function autoLines({ state, reason, calibration, choices }) {
  return [
    `  "auto": ${state}${reason ? `, ${reason}` : ""}`,
    ...(calibration?.tiling ? [`    tiling ${calibration.tiling}, calls: ${JSON.stringify(calibration.calls)}`] : []),
    ...choices.map(({ shape, plan: { engine, milliseconds = {} } }) => {
      const predicted = Object.entries(milliseconds).map(([name, time]) => `${name} ${digits(time)} ms`);
      return `    ${shapeName(shape)}: ${engine}${predicted.length > 0 ? ` (predicted: ${predicted.join(", ")})` : ""}`;
    }),
  ];
}
