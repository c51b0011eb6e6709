// npm run bench: headwise beside its peers, see README.md in this folder.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";

import { buildToRun } from "../../web/build/build.mjs";
import { run, say } from "../../web/build/run.mjs";
import { openEngine } from "./engines.mjs";
import { buildPrograms } from "./programs/build.mjs";
import { header, LEGEND, line, means, remarks } from "./table.mjs";
import { describe, targetsOf } from "./targets.mjs";
import { benchWebgpu, GPU_PEERS } from "./webgpu/bench.mjs";

const PEERS = ["ort", "ort-mha", "tfjs", "ruvector", "ort-native", "naive"];
const VARIANTS = ["relaxed", "simd"];

const USAGE = `npm run bench -- [options]
  --filter TEXT     only cases whose name contains TEXT
  --threads LIST    numbers of threads, default 1 and all: ${defaultThreads()}
  --variant LIST    relaxed, simd; default both
  --peers LIST      of ${PEERS.join(", ")}; or all, none; default ort,ort-mha
  --rounds N        turns of each contender, default 7
  --node MAJOR      20, 22 or 24, default this Node
  --browser         headless Chromium instead of Node
  --backend webgpu  WebGPU in headless Chromium, beside ort and tfjs on WebGPU; see webgpu/
  --json FILE       everything that was measured
  --verbose         says how peers computed a case, and why not`;

function defaultThreads() {
  return [...new Set([1, availableParallelism()])].join(",");
}

function readOptions() {
  const text = { type: "string" };
  const flag = { type: "boolean", default: false };
  const { values } = parseArgs({
    options: {
      ...{ filter: { ...text, default: "" }, threads: text, variant: text, peers: text },
      ...{
        rounds: { ...text, default: "7" },
        node: text,
        browser: flag,
        backend: { ...text, default: "wasm" },
        json: text,
        verbose: flag,
        help: flag,
      },
    },
  });
  if (values.help) return undefined;
  if (values.backend === "webgpu")
    return {
      ...values,
      peers: peersOf(values.peers ?? "all", GPU_PEERS),
      rounds: positive("--rounds", values.rounds),
    };
  return {
    ...values,
    threads: (values.threads ?? defaultThreads()).split(",").map((n) => positive("--threads", n)),
    variants: listOf("--variant", values.variant ?? "", VARIANTS),
    peers: peersOf(values.peers ?? "ort,ort-mha", PEERS),
    rounds: positive("--rounds", values.rounds),
    node: values.node && positive("--node", values.node),
  };
}

const peersOf = (text, known) => (text === "none" ? [] : listOf("--peers", text === "all" ? "" : text, known));

function positive(option, text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${option} must be a positive integer, got ${text}`);
  return number;
}

function listOf(option, text, known) {
  const names = text ? text.split(",") : known;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown) throw new Error(`${option}: no ${unknown}, only ${known.join(", ")}`);
  return names;
}

async function prepare({ peers, backend }) {
  await buildToRun();
  if (backend !== "webgpu") await buildPrograms();
  const folder = new URL(".", import.meta.url);
  if (peers.every((name) => name === "naive") || existsSync(new URL("node_modules/.package-lock.json", folder))) return;
  say("bench: npm ci of the peers (about 500 MB on disk)");
  await run("npm", ["ci"], { cwd: folder });
}

async function bench(options) {
  await prepare(options);
  const engine = await openEngine(options);
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism(), engine: engine.name };
  const results = { date: new Date().toISOString(), machine, load: loadavg()[0], runs: [] };
  console.log(
    `${machine.cpu}, ${machine.cores} cores, ${engine.name}, ${results.date}, load ${results.load.toFixed(1)}`,
  );
  if (results.load > machine.cores * 0.75) console.log("The machine is busy: do not trust these numbers.");
  for (const variant of options.variants) console.log(sizeOf(variant));
  console.log(LEGEND);
  try {
    for (const variant of options.variants)
      for (const threads of options.threads) {
        const withMemoryCase = results.runs.length === 0;
        const run = await runConfiguration(engine, { ...options, variant, threads, withMemoryCase });
        run.targets = targetsOf(run, results.runs);
        console.log(`Goals\n${run.targets.map(describe).join("\n")}`);
        results.runs.push(run);
      }
  } finally {
    await engine.close();
  }
  if (options.json) writeFileSync(options.json, `${JSON.stringify(results, undefined, 1)}\n`);
}

function sizeOf(variant) {
  const wasm = readFileSync(new URL(`../../dist/wasm/headwise.${variant}.wasm`, import.meta.url));
  const kilobytes = (bytes) => (bytes.length / 1024).toFixed(0);
  return `headwise.${variant}.wasm: ${kilobytes(wasm)} KB, ${kilobytes(gzipSync(wasm))} KB by gzip`;
}

async function runConfiguration(engine, { variant, threads, peers, filter, rounds, withMemoryCase, verbose }) {
  console.log(
    `\n${variant === "simd" ? "plain" : variant} SIMD, ${threads} ${threads === 1 ? "thread" : "threads"}\n${header(peers)}`,
  );
  const records = [];
  await engine.run({ variant, threads, peers, filter, rounds, withMemoryCase }, ({ note, record }) => {
    if (note) console.log(note);
    if (!record) return;
    records.push(record);
    console.log(line(record, peers));
    if (verbose) for (const remark of remarks(record)) console.log(`    ${remark}`);
  });
  console.log(`Geometric means\n${means(records, peers).join("\n")}`);
  return { variant, threads, records };
}

try {
  const options = readOptions();
  if (options?.backend === "webgpu") {
    await prepare(options);
    await benchWebgpu(options);
  } else if (options) await bench(options);
  else console.log(USAGE);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
