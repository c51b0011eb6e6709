import { HeadwiseError, OptionError } from "../../base/errors.js";
import type { Recorded } from "../../turn/context.js";
import { SMALLEST_BINDING } from "../device/buffers.js";
import { Call, type Deliver, type Recorder, type Span } from "./call.js";
import type { GpuCore } from "./core.js";
import { RecordedResults, Recording } from "./recording.js";
import { endOf, makeReady, NOTHING } from "./runCall.js";
import { Scopes } from "./scopes.js";

/**
 * Records one call into the caller's encoder: before it returns if the kernels are compiled. `record` lists the
 * commands. The promise rejects if the device refuses something that is new to it: a buffer or the encoder. Other errors
 * surface where a result is read.
 */
export function encodeCall<T extends object>(
  core: GpuCore,
  operation: string,
  encoder: GPUCommandEncoder,
  record: Recorder<T>,
): Recorded<T & RecordedResults> {
  core.device.assertAlive(operation);
  core.faults.surface();
  const call = new Call(core, operation, new Recording(core));
  const scopes = new Scopes(core.device, operation);
  try {
    const deliver = scopes.around(() => {
      const listed = record(call);
      call.close();
      return listed;
    });
    if (call.isCompiled) return { atOnce: true, results: write(call, scopes, encoder, deliver) };
    const results = makeReady(call, scopes).then(
      () => write(call, scopes, encoder, deliver),
      (error: unknown) => failed(call, error, () => encodeCall(core, operation, encoder, record).results),
    );
    return { atOnce: false, results };
  } catch (error) {
    return { atOnce: true, results: failed(call, error) };
  }
}

/** Writes the commands before it returns. The promise waits for the device if something is new to it. */
async function write<T extends object>(
  call: Call,
  listing: Scopes,
  encoder: GPUCommandEncoder,
  deliver: Deliver<T>,
): Promise<T & RecordedResults> {
  const { core, operation } = call;
  const { known, faults, device } = core;
  const scopes = new Scopes(device, operation);
  try {
    const refusal = refusalOf(() => scopes.around(() => call.record(encoder)));
    const checked = scopes.check().catch((cause: unknown) => {
      throw encoderError(operation, cause);
    });
    checked.catch(() => undefined); // the buffers are checked first
    if (!refusal && call.usesKnownBuffers && known.encoders.has(encoder)) {
      call.succeed();
      faults.follow(endOf(call, checked), call.written);
      return withDispose(call, deliver);
    }
    const results = refusal ? undefined : withDispose(call, deliver);
    await listing.check();
    await call.checkCallers();
    if (!results) throw encoderError(operation, refusal!.cause);
    await checked;
    device.assertAlive(operation);
    known.encoders.add(encoder);
    call.succeed();
    return results;
  } catch (error) {
    return failed(call, error);
  }
}

function withDispose<T extends object>(call: Call, deliver: Deliver<T>): T & RecordedResults {
  return Object.assign(new RecordedResults(call.core, call.recording!), deliver(NOTHING));
}

/** What `work` throws. */
function refusalOf(work: () => void): { readonly cause: unknown } | undefined {
  try {
    work();
    return undefined;
  } catch (cause) {
    return { cause };
  }
}

/** @param again - Lists the call again. */
async function failed<T>(call: Call, error: unknown, again?: () => Promise<T>): Promise<T> {
  call.fail();
  if (again && call.mayTryAgain) return again();
  throw await call.explain(error);
}

/** A call that is only listed: the arrays of the caller stay where they are. */
class Rehearsal extends Call {
  override upload(): Span {
    return this.room(SMALLEST_BINDING);
  }

  override write(): void {
    // nothing will be computed
  }
}

/** Compiles what a call needs, and has its buffers made. Nothing is submitted. */
export async function prepareCall(core: GpuCore, operation: string, record: Recorder<unknown>): Promise<void> {
  core.device.assertAlive(operation);
  const call = new Rehearsal(core, operation);
  const scopes = new Scopes(core.device, operation);
  try {
    scopes.around(() => {
      record(call);
      call.close();
    });
    await makeReady(call, scopes);
    call.cancel();
  } catch (error) {
    await failed(call, error, () => prepareCall(core, operation, record));
  }
}

/** The error of a failed recording. The buffers are accepted, so the reason is the encoder. */
function encoderError(operation: string, cause: unknown): HeadwiseError {
  if (HeadwiseError.is(cause) && cause.code !== "INTERNAL") return cause;
  return new OptionError(
    `${operation}: encoder must be a GPUCommandEncoder of this instance's device that is not finished`,
    { hint: "device.createCommandEncoder() makes one.", cause },
  );
}
