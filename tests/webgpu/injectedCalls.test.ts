// A fault at any call of WebGPU's interface: while an instance opens, compiles, computes, is disposed or opens again.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { createAttention, HeadwiseError, type Attention } from "headwise";

import { word } from "../web/cases.js";
import { bits } from "../web/close.js";
import { callsOf, SEED } from "../web/depth.js";
import { note, timed } from "../web/figures.js";
import { BrokenGpu, canFail, FAULTS, type Fault } from "./brokenGpu.js";
import { describeOnGpu, describeOnNullGpu, gpu, nullGpu, openTestDevice, withEmptyKernels } from "./gpu.js";
import { operations, withLayer, x, type Operation } from "./gpuOperations.js";

/** How many calls of an operation fail in each way. The row gpu-faults of `npm run trust` breaks every call. */
const PLACES = callsOf(1);
const SOFT = FAULTS.filter((fault) => fault !== "lost");
const NOTHING = { devices: 0, buffers: [], scopes: 0 };

/** Of the calls that can fail so, as many as wanted, from 1 on: calls with different names first. */
function placesOf(calls: readonly string[], fault: Fault): number[] {
  const places = calls.map((name, n) => ({ name, at: n + 1 })).filter(({ name }) => canFail(name, fault));
  places.sort((a, b) => word(SEED, 7, a.at) - word(SEED, 7, b.at));
  const seen = new Map<string, number>();
  const turnOf = ({ name }: { readonly name: string }) => {
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return seen.get(name)!;
  };
  const turns = places.map((place) => ({ ...place, turn: turnOf(place) })).sort((a, b) => a.turn - b.turn);
  return turns.slice(0, PLACES).map(({ at }) => at);
}

/** What a run gave: the bits of its results, or its error. */
interface Outcome {
  readonly result?: unknown;
  readonly error?: unknown;
}

const outcomeOf = (work: Promise<unknown>): Promise<Outcome> =>
  work.then((result) => ({ result: bits({ result }) }), (error: unknown) => ({ error })); // oxfmt-ignore

const isComputed = (outcome: Outcome) => !("error" in outcome);
const textOf = (outcome: Outcome) => (isComputed(outcome) ? "computed" : String(outcome.error));

/** Waits until what was disposed has been freed: that is done between two calls. */
const calm = () => new Promise((resolve) => setTimeout(resolve, 0));

/** What is wrong after the faults of a test: each gives a line for each claim that does not hold. */
class Findings {
  readonly lines: string[] = [];
  #where = "";

  /** What follows is found after this fault; without one, after a run that nothing has disturbed. */
  after(fault?: string, at = 0, calls: readonly string[] = []): void {
    this.#where = fault ? `${calls[at - 1]} (call ${at}) ${fault}` : "undisturbed";
    if (fault) note("faults", 1);
  }

  expect(claim: string, found: unknown, expected: unknown): void {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
    if (a !== b) this.lines.push(`${this.#where}: ${claim}: ${a.slice(0, 200)} instead of ${b.slice(0, 200)}`);
  }

  /** The fault was harmless, or it was told by an error of headwise. */
  expectTyped(outcome: Outcome): void {
    if (!isComputed(outcome) && !HeadwiseError.is(outcome.error)) this.expect("is typed", textOf(outcome), "");
  }

  expectLeft(live: object): void {
    this.expect("what is left", broken.live, live);
    this.expect("errors that no scope has caught", broken.uncaught.splice(0), []);
  }
}

const unhandled: unknown[] = [];
const noteRejection = (reason: unknown) => unhandled.push(reason);
let broken: BrokenGpu;
let findings: Findings;
beforeAll(() => {
  process.on("unhandledRejection", noteRejection);
  broken = new BrokenGpu();
});
afterAll(() => {
  process.off("unhandledRejection", noteRejection);
  broken.restore();
});
beforeEach(() => {
  findings = new Findings();
});
afterEach(async () => {
  broken.breakAt();
  await new Promise((resolve) => setTimeout(resolve, 10)); // reported after the current turn
  expect(unhandled.splice(0)).toEqual([]);
  expect(findings.lines).toEqual([]);
});

/**
 * A call that waits for the GPU. It tells the error of a call that did not wait, each error once: of the one that failed, and
 * of those that used what it should have made.
 */
async function hear(hw: Attention): Promise<void> {
  for (let n = 0; n < 3; ++n) {
    const { error } = await outcomeOf(hw.scaledDotProductAttention(x, x, x));
    if (!HeadwiseError.is(error)) return;
  }
}

/**
 * Runs an operation after a fault. Calls that wait come first: the fault may have been told to nobody yet, or a call that was
 * made before it was known may have used what the failed one should have made.
 */
async function next(hw: Attention, run: () => Promise<unknown>): Promise<Outcome> {
  broken.breakAt();
  await hear(hw);
  return timed("recovers", () => outcomeOf(run()));
}

/** The sizes in `buffers` that are not in `before`: what a fault has left behind. */
function lostOf(buffers: readonly number[], before: readonly number[]): number[] {
  const rest = [...before];
  return buffers.filter((size) => {
    const at = rest.indexOf(size);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

describeOnGpu("a fault at a call of an operation that has run before", () => {
  let device: GPUDevice;
  beforeAll(async () => {
    device = await openTestDevice(gpu);
  });
  afterAll(() => device.destroy());

  test.each(operations)("%s: the next run gives the same bits, and no buffer is lost", async (_, operation) => {
    const { hw, layer } = await withLayer(await createAttention({ backend: "webgpu", device }));
    const run = () => operation(hw, layer);
    const expected = await outcomeOf(run());
    expect(isComputed(expected)).toBe(true);
    await hear(hw);
    await calm();
    broken.breakAt();
    await outcomeOf(run());
    await calm();
    const calls = [...broken.calls];
    /** The buffers that live after a fault and a good run. */
    const buffersAfter = async (at: number, fault: Fault) => {
      broken.breakAt(at, fault);
      const outcome = await timed("settles", () => outcomeOf(run()));
      findings.after(fault, at, calls);
      findings.expectTyped(outcome);
      if (isComputed(outcome)) findings.expect("result in spite of it", outcome, expected);
      const then = await next(hw, run);
      findings.expect("next run", then.error ? textOf(then) : then, expected);
      await hear(hw); // its buffers count too, after every fault
      await calm();
      const { buffers } = broken.live;
      findings.expectLeft({ devices: 1, buffers, scopes: 0 });
      return buffers;
    };
    let known = broken.live.buffers;
    for (const fault of SOFT)
      for (const at of placesOf(calls, fault)) {
        const buffers = await buffersAfter(at, fault);
        const more = lostOf(buffers, known);
        // The pool may keep an idle buffer more than in a calm run. A lost buffer is lost every time.
        if (more.length > 0) findings.expect("lost buffers", lostOf(await buffersAfter(at, fault), buffers), []);
        known = [...known, ...more];
      }
    hw.dispose();
  });
});

describeOnNullGpu("a fault at a call of a new instance", () => {
  withEmptyKernels();
  afterEach(() => broken.lose());

  /** Opens an instance, and runs an operation on it with a fault, then without. Resolves to the calls of the first run. */
  async function lifeOf(options: object, operation: Operation, at?: number, fault?: Fault): Promise<string[]> {
    let hw: Attention | undefined;
    const open = async () => {
      hw = await createAttention({ backend: "webgpu", ...options });
      return operation(hw, (await withLayer(hw)).layer);
    };
    broken.breakAt(at, fault);
    const outcome = await timed("settles", () => outcomeOf(open()));
    const calls = [...broken.calls];
    findings.after(fault, at, calls);
    if (fault) findings.expectTyped(outcome);
    else findings.expect("first run", textOf(outcome), "computed");
    const again = async () => operation(hw!, (await withLayer(hw!)).layer);
    if (hw) findings.expect("next run", textOf(await next(hw, again)), "computed");
    hw?.dispose();
    await calm();
    return calls;
  }

  test.each(operations)("%s, on the caller's device: it works then, and leaves nothing there", async (_, operation) => {
    const life = async (at?: number, fault?: Fault) => {
      const device = await openTestDevice(nullGpu);
      const calls = await lifeOf({ device }, operation, at, fault);
      findings.expectLeft({ ...NOTHING, devices: 1 });
      broken.lose();
      return calls;
    };
    const calls = await life();
    for (const fault of SOFT) for (const at of placesOf(calls, fault)) await life(at, fault);
  });

  test.each(operations)("%s, on a device that is lost: it works then, and no device is left", async (_, operation) => {
    const life = async (at?: number, fault?: Fault) => {
      const calls = await lifeOf({ gpu: nullGpu! }, operation, at, fault);
      findings.expectLeft(NOTHING);
      return calls;
    };
    const calls = await life();
    for (const at of placesOf(calls, "lost")) await life(at, "lost");
  });

  test.each(FAULTS)("createAttention (%s) leaves nothing", async (fault) => {
    const open = async (at?: number) => {
      broken.breakAt(at, fault);
      const opening = createAttention({ backend: "webgpu", gpu: nullGpu! });
      const outcome = await timed("settles", () => outcomeOf(opening.then((hw) => hw.dispose())));
      const calls = [...broken.calls];
      findings.after(at ? fault : undefined, at, calls);
      findings.expectTyped(outcome);
      await calm();
      findings.expectLeft(NOTHING);
      return calls;
    };
    const calls = await open();
    for (const [n, name] of calls.entries()) if (canFail(name, fault)) await open(n + 1);
  });

  const opened = async () => {
    broken.breakAt();
    return withLayer(await createAttention({ backend: "webgpu", gpu: nullGpu! }));
  };

  const some = ["scaledDotProductAttention", "layer.forward", "caches", "recorded calls", "a model"];
  test.each(operations.filter(([name]) => some.includes(name)))(
    "%s, while another device is opened: it works then",
    async (_, operation) => {
      const life = async (at?: number, fault?: Fault) => {
        const { hw, layer } = await opened();
        const run = () => operation(hw, layer);
        await run();
        broken.lose();
        await calm();
        broken.breakAt(at, fault);
        const outcome = await timed("settles", () => outcomeOf(run()));
        const calls = [...broken.calls];
        findings.after(fault, at, calls);
        findings.expectTyped(outcome);
        findings.expect("next run", textOf(await next(hw, run)), "computed");
        hw.dispose();
        await calm();
        findings.expectLeft(NOTHING);
        return calls;
      };
      const calls = await life();
      for (const fault of FAULTS) for (const at of placesOf(calls, fault)) await life(at, fault);
    },
  );

  test.each(operations)("%s, disposed at a call, after which every call throws: it settles", async (_, operation) => {
    const life = async (at?: number) => {
      const { hw, layer } = await opened();
      broken.breakAt(at, () => {
        hw.dispose();
        broken.throwFromNowOn();
      });
      const outcome = await timed("settles", () => outcomeOf(operation(hw, layer)));
      const calls = [...broken.calls];
      findings.after(at ? "disposed" : undefined, at, calls);
      findings.expectTyped(outcome);
      broken.breakAt();
      hw.dispose();
      await calm();
      findings.expectLeft(NOTHING);
      return calls;
    };
    const calls = await life();
    for (const at of placesOf(calls, "rejects")) await life(at);
  });
});
