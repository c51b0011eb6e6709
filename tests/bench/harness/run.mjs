// One configuration (variant, threads) in the engine that runs this file: every case is checked, then timed.
// Runs in Node and in a browser's worker; what differs between them arrives as `environment`:
//   locate(path)   address of a file of the repository
//   read(url)      its bytes
//   isNode

import { watchMemory } from "./memories.mjs"; // before anything makes a memory
import { bytesTouched, CASES, operations } from "./cases.mjs";
import { makeProblem } from "./problem.mjs";
import { checkRows, referenceOf, sampleRows } from "./reference.mjs";
import { openRoofline } from "./roofline.mjs";
import { summary } from "./statistics.mjs";
import { breathe, timeInterleaved } from "./timing.mjs";

const PEERS = {
  ort: "../peers/ortWeb.mjs",
  "ort-mha": "../peers/ortMha.mjs",
  "ort-native": "../peers/ortNative.mjs",
  tfjs: "../peers/tfjs.mjs",
  ruvector: "../peers/ruvector.mjs",
  naive: "../peers/naive.mjs",
};

/**
 * @param {object} configuration
 * @param {"simd" | "relaxed"} configuration.variant
 * @param {number} configuration.threads
 * @param {string[]} configuration.peers
 * @param {string} configuration.filter - part of a case's name
 * @param {number} configuration.rounds
 * @param {boolean} configuration.withMemoryCase - it takes half a minute, and its memory does not depend on anything
 * @param {(message: object) => void} report - gets { note } and { record }
 */
export async function run(configuration, environment, report) {
  const options = { ...configuration, ...environment };
  const { openHeadwise } = await import("../peers/headwise.mjs");
  const roofline = await openRoofline(options);
  const peers = await openPeers(options, report);
  for (const shape of CASES.filter((each) => isChosen(each, options))) {
    report({ record: await runCase(shape, await openHeadwise(options), peers, roofline, options) });
    globalThis.gc?.();
    await breathe();
  }
}

function isChosen({ name, once }, { filter, withMemoryCase }) {
  return name.toLowerCase().includes(filter.toLowerCase()) && (withMemoryCase || !once);
}

async function openPeers(options, report) {
  const peers = [];
  for (const name of options.peers) {
    try {
      const { open } = await import(PEERS[name]);
      peers.push({ name, ...(await open(options)) });
    } catch (error) {
      report({ note: `${name} does not run here: ${error.message}` });
    }
  }
  return peers;
}

async function runCase(shape, headwise, peers, roofline, { rounds }) {
  const problem = makeProblem(shape);
  const expectedRow = referenceOf(problem);
  const rows = sampleRows(shape).map((row) => ({ row, expected: expectedRow(row) }));
  const machine = roofline.watch(bytesTouched(shape));
  const record = { case: shape.name, group: shape.group, operations: operations(shape), bytes: bytesTouched(shape) };

  const { result: own, bytes: memory } = await watchMemory(() => headwise.prepare(problem));
  const firstCall = await timed(own.call);
  checkRows(rows, own.row, false);
  const { initMilliseconds } = own;
  Object.assign(record, { initMilliseconds, firstMilliseconds: firstCall, peakBytes: memory() });

  if (shape.once) {
    machine.look();
    finish(record, { median: firstCall, spread: 0 }, machine.rates());
    Object.assign(record, { peers: {}, scratchBytes: record.peakBytes - record.bytes });
    own.release();
    return record;
  }

  const entries = [own];
  const inside = await own.inside?.();
  if (inside) entries.push(inside);
  const { entries: others, problems } = await preparePeers(peers, problem, rows);
  entries.push(...others);
  const samples = await timeInterleaved(entries, rounds, async () => machine.look());
  const times = new Map(entries.map((entry, k) => [entry, summary(samples[k])]));
  finish(record, times.get(own), machine.rates());
  if (inside) record.outside = 1 - times.get(inside).median / times.get(own).median;
  record.peers = Object.fromEntries(others.map((entry) => [entry.name, describePeer(entry, times, record)]));
  record.notRun = problems;
  for (const entry of [inside, ...others, own]) entry?.release();
  return record;
}

async function preparePeers(peers, problem, rows) {
  const entries = [];
  const problems = {};
  for (const peer of peers)
    try {
      entries.push({ name: peer.name, ...(await fastestForm(peer.forms(problem), rows)) });
    } catch (error) {
      problems[peer.name] = error.message;
    }
  return { entries, problems };
}

/** A peer may have several ways to compute a case. All are tried, one at a time, and the fastest is compared. */
async function fastestForm(forms, rows) {
  if (forms.length === 0) throw new Error("it has no operator for this");
  const trials = {};
  const failures = [];
  for (const { form, open } of forms)
    try {
      const opened = await openChecked(open, rows);
      if (forms.length === 1) return { form, ...opened };
      trials[form] = await bestTime(opened.call);
      opened.release();
    } catch (error) {
      failures.push(`${form}: ${error.message}`);
    }
  const [best] = Object.entries(trials).sort(([, a], [, b]) => a - b);
  if (!best) throw new Error(failures.join("; "));
  const { open } = forms.find(({ form }) => form === best[0]);
  return { form: best[0], trials, failures, ...(await openChecked(open, rows)) };
}

async function openChecked(open, rows) {
  const opened = await open();
  try {
    await opened.call();
    checkRows(rows, opened.row, true);
    return opened;
  } catch (error) {
    opened.release();
    throw error;
  }
}

function describePeer(entry, times, record) {
  const { median, spread } = times.get(entry);
  const { form, trials, failures } = entry;
  return { milliseconds: median, spread, ratio: median / record.milliseconds, form, trials, failures };
}

function finish(record, { median, spread }, { compute, read }) {
  const atBest = Math.max(record.operations / compute, record.bytes / read) * 1e3;
  Object.assign(record, {
    milliseconds: median,
    spread,
    gflops: record.operations / median / 1e6,
    gigabytes: record.bytes / median / 1e6,
    roofline: { share: atBest / median, gflops: compute / 1e9, gigabytes: read / 1e9 },
  });
}

/** The least of what a call takes within half a second, at least once: V8 has optimised it by then. */
async function bestTime(call) {
  let best = Infinity;
  for (const end = performance.now() + 500; best === Infinity || performance.now() < end;)
    best = Math.min(best, await timed(call));
  return best;
}

async function timed(call) {
  const start = performance.now();
  await call();
  return performance.now() - start;
}
