// What the cases say of headwise in this JavaScript engine, for each way in which headwise can compute. It runs in Node
// and in pages.

import { relaxedSimd, simd, threads } from "wasm-feature-detect";

import { openHeadwise } from "../../attention-conformance/adapters/headwise.mjs";

/** How many examples of a failure are kept. */
const EXAMPLES = 5;

/**
 * How each way is asked for, and whether this JavaScript engine has what it needs. That is found out without headwise: if
 * headwise then does not compute in this way, it is a failure of headwise.
 */
const WAYS = {
  simd: { settings: { backend: "wasm", variant: "simd", threads: 1 }, isPossible: simd },
  relaxed: { settings: { backend: "wasm", variant: "relaxed", threads: 1 }, isPossible: relaxedSimd },
  threads: { settings: { backend: "wasm", threads: 2 }, isPossible: threads },
  webgpu: {
    settings: { backend: "webgpu" },
    isPossible: async (gpu) => Boolean(await gpu?.requestAdapter()),
  },
};

const load = (...names) => Promise.all(names.map((name) => import(name)));

/** The names by which the adapter of a GPU can be recognised. */
async function adapterOf(gpu) {
  const { vendor, architecture, description } = (await gpu.requestAdapter()).info;
  return [vendor, architecture, description].filter(Boolean).join(" ");
}

/** Why the instance does not compute in the way that was asked for; undefined if it does. */
const shortfall = ({ threads: wanted }, { threads: found, reasons }) =>
  wanted !== undefined && found !== wanted ? (reasons.threads ?? `${found} threads`) : undefined;

async function checked(engine, { measure }, rows) {
  const counts = { passed: 0, failed: 0, examples: [] };
  await measure(engine, { rows, onnx: [] }, ({ name, verdict, error, note }) => {
    if (verdict === "passed") return ++counts.passed;
    if (++counts.failed <= EXAMPLES) counts.examples.push([name, verdict, note ?? error].join(" "));
  });
  return counts;
}

/**
 * Computes the cases in one way.
 *
 * @param {string} name - of the way
 * @param {object} suite - the module of tests/attention-conformance/measure
 * @param {object[]} rows - the cases
 * @param {GPU} [gpu]
 * @returns {Promise<object>} `isPossible`, and either `absent`, the reason, or the counts and headwise's report
 */
export async function resultOf(name, suite, rows, gpu) {
  const { settings, isPossible: ask } = WAYS[name];
  const started = performance.now();
  const isPossible = await ask(gpu);
  let engine;
  try {
    engine = await openHeadwise(
      { ...settings, ...(name === "webgpu" && gpu && { gpu }) },
      { load, features: suite.OFFERED },
    );
  } catch (error) {
    return { name, isPossible, absent: error.message };
  }
  const { variant, threads: count, reasons } = engine.report;
  const absent = shortfall(settings, engine.report);
  const counts = absent ? { absent } : await checked(engine, suite, rows);
  engine.close();
  const adapter = name === "webgpu" && (await adapterOf(gpu));
  const seconds = (performance.now() - started) / 1e3;
  return {
    name,
    isPossible,
    seconds,
    ...counts,
    report: { variant, threads: count, reasons },
    ...(adapter && { adapter }),
  };
}

/** Every n-th of the cases. */
export const everyNth = (rows, step) => rows.filter((_, n) => n % step === 0);
