// Runs one configuration (variant, threads) in the present engine: every case is checked, then timed. It works in Node
// and in a browser's worker; `environment` has what differs:
//
//   locate(path)   address of a file of the repository
//   read(url)      its bytes
//   isNode

import { watchMemory } from "./memories.mjs"; // before anything makes a memory
import { bytesTouched, CASES, isChosen, operations } from "./cases.mjs";
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
  jax: "../peers/jax.mjs",
  ruvector: "../peers/ruvector.mjs",
  naive: "../peers/naive.mjs",
};

/** A form is not tried again if its first call takes this many times longer than the best form. */
const HOPELESS = 8;
/** If a call of a peer takes longer than this, it is called only once. */
const ONE_CALL_MILLISECONDS = 8000;

/**
 * @param {object} configuration
 * @param {"simd" | "relaxed"} configuration.variant
 * @param {number} configuration.threads
 * @param {string[]} configuration.peers
 * @param {string} configuration.filter - part of a case's name, or its group
 * @param {boolean} configuration.quick - only the cases of --quick
 * @param {number} configuration.rounds
 * @param {boolean} configuration.withMemoryCase - the case takes half a minute, and its memory is the same in every
 *   configuration
 * @param {(message: object) => void} report - gets { note } and { record }
 */
export async function run(configuration, environment, report) {
  const options = { ...configuration, ...environment };
  const { openHeadwise } = await import("../peers/headwise.mjs");
  const roofline = await openRoofline(options);
  const peers = await openPeers(options, report);
  for (const shape of CASES.filter((each) => isChosen(each, options) && (options.withMemoryCase || !each.once))) {
    report({ record: await runCase(shape, await openHeadwise(options), peers, roofline, options) });
    globalThis.gc?.();
    await breathe();
  }
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

  const { result: own, bytes: memory } = await watchMemory(() => headwise.prepare(problem));
  const firstMilliseconds = await timed(own.call);
  checkRows(rows, own.row, false);
  const record = {
    ...{ case: shape.name, group: shape.group, operations: operations(shape), bytes: bytesTouched(shape) },
    ...{ initMilliseconds: own.initMilliseconds, firstMilliseconds, peakBytes: memory() },
  };
  if (shape.once) {
    machine.look();
    const scratchBytes = record.peakBytes - record.bytes;
    Object.assign(record, speed(record, { median: firstMilliseconds, spread: 0 }, machine.rates()));
    Object.assign(record, { peers: {}, scratchBytes });
  } else {
    const { entries, notRun } = await preparePeers(peers, problem, rows);
    const inside = await openInside(own, rows);
    Object.assign(record, { notRun }, await compare(record, { own, inside, peers: entries }, machine, rounds));
    inside.release();
    for (const entry of entries) entry.release();
  }
  own.release();
  return record;
}

/** The same call on tensors inside the engine. */
async function openInside(own, rows) {
  const inside = await own.inside();
  await inside.call();
  checkRows(rows, inside.row, false);
  return inside;
}

/** Times headwise, headwise on its own tensors, and the peers in turns. */
async function compare(record, { own, inside, peers }, machine, rounds) {
  const entries = [own, inside, ...peers];
  const quick = entries.filter(({ firstMilliseconds = 0 }) => firstMilliseconds < ONE_CALL_MILLISECONDS);
  const samples = await timeInterleaved(quick, rounds, async () => machine.look());
  const samplesOf = (entry) => samples[quick.indexOf(entry)] ?? [entry.firstMilliseconds];
  const timesOf = (entry) => summary(samplesOf(entry));
  const figures = speed(record, timesOf(own), machine.rates());
  const describe = (peer) => ({
    ...describePeer(peer, timesOf(peer), figures.milliseconds),
    samples: samplesOf(peer),
  });
  const { median } = timesOf(inside);
  return {
    ...figures,
    samples: samplesOf(own),
    inside: {
      milliseconds: median,
      share: (figures.roofline.share * figures.milliseconds) / median,
      samples: samplesOf(inside),
    },
    outside: 1 - median / figures.milliseconds,
    peers: Object.fromEntries(peers.map((peer) => [peer.name, describe(peer)])),
  };
}

async function preparePeers(peers, problem, rows) {
  const entries = [];
  const notRun = {};
  if (problem.shape.inWorker) {
    for (const { name } of peers) notRun[name] = "it stands beside the same call without a worker";
    return { entries, notRun };
  }
  for (const peer of peers)
    try {
      entries.push({ name: peer.name, ...(await fastestForm(peer.forms(problem), rows)) });
    } catch (error) {
      notRun[peer.name] = error.message;
    }
  return { entries, notRun };
}

/** Finds a peer's fastest form of a case. All forms are tried, one at a time. */
async function fastestForm(forms, rows) {
  if (forms.length === 0) throw new Error("it has no operator for this");
  const trials = {};
  const failures = [];
  const leastSoFar = () => Math.min(...Object.values(trials));
  for (const { form, open } of forms)
    try {
      const opened = await openChecked(open, rows);
      if (forms.length === 1) return { form, ...opened };
      const isHopeless = opened.firstMilliseconds > HOPELESS * leastSoFar();
      trials[form] = isHopeless ? opened.firstMilliseconds : await bestTime(opened.call);
      opened.release();
    } catch (error) {
      failures.push(`${form}: ${error.message}`);
    }
  if (failures.length === forms.length) throw new Error(failures.join("; "));
  const { form, open } = forms.find((each) => trials[each.form] === leastSoFar());
  return { form, trials, failures, ...(await openChecked(open, rows)) };
}

async function openChecked(open, rows) {
  const opened = await open();
  try {
    const firstMilliseconds = await timed(opened.call);
    checkRows(rows, opened.row, true);
    return { ...opened, firstMilliseconds };
  } catch (error) {
    opened.release();
    throw error;
  }
}

function describePeer({ form, trials, failures }, { median, spread }, ownMilliseconds) {
  return { milliseconds: median, spread, ratio: median / ownMilliseconds, form, trials, failures };
}

function speed({ operations: work, bytes }, { median, spread }, { compute, read }) {
  const [computing, reading] = [(work / compute) * 1e3, (bytes / read) * 1e3];
  return {
    milliseconds: median,
    spread,
    gflops: work / median / 1e6,
    gigabytes: bytes / median / 1e6,
    roofline: {
      share: Math.max(computing, reading) / median,
      binds: computing > reading ? "multiply-adds" : "bytes",
      ...{ gflops: compute / 1e9, gigabytes: read / 1e9 },
    },
  };
}

/** The shortest call within half a second, at least one call. V8 has optimised the code by then. */
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
