// What the bench prints for WebGPU.

import { percent, table } from "../columns.mjs";

const digits = (milliseconds) => milliseconds.toPrecision(3);

const COLUMNS = [
  ["case", 34, ({ case: name }) => name],
  ["ms", 9, ({ milliseconds }) => digits(milliseconds)],
  ["±", 5, ({ spread }) => percent(spread)],
  ["best", 9, ({ samples }) => digits(Math.min(...samples))],
  ["GPU ms", 9, ({ gpuMilliseconds }) => digits(gpuMilliseconds)],
  ["TFLOP/s", 8, ({ teraflops }) => teraflops.toPrecision(3)],
  ["GB/s", 8, ({ gigabytes }) => gigabytes.toPrecision(3)],
  ["of roof", 8, ({ share }) => percent(share)],
  ["kernels", 8, ({ dispatches }) => String(dispatches)],
  ["first ms", 9, ({ firstMilliseconds }) => digits(firstMilliseconds)],
];

export const { header, line } = table(COLUMNS, 9);

export const LEGEND = [
  "ms: a call until the GPU is done (small calls: until it is submitted), median of rounds, ± half the distance of their",
  "quartiles; best: the fastest round; GPU ms: its kernels by timestamps; TFLOP/s of visible work, GB/s and of roof (the",
  "slower of the probes' multiply-adds and copying) by GPU ms; kernels: dispatches of a call; first ms: with compilation,",
  "on a new device; ×peer: how many times longer the peer takes.",
].join("\n");

/** Remarks on a case: the kernels of a call, the form in which a peer computed it, or why a peer did not. */
export function remarks({ kernels, peers, notRun }) {
  return [
    ...kernels.map(({ kernel, milliseconds }) => `${kernel}: ${digits(milliseconds)} ms`),
    ...Object.entries(peers).map(([name, { form, milliseconds }]) => `${name}: ${form}, ${digits(milliseconds)} ms`),
    ...Object.entries(notRun).map(([name, reason]) => `${name}: not run, ${reason}`),
  ];
}
