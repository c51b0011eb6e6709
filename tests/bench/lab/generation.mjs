// node tests/bench/lab/generation.mjs: how many tokens a second a model of the user's own generates, beside what the
// machine allows: one token reads all weights once. The model has the shape of GPT-2 small (124 million parameters) and
// random weights.

import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { openGpu } from "../../trust/soak/gpu.mjs";
import { oneOf, settingsOf, wholeNumber } from "../../../web/build/usage.mjs";
import { openRoofline } from "../harness/roofline.mjs";
import { quantile } from "../harness/statistics.mjs";
import { buildPrograms } from "../programs/build.mjs";
import { print, record } from "../models/rows.mjs";
import { probe } from "../webgpu/probes.mjs";
import { configOf, randomFile } from "./gpt2Small.mjs";

/** The share of what reading the weights once allows, on wasm. Nothing fails because of these goals. */
const GOALS = { float32: 0.6, bfloat16: 0.5, float16: 0.4, int8: 0.35 };

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const from = (file) => import(pathToFileURL(path.join(ROOT, "dist", file)).href);
const USAGE = `node tests/bench/lab/generation.mjs [options]
  --backend NAME      wasm (default) or webgpu: the GPU of this machine, in Node
  --layers N          blocks (default 12)
  --tokens N          tokens that are timed, after 4 that warm up (default 12)
  --precision NAME    float32, bfloat16, float16 or int8 (default: all)
  --threads N         default: all
  --record            keeps the results in the table "generation" (on WebGPU "gpu-generation") of
                      tests/figures/figures.json
  --help              this text`;

const ENGINES = { wasm: onWasm, webgpu: onWebgpu };
const PRECISIONS = Object.keys(GOALS);
const { backend, layers, tokens, precisions, threads, isKept } = settingsOf(USAGE, (given) => ({
  backend: oneOf("--backend", given.backend ?? "wasm", Object.keys(ENGINES)),
  layers: wholeNumber("--layers", given.layers ?? "12", 1),
  tokens: wholeNumber("--tokens", given.tokens ?? "12", 1),
  precisions: given.precision === undefined ? PRECISIONS : [oneOf("--precision", given.precision, PRECISIONS)],
  threads: given.threads === undefined ? availableParallelism() : wholeNumber("--threads", given.threads, 1),
  isKept: given.record === true,
}));
const isOnGpu = backend === "webgpu";
const COLUMNS = ["weights", "megabytes", "measured", "reading them once allows", "share", ...(isOnGpu ? [] : ["goal"])];

const { createAttention } = await from("index.node.js");
const { loadModel } = await from("models.js");

const { open, readRate } = await ENGINES[backend]();
const rows = [];
for (const precision of precisions) rows.push(await measure(precision));
print(COLUMNS, rows);
const table = isOnGpu ? "gpu-generation" : "generation";
if (isKept) record(table, "node tests/bench/lab/generation.mjs", COLUMNS, rows);
process.exit(0); // otherwise the probes' threads would keep the process alive

async function onWasm() {
  await buildPrograms();
  const locate = (place) => new URL(place, pathToFileURL(ROOT)).href;
  return {
    open: () => createAttention({ backend: "wasm", threads, maximumMemory: 2 ** 31 }),
    async readRate({ variant }, bytes) {
      const probes = (await openRoofline({ variant, threads, locate, isNode: true })).watch(bytes);
      for (let n = 0; n < 5; n++) probes.look();
      return probes.rates().read;
    },
  };
}

/** The rate of a GPU is that of copying: it counts what is read and what is written. */
async function onWebgpu() {
  const gpu = await openGpu();
  if (!gpu) throw new Error("--backend webgpu: there is no WebGPU adapter here");
  const device = await (await gpu.requestAdapter()).requestDevice();
  const { copy } = await probe(device);
  device.destroy();
  return { open: () => createAttention({ backend: "webgpu", gpu }), readRate: () => copy };
}

async function measure(precision) {
  const isBfloat16 = precision === "bfloat16";
  const hw = await open();
  const files = {
    "config.json": new TextEncoder().encode(JSON.stringify(configOf(layers))),
    "model.safetensors": randomFile(isBfloat16 ? "BF16" : "F16", layers),
  };
  const model = await loadModel(hw, files, { precision: isBfloat16 ? "as-stored" : precision });
  const times = await timesOf(model);
  const median = quantile(times.slice(4), 0.5);
  const read = await readRate(hw.report, model.bytes);
  const least = (1000 * model.bytes) / read;
  const row = [
    precision,
    (model.bytes / 1e6).toFixed(0),
    `${(1000 / median).toFixed(1)} tokens/s`,
    `${(1000 / least).toFixed(1)} tokens/s, at ${(read / 1e9).toFixed(1)} GB/s`,
    `${((100 * least) / median).toFixed(0)} %`,
    ...(isOnGpu ? [] : [`at least ${100 * GOALS[precision]} %`]),
  ];
  model.dispose();
  hw.dispose();
  return row;
}

/** The milliseconds of each token. */
async function timesOf(model) {
  const times = [];
  let begun = performance.now();
  const steps = model.generate([1, 2, 3], { maxNewTokens: tokens + 4, temperature: 0 });
  while (!(await steps.next()).done) {
    times.push(performance.now() - begun);
    begun = performance.now();
  }
  return times;
}
