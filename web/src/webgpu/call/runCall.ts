import { DeviceLostError, DisposedError, type HeadwiseError } from "../../base/errors.js";
import { throwIfAborted } from "../../read/abort.js";
import type { Watched } from "../../read/watched.js";
import { endOfSubmit } from "../plan/pieces.js";
import { Call, type Deliver, type Recorder } from "./call.js";
import type { Range } from "./commands.js";
import type { GpuCore } from "./core.js";
import { Scopes } from "./scopes.js";
import { Timer } from "./timer.js";

/** What a call maps that reads nothing. */
export const NOTHING = new ArrayBuffer(0);

/** The caller has ended a running call. `cause` is what the caller is told. */
export class Aborted extends Error {
  constructor(cause: unknown) {
    super("aborted", { cause });
  }
}

/**
 * Runs one call: `record` lists its commands, they are submitted, and its results are delivered. If its buffers and
 * pipelines were used before, it is submitted before this function returns. It waits only for results that JavaScript
 * reads. An error of the GPU that comes later is kept in `core.faults`. A failed call leaves no buffer behind.
 *
 * A long call takes several submits, of about MOST_SECONDS each.
 *
 * @throws Aborted if the caller aborts it between two submits.
 */
export async function runCall<T>(
  core: GpuCore,
  operation: string,
  record: Recorder<T>,
  watched: Partial<Watched> = {},
): Promise<T> {
  const { device, faults } = core;
  device.assertAlive(operation);
  faults.surface();
  const call = new Call(core, operation);
  const scopes = new Scopes(device, operation);
  let timer: Timer | undefined;
  try {
    let isSubmitted = false;
    const deliver = scopes.around(() => {
      const listed = record(call);
      call.close();
      if ((isSubmitted = call.isReady && call.isShort)) timer = submitWhole(call);
      return listed;
    });
    if (!isSubmitted) {
      await makeReady(call, scopes);
      if (call.isShort) timer = scopes.around(() => submitWhole(call));
      else timer = await submitPieces(call, scopes, watched, (made) => (timer = made));
    }
    const began = performance.now();
    const mapped = call.reads || timer ? await answer(call, scopes, timer) : NOTHING;
    if (call.reads && call.isShort) learn(call, began);
    const results = delivered(call, deliver, mapped);
    if (!call.reads && !timer) faults.follow(endOf(call, scopes.check()), call.written);
    return results;
  } catch (error) {
    if (error instanceof Aborted) {
      call.cancel();
      throw error;
    }
    if (!call.isOver) call.fail();
    if (call.mayTryAgain) return runCall(core, operation, record, watched);
    throw await reasonOf(call, error);
  } finally {
    timer?.destroy();
  }
}

/** The error to throw. If an earlier call has failed too, and no call has reported that yet, its error is the reason. */
async function reasonOf(call: Call, error: unknown): Promise<unknown> {
  const { device, faults } = call.core;
  const explained = await call.explain(error);
  if (explained.code !== "INTERNAL" && explained.code !== "OUT_OF_MEMORY") return explained;
  try {
    await device.whileAlive(call.operation, faults.settled());
    faults.surface();
    return explained;
  } catch (earlier) {
    return earlier;
  }
}

/** Waits until the GPU is done. Resolves to the bytes that the call reads back. */
async function answer(call: Call, scopes: Scopes, timer: Timer | undefined): Promise<ArrayBuffer> {
  const { device, faults, onTimes } = call.core;
  const mapping = call.reads ? call.map() : NOTHING;
  const arrival = Promise.all([mapping, timer?.read(), scopes.check(), call.checkInputs(), faults.settled()]);
  const [mapped, times] = await device.whileAlive(call.operation, arrival);
  device.assertAlive(call.operation);
  faults.surface();
  if (times) onTimes?.(times);
  return mapped;
}

/** The results. If they are refused, as an empty row may be, the buffers are still usable. */
function delivered<T>(call: Call, deliver: Deliver<T>, mapped: ArrayBuffer): T {
  try {
    const results = deliver(mapped);
    call.succeed();
    return results;
  } catch (error) {
    call.cancel();
    throw error;
  }
}

/** Waits until the device has accepted the buffers of a call that are new, and has compiled its kernels. */
export async function makeReady(call: Call, scopes: Scopes): Promise<void> {
  await scopes.check();
  await call.checkCallers();
  await call.compile();
  call.core.device.assertAlive(call.operation);
}

function submitWhole(call: Call): Timer | undefined {
  if (call.isEmpty) return undefined;
  const timer = timerOf(call);
  try {
    submit(call, timer);
    return timer;
  } catch (error) {
    timer?.destroy();
    throw error;
  }
}

function timerOf({ core: { device }, kernelNames }: Call): Timer | undefined {
  return device.timed && kernelNames.length > 0 ? new Timer(device.gpuDevice, kernelNames) : undefined;
}

function submit(call: Call, timer: Timer | undefined, pieces?: Range): void {
  const { gpuDevice } = call.core.device;
  const encoder = gpuDevice.createCommandEncoder({ label: call.operation });
  call.record(encoder, timer, pieces);
  gpuDevice.queue.submit([encoder.finish()]);
}

/** So many submits of a long call are under way at a time: while the GPU computes one, it gets the next. */
const UNDER_WAY = 2;

/** A submit of a long call that is under way. */
interface UnderWay {
  readonly operations: number;
  readonly certain: number;
  readonly done: Promise<unknown>;
}

/** Submits a long call, some pieces at a time, and learns how fast the device is. */
async function submitPieces(
  call: Call,
  scopes: Scopes,
  { signal, onProgress }: Partial<Watched>,
  own: (timer: Timer | undefined) => void,
): Promise<Timer | undefined> {
  const { device } = call.core;
  const { operations } = call;
  const total = sumOf(operations);
  const timer = timerOf(call);
  own(timer);
  const underWay: UnderWay[] = [];
  let done = 0;
  let before = performance.now();
  const awaitFirst = async () => {
    const first = underWay.shift()!;
    await device.whileAlive(call.operation, first.done);
    const now = performance.now();
    device.speed.learn(first.certain, (now - before) / 1000);
    before = now;
    stoppable(() => onProgress?.({ done: (done += first.operations), total }));
  };
  for (let from = 0; from < operations.length;) {
    if (underWay.length === UNDER_WAY) await awaitFirst();
    if (from > 0) stoppable(() => throwIfAborted(signal));
    const to = endOfSubmit(operations, from, device.speed.now);
    scopes.around(() => submit(call, timer, { from, to }));
    const submitted = sumOf(operations.slice(from, to));
    const certain = call.certain({ from, to });
    underWay.push({ operations: submitted, certain, done: device.gpuDevice.queue.onSubmittedWorkDone() });
    from = to;
  }
  while (underWay.length > 0) {
    await awaitFirst();
    if (underWay.length > 0) stoppable(() => throwIfAborted(signal));
  }
  return timer;
}

/** Runs the caller's code. What it throws ends the call. */
function stoppable(work: () => void): void {
  try {
    work();
  } catch (reason) {
    throw new Aborted(reason);
  }
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);

/** Learns how fast the device is from a call of one submit, whose results were awaited. */
function learn(call: Call, began: number): void {
  const certain = call.certain({ from: 0, to: call.operations.length });
  call.core.device.speed.learn(certain, (performance.now() - began) / 1000);
}

/**
 * Waits for the end of a call that was submitted. Resolves to its error; a lost device is not an error of the call.
 *
 * @param checked - Rejects with the error that the device has told.
 */
export async function endOf(call: Call, checked: Promise<void>): Promise<HeadwiseError | undefined> {
  try {
    await checked;
    await call.checkInputs();
    return undefined;
  } catch (error) {
    const explained = await call.explain(error);
    if (DeviceLostError.is(explained) || DisposedError.is(explained)) return undefined;
    call.undo();
    return explained;
  }
}
