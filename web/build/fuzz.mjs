// Builds the libFuzzer targets and runs them. How many inputs they have run is added up in tests/cpp/corpus/executions.json.

import { createReadStream, createWriteStream, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";

import { configure } from "./cmake.mjs";
import { LONGEST_INPUT, unpackedCorpus } from "./corpus.mjs";
import { readNote, writeNote } from "./note.mjs";
import { build, root } from "./paths.mjs";
import { ended, start } from "./run.mjs";
import { CORE, stageDigest } from "./stamps.mjs";

const EXECUTIONS = path.join(root, "tests/cpp/corpus/executions.json");

/** An input that takes longer, in seconds, counts as hanging and is kept. Inputs usually take milliseconds. */
const INPUT_HANGS_AFTER = 120;

/**
 * The preset of the targets. A search is guided by what an input covers, which takes a quarter of the compiler's time. To run
 * known inputs needs no guide: those targets link the objects of the stage "asan".
 */
const presetOf = (isSearch) => (isSearch ? "fuzz" : "asan");

export async function buildFuzzers(isSearch) {
  const program = await configure(presetOf(isSearch));
  await program.build("fuzz_targets");
}

/** The program of a target that has been built. */
export const fuzzerProgram = (name, isSearch) => path.join(build, presetOf(isSearch), "tests/cpp", name);

/**
 * Runs one target, which must have been built.
 *
 * @param {string} name
 * @param {object} options
 * @param {string} options.finds - folder for what it finds: new inputs, and those that fail
 * @param {number} options.seconds - how long; 0 runs each input of the corpus once
 * @param {number} options.seed - 0 is a new one each time
 * @returns {Promise<{ name: string, holds: boolean, executions: number, edges: number, allEdges: number }>} holds: it
 *   found no error; the edges are 0 where nothing is searched for
 */
export async function fuzzOne(name, { finds, seconds, seed }) {
  mkdirSync(finds, { recursive: true });
  const limits = [`-timeout=${INPUT_HANGS_AFTER}`, `-max_len=${LONGEST_INPUT}`, "-len_control=0"];
  const time = seconds > 0 ? [`-max_total_time=${seconds}`, `-seed=${seed}`] : ["-runs=0"];
  const output = ["-print_funcs=0", "-print_final_stats=1", `-artifact_prefix=${finds}/`];
  const corpora = [finds, unpackedCorpus(name)];
  const log = `${finds}.log`;
  const child = start(fuzzerProgram(name, seconds > 0), [...time, ...limits, ...output, ...corpora], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(createWriteStream(log, { flags: "a" }));
  const status = await ended(child);
  return { name, holds: status === 0, ...(await readLog(log)) };
}

/** What libFuzzer says at its end. Its edges are those of the whole program, tests included. */
async function readLog(log) {
  const said = { executions: 0, edges: 0, allEdges: 0 };
  for await (const line of createInterface(createReadStream(log))) {
    const executions = /number_of_executed_units: (\d+)/.exec(line)?.[1];
    const edges = /^#\d+\s.*\bcov: (\d+)/.exec(line)?.[1];
    const allEdges = /Loaded 1 modules\s+\((\d+)/.exec(line)?.[1];
    if (executions) said.executions = Number(executions);
    if (edges) said.edges = Number(edges);
    if (allEdges) said.allEdges = Number(allEdges);
  }
  return said;
}

const LAST_RUNS = path.join(build, "test-results/fuzz-runs.json");

/** Keeps the results of a stage for `npm run trust`. */
export const keepLastRuns = (runs) => writeNote(LAST_RUNS, JSON.stringify({ digest: stageDigest(CORE), runs }));

/** The results of the last stage, if it ran with the sources as they are now. */
export function lastRuns() {
  const last = readNote(LAST_RUNS, JSON.parse);
  return last?.digest === stageDigest(CORE) ? last.runs : undefined;
}

/** The files in a folder of finds that are inputs on which a target failed. */
export const failuresIn = (finds) => readdirSync(finds).filter((file) => /^(crash|timeout|oom|leak)-/.test(file));

/** For each target: how many inputs it has run in all recorded runs, and their seeds. */
export const keptExecutions = () => JSON.parse(readFileSync(EXECUTIONS, "utf8"));

/** Adds what runs have done. Runs that found an error count too. */
export function keepExecutions(runs, seed) {
  const kept = keptExecutions();
  for (const { name, executions } of runs) {
    kept[name] ??= { executions: 0, seeds: [] };
    kept[name].executions += executions;
    kept[name].seeds = [...new Set([...kept[name].seeds, seed])].sort((a, b) => a - b);
  }
  writeFileSync(EXECUTIONS, `${JSON.stringify(kept, null, 2)}\n`);
}
