// node --expose-gc cycles.mjs REPORT CYCLES: makes and disposes instances, one after another, and writes what the process
// held meanwhile. One in ten has threads, and one in fifty lives in a worker; these take much longer to make.

import { writeFileSync } from "node:fs";

import * as direct from "headwise";
import * as inWorker from "headwise/worker";

import { bitsOf, sameBits } from "../calls.mjs";
import { sizes } from "./sizes.mjs";

const [report, count] = process.argv.slice(2);
const SAMPLES = 20;
const WARM_UP = 0.2;
const x = { data: Float32Array.from({ length: 64 }, (_, n) => Math.sin(n)), shape: [8, 8] };

async function cycle(n) {
  const { createAttention } = n % 50 === 0 ? inWorker : direct;
  const threads = n % 10 === 0 ? 2 : 1;
  const hw = await createAttention({ backend: "wasm", threads, maximumMemory: 64 * 2 ** 20 });
  const bits = bitsOf(await hw.scaledDotProductAttention(x, x, x, { causal: true }));
  await hw.dispose();
  return bits;
}

const threadsLeft = () => process.report.getReport().workers.length;

/** Threads end after `dispose` has returned. If one does not end, the row ends this process after its limit. */
async function threadsEnded() {
  while (threadsLeft() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

/**
 * V8 of Node 20 has a list of all shared memories that were ever made, and never shortens it. It has room for 61,444 entries
 * once there are 40,963. These fill it so far, so that it does not grow while instances are made.
 */
const LISTED = 41_000;
async function fillList() {
  for (let n = 1; n <= LISTED; ++n) {
    new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    if (n % 50 > 0) continue;
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc();
  }
}

await fillList();
const first = await cycle(1);
let isSame = true;
let made = 0;
async function makeSome(cycles) {
  for (let n = 0; n < cycles; ++n) isSame = sameBits(await cycle(++made), first) && isSame;
  await threadsEnded();
}

await makeSome(Math.round(count * WARM_UP));
const samples = [];
const perSample = Math.round((count * (1 - WARM_UP)) / SAMPLES);
for (let sample = 0; sample < SAMPLES; ++sample) {
  await makeSome(perSample);
  samples.push(await sizes());
}
writeFileSync(report, JSON.stringify({ cycles: made, sampled: SAMPLES * perSample, isSame, samples }));
