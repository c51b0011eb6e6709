// The proof on one host: what the GPU of this machine computes, how fast, and what "auto" makes of it. This module uses
// no API of Node and none of a page: the command, its page in Chromium and the lab all run it.

import { casesOf as tableCases } from "../../attention-conformance/reference/caseTable.ts";
import { openHeater } from "../webgpu/heat.mjs";
import { probe } from "../webgpu/probes.mjs";
import { calibrate } from "./calibration.mjs";
import { FAILED } from "./record.mjs";
import { measureCase, speedCases } from "./speed.mjs";
import { checkCases, makeReferences, sampleOf } from "./table.mjs";
import { describeAdapter, nameOf, openDevice, variantsOf } from "./variants.mjs";

/** Which part of the table runs: all of it on a GPU, every n-th case of each group on a software adapter. */
const STEPS = { gpu: 1, software: 4, quick: 16 };
/** The parts of the time, at most: the table, then the speed. The rest is for "auto". */
const TABLE_SHARE = 0.5;
const SPEED_SHARE = 0.85;

/** The tilings of the package, the default first. */
const TILINGS = ["narrow", "wide", "general"];
/** The group of the table for which tilings differ. */
const DIFFERING = "whole-";

/** Milliseconds of work until a GPU that saved power has its full clock. */
const WARM_UP = 2000;

const POWER = { powerPreference: "high-performance" };

/**
 * @param {object} options
 * @param {GPU} options.gpu
 * @param {Function} options.createAttention - of headwise
 * @param {object} options.table - tests/cases/attention.json
 * @param {object} options.host - how the record names this host
 * @param {number} options.seconds - the longest time
 * @param {boolean} [options.quick] - a part of the table, and few other cases
 * @param {object[]} [options.peers] - other libraries, as tests/bench/webgpu opens them
 * @param {Record<string, string>} [options.missingPeers] - why others are not there
 * @param {(progress: { what: string, done: number, total: number }) => void} [options.report]
 * @param {AbortSignal} [options.signal] - ends the proof after the case that runs
 * @returns the record of this host; see schema.json
 */
export async function prove({ gpu, createAttention, table, host, seconds, quick = false, ...rest }) {
  const { peers = [], missingPeers = {}, report = () => {}, signal } = rest;
  const clock = new Clock(seconds, signal);
  const adapter = await gpu?.requestAdapter(POWER);
  if (!adapter) return { host, notRun: "there is no WebGPU adapter here" };
  const described = describeAdapter(adapter);
  const version = await versionOf(gpu, createAttention);
  const variants = variantsOf(TILINGS, adapter.features, { isSmall: described.software });
  const cases = casesOf(table, variants, { software: described.software, quick });
  const shapes = speedCases({ software: described.software, quick });
  const progress = new Progress(report, cases.flat().length, shapes.length * TILINGS.length);

  const checked = await checkTable({ gpu, createAttention, variants, cases, clock, progress });
  const measured = await measure({
    gpu,
    createAttention,
    shapes,
    peers,
    clock,
    progress,
    software: described.software,
  });
  progress.say('what "auto" chooses');
  const auto = await autoOn({ gpu, createAttention, clock });
  progress.end();
  return {
    host,
    headwise: version,
    adapter: described,
    state: clock.isCancelled ? "cancelled" : "complete",
    seconds: clock.elapsed,
    quick,
    table: checked,
    ...measured,
    missingPeers,
    auto,
  };
}

async function versionOf(gpu, createAttention) {
  const hw = await createAttention({ backend: "webgpu", gpu });
  const { version } = hw.report;
  hw.dispose();
  return version;
}

/**
 * The cases of each variant: the whole table on a GPU. A software adapter takes seconds to compile a kernel. There the
 * default tiling has a sample of the table, and another tiling a sample of the cases for which tilings differ.
 */
function casesOf(table, variants, { software, quick }) {
  const step = quick ? STEPS.quick : software ? STEPS.software : STEPS.gpu;
  const all = tableCases(table);
  const sample = sampleOf(all, step);
  const differing = sampleOf(
    all.filter(({ name }) => name.startsWith(DIFFERING)),
    step,
  );
  return variants.map(({ tiling }) => (tiling === TILINGS[0] || step === STEPS.gpu ? sample : differing));
}

/** Gives every variant the same part of the time that is left. */
async function checkTable({ gpu, createAttention, variants, cases, clock, progress }) {
  const reference = makeReferences();
  const results = [];
  for (const [n, variant] of variants.entries()) {
    const nothing = { cases: cases[n].length, ran: 0, right: 0, refused: [], wrong: [] };
    if (clock.isCancelled) {
      results.push({ ...variant, ...nothing, stopped: "cancelled" });
      continue;
    }
    const end = clock.partOf(TABLE_SHARE, variants.length - n);
    const onCase = (name) => progress.step(`${nameOf(variant)}: ${name}`);
    const check = (hw) => checkCases(hw, cases[n], reference, () => !clock.isOver(end), onCase);
    const device = await openDevice(await gpu.requestAdapter(POWER), variant);
    try {
      const hw = await createAttention({ backend: "webgpu", device, tiling: variant.tiling });
      const found = await check(hw);
      const isWhole = found.ran === cases[n].length;
      results.push({ ...variant, ...found, ...(!isWhole && { stopped: clock.reason ?? "too many are wrong" }) });
      hw.dispose();
    } catch (error) {
      results.push({ ...variant, ...nothing, failure: error.message });
    } finally {
      device.destroy();
    }
  }
  return results;
}

/** The rates of the probes and the speed of every case, dense and causal ones with every tiling. */
async function measure({ gpu, createAttention, shapes, peers, clock, progress, software }) {
  const end = clock.partOf(SPEED_SHARE, 1);
  if (clock.isOver(end)) return { rates: null, speed: [], stopped: clock.reason };
  progress.say("the device's own limits");
  const device = await openDevice(await gpu.requestAdapter(POWER));
  const speed = [];
  let rates = null;
  try {
    const heat = software ? async () => {} : await openHeater(device);
    await heat(WARM_UP);
    rates = await probe(device);
    for (const tiling of TILINGS) {
      const options = { backend: "webgpu", device, tiling };
      const hw = await createAttention(options);
      const timed = await createAttention({ ...options, profile: true });
      for (const shape of shapes) {
        if (clock.isOver(end)) return { rates, speed, stopped: clock.reason };
        progress.step(`${shape.name}, ${tiling}`);
        const others = tiling === TILINGS[0] ? peers : [];
        speed.push({ tiling, ...(await measureCase(shape, { hw, timed, device, rates, peers: others, heat })) });
      }
      hw.dispose();
      timed.dispose();
    }
    return { rates, speed };
  } catch (error) {
    return { rates, speed, stopped: FAILED + error.message };
  } finally {
    device.destroy();
  }
}

async function autoOn({ gpu, createAttention, clock }) {
  const end = clock.partOf(1, 1);
  const none = { calibration: null, choices: [] };
  if (clock.isOver(end)) return { state: "not run", reason: clock.reason, ...none };
  try {
    return await calibrate({ createAttention, gpu, mayGoOn: () => !clock.isOver(end) });
  } catch (error) {
    return { state: "failed", reason: error.message, ...none };
  }
}

/** Says when a part of the time is over, or the caller wants to end. */
class Clock {
  #start = performance.now();
  #seconds;
  #signal;
  /** Why the latest part was ended. */
  reason;

  constructor(seconds, signal) {
    this.#seconds = seconds;
    this.#signal = signal;
  }

  get elapsed() {
    return (performance.now() - this.#start) / 1e3;
  }

  /** The end of the first of some equal parts of what is left until a share of all time has passed. */
  partOf(share, parts) {
    return this.elapsed + Math.max(0, share * this.#seconds - this.elapsed) / parts;
  }

  get isCancelled() {
    return this.#signal?.aborted === true;
  }

  isOver(end) {
    if (this.isCancelled) this.reason = "cancelled";
    else if (this.elapsed >= end) this.reason = "out of time";
    else return false;
    return true;
  }
}

/** How far the proof is. A measured case takes as long as many cases of the table. */
class Progress {
  static #MEASURED = 20;
  #report;
  #done = 0;
  #checks;
  #total;

  constructor(report, checks, measurements) {
    this.#report = report;
    this.#checks = checks;
    this.#total = checks + (measurements + 1) * Progress.#MEASURED;
  }

  /** Begins the next case. */
  step(what) {
    this.say(what);
    this.#done += this.#done < this.#checks ? 1 : Progress.#MEASURED;
  }

  say(what) {
    this.#report({ what, done: Math.min(this.#done, this.#total), total: this.#total });
  }

  end() {
    this.#done = this.#total;
    this.say("done");
  }
}
