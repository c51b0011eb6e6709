// npm run bench: compares headwise with its peers; see README.md in this folder.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";

import { buildToRun } from "../../web/build/build.mjs";
import { installPackages } from "../../web/build/packages.mjs";
import { run, say } from "../../web/build/run.mjs";
import { fileToWrite, namesIn, oneOf, optionsOf, UsageError, wholeNumber } from "../../web/build/usage.mjs";
import { installSize } from "../figures/installs.mjs";
import { BUSY, compare, comparisonLines } from "./compare.mjs";
import { openEngine, VERSIONS } from "./engines.mjs";
import { CASES, isChosen } from "./harness/cases.mjs";
import { buildPrograms } from "./programs/build.mjs";
import { record, recordedTable } from "./record.mjs";
import { fromBench } from "./schema/fromBench.mjs";
import { commit } from "./schema/libraries.mjs";
import { header, LEGEND, line, means, remarks } from "./table.mjs";
import { describe, targetsOf, timesTargets } from "./targets.mjs";
import { timeHeader, timeLine } from "./times/table.mjs";
import { measureTimes } from "./times/times.mjs";
import { benchWebgpu, GPU_PEERS } from "./webgpu/bench.mjs";

const PEERS = ["ort", "ort-mha", "tfjs", "jax", "ruvector", "ort-native", "naive"];
const VARIANTS = ["relaxed", "simd"];

/** What --quick means, where no other option says more. */
const QUICK = { variant: "relaxed", peers: "ort", rounds: "3" };

const USAGE = `npm run bench -- [options]
  --filter TEXT     only cases whose name contains TEXT, or whose group is TEXT
  --quick           a few cases of each kind, relaxed SIMD, beside ort only, ${QUICK.rounds} rounds: at most four minutes
  --threads LIST    numbers of threads, default 1 and all: ${defaultThreads()}
  --variant LIST    relaxed, simd; default both
  --peers LIST      of ${PEERS.join(", ")}; or all, none; default ort,ort-mha
  --rounds N        turns of each contender, default 7
  --node MAJOR      20, 22 or 24, default this Node
  --browser         headless Chromium instead of Node
  --backend NAME    wasm (default) or webgpu: in headless Chromium, beside ort and tfjs on WebGPU; see webgpu/
  --sizes           what small apps load, and their first call over a slow connection, in headless Chromium; with
                    --filter NAME, --rounds N, and --record keeps the table; see sizes/
  --isa             what AMD's compiler makes of the kernels, without a GPU and without measuring;
                    with --filter NAME, and --verbose for the loops; see isa/
  --save FILE       writes everything that was measured, with its spread, as JSON
  --json FILE       writes every time in the format headwise-bench, which the lab's room Bench draws; see schema/
  --record TABLE    keeps the cases in a table of tests/figures/figures.json, and fills the pages
  --against FILE    compares with what --save wrote before: now/before, case by case
  --built           does not build the package and the bench's own programs first
  --verbose         says how peers computed a case, and why not
  --help            this text`;

function defaultThreads() {
  return [...new Set([1, availableParallelism()])].join(",");
}

function readOptions() {
  const given = optionsOf(USAGE, { likely: "filter" });
  const values = { filter: "", rounds: "7", ...(given.quick && QUICK), ...given };
  if (values.record !== undefined && !values.sizes) recordedTable(values.record);
  const backend = oneOf("--backend", values.backend ?? "wasm", ["wasm", "webgpu"]);
  const peers = backend === "webgpu" ? GPU_PEERS : PEERS;
  const threads = (values.threads ?? defaultThreads()).split(",");
  return {
    ...values,
    backend,
    threads: threads.map((text) => wholeNumber("--threads", text, 1, 1024)),
    variants: values.variant === undefined ? VARIANTS : namesIn("--variant", values.variant, VARIANTS),
    peers: peersOf(values.peers ?? (backend === "webgpu" ? "all" : "ort,ort-mha"), peers),
    rounds: wholeNumber("--rounds", values.rounds, 1, 10_000),
    node: values.node === undefined ? undefined : Number(oneOf("--node", values.node, VERSIONS)),
    save: values.save === undefined ? undefined : fileToWrite("--save", values.save),
    json: values.json === undefined ? undefined : fileToWrite("--json", values.json),
    before: values.against === undefined ? undefined : readSaved(values.against),
  };
}

function peersOf(text, known) {
  if (text === "none") return [];
  return text === "all" ? known : namesIn("--peers", text, known);
}

/** Reads a saved file before anything is measured, so that a wrong file name is reported at once. */
function readSaved(file) {
  const saved = savedIn(file);
  if (!saved?.runs || !saved.options) throw new UsageError(`--against: ${file} was not written by --save`);
  return saved;
}

function savedIn(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`--against: ${file} cannot be read: ${error.message}`);
  }
}

async function prepare({ peers, backend, built }) {
  if (!built) await buildToRun();
  if (!built && backend !== "webgpu") await buildPrograms();
  const folder = new URL(".", import.meta.url);
  if (peers.every((name) => name === "naive") || existsSync(new URL("node_modules/.package-lock.json", folder))) return;
  say(`bench: npm ci of the peers (about ${installSize("tests/bench")} on disk)`);
  await run("npm", ["ci"], { cwd: folder });
}

/** Measures calls on wasm, then the other times, if the filter chooses any. */
async function bench(options) {
  const engine = await openEngine(options);
  const runs = [];
  console.log(`${machineWith().cpu}, ${machineWith().cores} cores, ${engine.name}, ${new Date().toISOString()}`);
  try {
    if (CASES.some((each) => isChosen(each, options))) await benchCalls(engine, options, runs);
  } finally {
    await engine.close();
  }
  if (options.quick) return { machine: machineWith({ engine: engine.name }), runs };
  const { pages, ...times } = await benchTimes(options);
  return { machine: machineWith({ engine: engine.name, pages }), runs: [...runs, times] };
}

async function benchCalls(engine, options, runs) {
  console.log(LEGEND);
  for (const variant of options.variants)
    for (const threads of options.threads) {
      const withMemoryCase = runs.length === 0;
      const run = await runConfiguration(engine, { ...options, variant, threads, withMemoryCase });
      run.targets = targetsOf(run, runs, options.browser);
      printTargets(run);
      runs.push(run);
    }
}

const machineWith = (more) => ({ cpu: cpus()[0]?.model, cores: availableParallelism(), ...more });

async function runConfiguration(engine, { variant, threads, peers, filter, quick, rounds, withMemoryCase, verbose }) {
  const name = `${variant === "simd" ? "plain" : variant} SIMD, ${threads} ${threads === 1 ? "thread" : "threads"}`;
  console.log(`\n${name}\n${header(peers)}`);
  const records = [];
  await engine.run({ variant, threads, peers, filter, quick, rounds, withMemoryCase }, ({ note, record }) => {
    if (note) console.log(note);
    if (!record) return;
    records.push(record);
    console.log(line(record, peers));
    if (verbose) for (const remark of remarks(record)) console.log(`    ${remark}`);
  });
  console.log(`Geometric means\n${means(records, peers).join("\n")}`);
  return { name, variant, threads, records };
}

function printTargets({ targets }) {
  if (targets.length > 0) console.log(`Goals\n${targets.map(describe).join("\n")}`);
}

async function benchTimes(options) {
  const records = [];
  const report = ({ note, record }) => {
    if (record && records.push(record) === 1) console.log(`\nTimes\n${timeHeader}`);
    console.log(record ? timeLine(record) : note);
  };
  const pages = await measureTimes(options, report);
  const times = { name: "times", pages, records, targets: timesTargets(records) };
  printTargets(times);
  return times;
}

async function measure(options) {
  if (options.backend !== "webgpu") return bench(options);
  const { runs, ...engine } = await benchWebgpu(options);
  return { machine: machineWith(engine), runs };
}

async function benchSizes(options) {
  if (!options.built) await buildToRun();
  const { sizes } = await import("./sizes/sizes.mjs"); // loads Vite
  await sizes(options, process.argv.slice(2));
}

async function benchIsa(options) {
  await installPackages();
  const { printIsa } = await import("./isa/isa.mjs"); // needs the packages
  return printIsa(options);
}

async function measureAndCompare(options) {
  const { before, save, json, peers, rounds } = options;
  await prepare(options);
  const load = loadavg()[0];
  console.log(`load ${load.toFixed(1)}`);
  if (load > availableParallelism() * BUSY) console.log("The machine is busy: do not trust these numbers.");
  const now = { date: new Date().toISOString(), commit: commit(), load, options: { peers, rounds } };
  Object.assign(now, await measure(options));
  if (now.runs.every(({ records }) => records.length === 0))
    throw new Error(`--filter: no case that was asked for is named ${JSON.stringify(options.filter)}`);
  if (save) writeFileSync(save, `${JSON.stringify(now, undefined, 1)}\n`);
  if (json) writeFileSync(json, `${JSON.stringify(fromBench(now, process.argv.slice(2)), undefined, 1)}\n`);
  if (options.record) record(options.record, now, process.argv.slice(2));
  if (!before) return;
  const named = ({ commit: made, date }) => `${made ?? "no commit"} of ${date}`;
  console.log(`\n${named(now)} against ${named(before)}\n${comparisonLines(compare(before, now)).join("\n")}`);
}

try {
  const options = readOptions();
  if (options.sizes) await benchSizes(options);
  else if (!options.isa) await measureAndCompare(options);
  else if (!(await benchIsa(options))) process.exitCode = 1;
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
