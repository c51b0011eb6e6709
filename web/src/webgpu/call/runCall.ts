import { DeviceLostError, DisposedError, type HeadwiseError } from "../../errors/errors.js";
import { Call, type Deliver, type Recorder } from "./call.js";
import type { GpuCore } from "./core.js";
import { Scopes } from "./scopes.js";
import { Timer } from "./timer.js";

/** What a call maps that reads nothing. */
export const NOTHING = new ArrayBuffer(0);

/**
 * Runs one call: `record` lists its commands, they are submitted, and its results are delivered. If its buffers and
 * pipelines were used before, it is submitted before this function returns. It waits only for results that JavaScript
 * reads. An error of the GPU that comes later is kept in `core.faults`. A failed call leaves no buffer behind.
 */
export async function runCall<T>(core: GpuCore, operation: string, record: Recorder<T>): Promise<T> {
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
      if ((isSubmitted = call.isReady)) timer = submit(call);
      return listed;
    });
    if (!isSubmitted) {
      await makeReady(call, scopes);
      timer = scopes.around(() => submit(call));
    }
    const mapped = call.reads || timer ? await answer(call, scopes, timer) : NOTHING;
    const results = delivered(call, deliver, mapped);
    if (!call.reads && !timer) faults.follow(endOf(call, scopes.check()), call.written);
    return results;
  } catch (error) {
    if (!call.isOver) call.fail();
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

function submit(call: Call): Timer | undefined {
  const { device } = call.core;
  if (call.isEmpty) return undefined;
  const encoder = device.gpuDevice.createCommandEncoder({ label: call.operation });
  const names = call.kernelNames;
  const timer = device.timed && names.length > 0 ? new Timer(device.gpuDevice, names) : undefined;
  try {
    call.record(encoder, timer);
    device.gpuDevice.queue.submit([encoder.finish()]);
    return timer;
  } catch (error) {
    timer?.destroy();
    throw error;
  }
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
