// npm run gpu:proof -- --record FILE: keeps what a proof has measured of a real GPU in the table "gpu" of figures.json.

import { readFileSync } from "node:fs";

import { keep } from "../../figures/file.mjs";

const COLUMNS = ["case", "GPU, ms", "rate", "of the GPU's limit", "calls one after another, ms"];

const digits = (number) => (number < 0.1 ? number.toFixed(3) : number.toPrecision(3));
const percent = (share) => `${Math.round(100 * share)} %`;
const whole = (number) => Math.round(number).toLocaleString("en");

/**
 * The times of the default tiling, from the first host that has measured a real GPU. A GPU's time above that of the whole
 * call is wrong, and is left out.
 */
export function tableOf({ date, hosts }) {
  const measured = hosts.find(({ adapter, rates }) => rates && !adapter.software);
  if (!measured) throw new Error("--record: no host of this file has measured a real GPU");
  const { host, adapter, table, rates, speed } = measured;
  const [{ tiling: usual }] = table;
  const rows = speed.filter(
    ({ tiling, gpuMilliseconds: own, milliseconds }) => tiling === usual && own <= milliseconds,
  );
  const [ran, right] = ["ran", "right"].map((name) => table.reduce((sum, variant) => sum + variant[name], 0));
  return {
    commands: ["npm run gpu:proof"],
    date: date.slice(0, 10),
    machine: `${adapter.device || adapter.description} (${adapter.description}), ${host.name}, ${host.system}`,
    columns: COLUMNS,
    rows: Object.fromEntries(rows.map((row) => [row.case, rowOf(row)])),
    notes: [
      `${whole(right)} of ${whole(ran)} cases on ${table.length} variants of the kernels were right.`,
      `The GPU's limits in the same run: ${(rates.f32 / 1e12).toFixed(1)} TFLOP/s of multiply-adds in registers, ${whole(rates.copy / 1e9)} GB/s of copying.`,
    ],
  };
}

function rowOf({ case: name, group, gpuMilliseconds, milliseconds, gflops, gigabytesPerSecond, ...shares }) {
  const rate = group === "decode" ? `${whole(gigabytesPerSecond)} GB/s` : `${(gflops / 1000).toFixed(1)} TFLOP/s`;
  const share =
    group === "decode"
      ? `${percent(shares.shareOfBandwidth)} of copying`
      : `${percent(shares.shareOfMultiplyAdds)} of multiply-adds`;
  return [name, digits(gpuMilliseconds), rate, share, digits(milliseconds)];
}

/** @param {string} file - a gpu-proof.json */
export const record = (file) => keep("gpu", tableOf(JSON.parse(readFileSync(file, "utf8"))));
