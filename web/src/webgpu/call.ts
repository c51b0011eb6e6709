import { assertIntact } from "../call/views.js";
import { HeadwiseError, OptionError, OutOfMemoryError, UnsupportedError } from "../errors/errors.js";
import { gpuDataOf, type GpuData } from "../tensor/gpuTensor.js";
import { ARRAYS, type Dtype, type TensorDataOf, type TypedTensor } from "../tensor/tensor.js";
import { bindable, SMALLEST_BINDING, type Purpose } from "./buffers.js";
import { checkOwner, checkUnmapped, checkUsable } from "./callersBuffer.js";
import type { GpuCore } from "./core.js";
import { scopeError } from "./device.js";
import type { Kernel } from "./kernel.js";
import { packParams, type Params } from "./params.js";
import { pipelineOf } from "./pipelines.js";
import { gridOf } from "./limits.js";
import { RecordedResults, Recording } from "./recording.js";
import { bindingsOf } from "./shader.js";
import { Timer } from "./timer.js";

/** A range of bytes in a buffer. */
export interface Span {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly bytes: number;
}

interface Dispatch {
  readonly kernel: Kernel;
  readonly bindings: readonly { readonly binding: number; readonly span: Span }[];
  readonly grid: readonly [number, number];
}

interface Copy {
  readonly from: Span;
  readonly to: Span;
}

/**
 * The buffers and commands of one call. Its scratch buffers come from the pool and go back when the call has succeeded.
 * Results that stay on the GPU have buffers of their own.
 */
export class Call {
  readonly core: GpuCore;
  readonly operation: string;
  /** Set if the call is recorded for the caller to submit. */
  readonly recording: Recording | undefined;
  readonly #taken: { readonly purpose: Purpose; readonly buffer: GPUBuffer }[] = [];
  /** Buffers of results that stay on the GPU. */
  readonly #results: GPUBuffer[] = [];
  readonly #dispatches: Dispatch[] = [];
  /** Copies before the dispatches (`copiesIn`) and after them (`copiesOut`). */
  readonly #copiesIn: Copy[] = [];
  readonly #copiesOut: Copy[] = [];
  readonly #clears: Span[] = [];
  readonly #callers: GpuData[] = [];
  readonly #undos: (() => void)[] = [];
  readonly #reads: { readonly source: Span; readonly offset: number }[] = [];
  readonly #spares: Record<string, Span> = {};
  #readBytes = 0;
  #pipelines: readonly GPUComputePipeline[] = [];
  #timer: Timer | undefined;

  constructor(core: GpuCore, operation: string, recording?: Recording) {
    this.core = core;
    this.operation = operation;
    this.recording = recording;
  }

  /** Scratch room for `bytes` bytes. Its content is undefined. */
  room(bytes: number, purpose: Purpose = "storage"): Span {
    const buffer = this.core.buffers.take(purpose, bytes);
    this.#taken.push({ purpose, buffer });
    return { buffer, offset: 0, bytes: bindable(bytes) };
  }

  /** Room for a result. If the result stays on the GPU, it gets a buffer of its own for the caller. */
  resultRoom(bytes: number, location: "cpu" | "gpu"): Span {
    if (location === "cpu") return this.room(bytes);
    const buffer = this.core.buffers.make(bytes);
    this.#results.push(buffer);
    return { buffer, offset: 0, bytes: buffer.size };
  }

  /** Copies an array to the GPU. */
  upload(data: ArrayBufferView | ArrayBuffer, purpose: Purpose = "storage"): Span {
    this.#assertIntact(data);
    const span = this.room(data.byteLength, purpose);
    this.write(span, 0, data);
    return span;
  }

  /** Copies an array into a span, from its byte `at` on. */
  write({ buffer, offset }: Span, at: number, data: ArrayBufferView | ArrayBuffer): void {
    this.#assertIntact(data);
    const bytes = bytesOf(data);
    const { queue } = this.core.device.gpuDevice;
    const whole = bytes.byteLength - (bytes.byteLength % 4);
    if (whole > 0) queue.writeBuffer(buffer, offset + at, bytes, 0, whole);
    if (whole === bytes.byteLength) return;
    const rest = new Uint8Array(4); // writeBuffer takes whole words only
    rest.set(bytes.subarray(whole));
    queue.writeBuffer(buffer, offset + at + whole, rest);
  }

  /** Throws if an input was detached. That can happen while the call waits for a new device. */
  #assertIntact(data: ArrayBufferView | ArrayBuffer): void {
    if (ArrayBuffer.isView(data)) assertIntact(this.operation, "an input", data);
  }

  /**
   * The bytes of a tensor on the GPU. A tensor on the GPU is used where it lies if a kernel can bind it there,
   * otherwise it is copied.
   */
  place(tensor: TypedTensor): Span {
    const onGpu = gpuDataOf(tensor);
    if (!onGpu) return this.upload(tensor.data);
    const { buffer, offset, byteLength, argument, isOurs } = onGpu;
    if (!isOurs) this.#borrow(onGpu);
    const bytes = bindable(byteLength);
    const { minStorageBufferOffsetAlignment: alignment } = this.core.device.limits;
    if (offset % alignment === 0 && offset + bytes <= buffer.size) return { buffer, offset, bytes };
    if ((buffer.usage & COPY_SRC) === 0)
      throw new UnsupportedError(
        `${this.operation}: ${argument}.offset must be a multiple of ${alignment} (minStorageBufferOffsetAlignment) ` +
          `for a buffer without usage COPY_SRC, got ${offset}`,
      );
    const copied = this.room(byteLength);
    this.#copiesIn.push({ from: { buffer, offset, bytes: wholeWords(byteLength, buffer, offset) }, to: copied });
    return copied;
  }

  /** The bytes of a tensor on the GPU where they lie, to copy them. */
  source(data: GpuData): Span {
    const { argument, buffer, offset, byteLength } = data;
    this.#borrow(data);
    if ((buffer.usage & COPY_SRC) === 0)
      throw new OptionError(`${this.operation}: ${argument}.buffer must have usage COPY_SRC, got ${buffer.usage}`);
    return { buffer, offset, bytes: wholeWords(byteLength, buffer, offset) };
  }

  /** Fills a span with zeros before the kernels run. */
  clear(span: Span): void {
    this.#clears.push(span);
  }

  /** Copies bytes before the kernels run. */
  copyIn(from: Span, to: Span): void {
    this.#copiesIn.push({ from, to });
  }

  /** Copies a result after the kernels have run. */
  copyOut(from: Span, to: Span): void {
    this.#copiesOut.push({ from, to });
  }

  /** The uniform buffer of an attention kernel: its numbers, with its grid. */
  params(params: Params, workgroups: number): Span {
    const [grid_width] = gridOf(this.operation, "kernel", workgroups, this.core.device.limits);
    return this.upload(packParams({ ...params, workgroups, grid_width }), "uniform");
  }

  /** The uniform buffer of a flat kernel: its numbers, and at the end the width of its grid. */
  numbers(numbers: readonly number[], workgroups: number): Span {
    const [gridWidth] = gridOf(this.operation, "kernel", workgroups, this.core.device.limits);
    const words = new Uint32Array(Math.ceil((numbers.length + 1) / 4) * 4);
    words.set([...numbers, gridWidth]);
    return this.upload(words, "uniform");
  }

  /** Adds a function that runs if the call fails. */
  onFailure(undo: () => void): void {
    this.#undos.push(undo);
  }

  dispatch(kernel: Kernel, workgroups: number, given: Readonly<Record<number, Span>>): void {
    if (workgroups === 0) return;
    const grid = gridOf(this.operation, kernel.name, workgroups, this.core.device.limits);
    const bindings = Object.entries(bindingsOf(kernel.name)).map(([binding, access]) => ({
      binding: Number(binding),
      span: given[Number(binding)] ?? this.#spare(access === "read" ? "read" : binding),
    }));
    this.#dispatches.push({ kernel, bindings, grid });
  }

  /** Reads a span back. The returned function gives its bytes after the call has run. */
  read(source: Span): (result: ArrayBuffer) => ArrayBuffer {
    const offset = this.#readBytes;
    this.#reads.push({ source, offset });
    this.#readBytes += Math.ceil(source.bytes / 8) * 8; // mapped ranges begin at multiples of 8
    return (result) => result.slice(offset, offset + source.bytes);
  }

  /** Copies a result into the caller's tensor, after the kernels have run. */
  copyInto(from: Span, into: GpuData): void {
    this.#borrow(into);
    const { argument, buffer, offset } = into;
    if ((buffer.usage & COPY_DST) === 0)
      throw new OptionError(`${this.operation}: ${argument}.buffer must have usage COPY_DST, got ${buffer.usage}`);
    if (from.bytes % 4 !== 0)
      throw new UnsupportedError(`${this.operation}: ${argument} must hold an even number of float16 on the GPU`);
    this.copyOut(from, { buffer, offset, bytes: from.bytes });
  }

  /** Adds a buffer of the caller to the call. `compile` checks that it belongs to this device. */
  #borrow(data: GpuData): void {
    checkUnmapped(this.operation, data);
    this.#callers.push(data);
  }

  /** Waits for the checks of the caller's buffers, and compiles missing kernels. */
  async compile(): Promise<void> {
    const { device } = this.core;
    await Promise.all(this.#callers.map((data) => checkOwner(device, this.operation, data)));
    const compiling = this.#dispatches.map(({ kernel }) => pipelineOf(this.operation, device.gpuDevice, kernel));
    this.#pipelines = await device.whileAlive(this.operation, Promise.all(compiling));
  }

  /** Throws an OptionError if the GPU refuses one of the caller's buffers. */
  async checkCallers(): Promise<void> {
    const { device } = this.core;
    await Promise.all(this.#callers.map((data) => checkUsable(device, this.operation, data)));
  }

  /** Records every dispatch into `encoder`. `compile` must have run. */
  record(encoder: GPUCommandEncoder, timer?: Timer): void {
    const { gpuDevice } = this.core.device;
    for (const { buffer, offset, bytes } of this.#clears) encoder.clearBuffer(buffer, offset, bytes);
    copyAll(encoder, this.#copiesIn);
    this.#dispatches.forEach(({ kernel, bindings, grid }, n) => {
      const pipeline = this.#pipelines[n]!;
      const entries = bindings.map(({ binding, span }) => ({ binding, resource: resourceOf(span) }));
      const pass = encoder.beginComputePass({ label: kernel.name, ...timer?.writes(n) });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, gpuDevice.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
      pass.dispatchWorkgroups(...grid);
      pass.end();
    });
    copyAll(encoder, this.#copiesOut);
    timer?.resolve(encoder);
  }

  /** Submits everything. Returns the buffer that `finish` reads. */
  submit(): GPUBuffer | undefined {
    const { device } = this.core;
    const { gpuDevice } = device;
    const encoder = gpuDevice.createCommandEncoder({ label: this.operation });
    const names = this.#dispatches.map(({ kernel }) => kernel.name);
    this.#timer = device.timed && names.length > 0 ? new Timer(gpuDevice, names) : undefined;
    this.record(encoder, this.#timer);
    const readback = this.#readBytes > 0 ? this.room(this.#readBytes, "readback").buffer : undefined;
    for (const { source, offset } of this.#reads)
      if (readback) encoder.copyBufferToBuffer(source.buffer, source.offset, readback, offset, source.bytes);
    gpuDevice.queue.submit([encoder.finish()]);
    return readback;
  }

  /** Waits until the GPU is done. Resolves to the bytes of all reads. */
  async finish(readback: GPUBuffer | undefined): Promise<ArrayBuffer> {
    const { device } = this.core;
    let result = new ArrayBuffer(0);
    if (readback) {
      await device.whileAlive(this.operation, readback.mapAsync(MAP_READ, 0, this.#readBytes));
      result = readback.getMappedRange(0, this.#readBytes).slice(0);
      readback.unmap();
    } else {
      await device.whileAlive(this.operation, device.gpuDevice.queue.onSubmittedWorkDone());
    }
    if (this.#timer) this.core.onTimes?.(await device.whileAlive(this.operation, this.#timer.read()));
    return result;
  }

  /**
   * The call succeeded: results are handed over to the caller, and scratch buffers go back to the pool, or to the
   * recording.
   */
  succeed(): void {
    const { buffers } = this.core;
    for (const buffer of this.#results) buffers.handOver(buffer);
    if (this.recording) this.recording.hold(this.#taken.map(({ buffer }) => buffer));
    else for (const { purpose, buffer } of this.#taken) buffers.giveBack(purpose, buffer);
    this.#timer?.destroy();
  }

  /** The call failed: undoes its changes. Its buffers are destroyed, because they may be unusable. */
  fail(): void {
    for (const undo of this.#undos) undo();
    for (const buffer of [...this.#results, ...this.#taken.map(({ buffer }) => buffer)]) this.core.buffers.free(buffer);
    this.#timer?.destroy();
  }

  /** The error to throw for an error of this call. */
  async explain(error: unknown): Promise<unknown> {
    if (error instanceof RangeError)
      return new OutOfMemoryError(`${this.operation}: the results do not fit memory`, { cause: error });
    const explained = await this.core.device.explain(this.operation, error);
    if (explained.code !== "INTERNAL") return explained;
    return this.checkCallers().then(
      () => explained,
      (reason: unknown) => reason,
    );
  }

  /** A buffer for an absent input or output: a few bytes that no result uses. Each absent output has one of its own. */
  #spare(name: string): Span {
    return (this.#spares[name] ??= this.room(SMALLEST_BINDING));
  }
}

const MAP_READ = 0x1;

function resourceOf({ buffer, offset, bytes }: Span): GPUBufferBinding {
  return { buffer, offset, size: bytes };
}

function bytesOf(data: ArrayBufferView | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(data)) return new Uint8Array(data);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  // The memory of the wasm engine is shared, and some implementations of WebGPU refuse shared arrays.
  return isShared(data.buffer) ? bytes.slice() : (bytes as Uint8Array<ArrayBuffer>);
}

function isShared(buffer: ArrayBufferLike): boolean {
  return Object.prototype.toString.call(buffer) === "[object SharedArrayBuffer]";
}

/**
 * Runs one call. `build` makes its buffers and dispatches, and returns the function that reads the results. An error of
 * the GPU becomes one of our errors and never appears on the console. A failed call leaves no buffer behind.
 */
export async function runCall<T>(
  core: GpuCore,
  operation: string,
  build: (call: Call) => (result: ArrayBuffer) => T,
): Promise<T> {
  const { device } = core;
  device.assertAlive(operation);
  const call = new Call(core, operation);
  try {
    const collect = await scoped(core, operation, () => build(call));
    await call.compile();
    device.assertAlive(operation);
    const readback = await scoped(core, operation, () => call.submit());
    const bytes = await call.finish(readback);
    device.assertAlive(operation);
    const results = collect(bytes);
    call.succeed();
    return results;
  } catch (error) {
    call.fail();
    throw await call.explain(error);
  }
}

/** Records a call into the caller's encoder. `build` returns the future results. */
export async function recordCall<T>(
  core: GpuCore,
  operation: string,
  encoder: GPUCommandEncoder,
  build: (call: Call) => T,
): Promise<T & RecordedResults> {
  const { device } = core;
  device.assertAlive(operation);
  const recording = new Recording(core);
  const call = new Call(core, operation, recording);
  try {
    const results = await scoped(core, operation, () => build(call));
    await call.compile();
    await call.checkCallers(); // otherwise only the caller's submit would report it
    device.assertAlive(operation);
    await scoped(core, operation, () => call.record(encoder)).catch((cause: unknown) => {
      throw encoderError(operation, cause);
    });
    device.assertAlive(operation);
    call.succeed();
    return Object.assign(new RecordedResults(core, recording), results);
  } catch (error) {
    call.fail();
    throw await call.explain(error);
  }
}

/** The error of a failed recording. The buffers exist already, so the reason is the encoder. */
function encoderError(operation: string, cause: unknown): HeadwiseError {
  if (HeadwiseError.is(cause) && cause.code !== "INTERNAL") return cause;
  return new OptionError(
    `${operation}: commandEncoder must be a GPUCommandEncoder of this instance's device that is not finished`,
    { hint: "device.createCommandEncoder() makes one.", cause },
  );
}

function copyAll(encoder: GPUCommandEncoder, copies: readonly Copy[]): void {
  for (const { from, to } of copies)
    if (from.bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.bytes);
}

/** Copies take whole words. At the end of a buffer the last half-word has no second half. */
function wholeWords(bytes: number, { size }: GPUBuffer, offset: number): number {
  return Math.min(Math.ceil(bytes / 4) * 4, size - offset);
}

const COPY_SRC = 0x4;
const COPY_DST = 0x8;
const SCOPES = ["validation", "internal", "out-of-memory"] as const;

/**
 * Runs `work` inside error scopes. `work` must not be asynchronous: the scopes are one stack for the whole device,
 * which others may use in the meantime.
 */
export async function scoped<T>({ device }: GpuCore, operation: string, work: () => T): Promise<T> {
  const { gpuDevice } = device;
  for (const scope of SCOPES) gpuDevice.pushErrorScope(scope);
  let done: { readonly value: T } | { readonly error: unknown };
  try {
    done = { value: work() };
  } catch (error) {
    done = { error };
  }
  const errors = await device.whileAlive(operation, Promise.all(SCOPES.map(() => gpuDevice.popErrorScope())));
  if ("error" in done) throw done.error;
  const refused = errors.find((error) => error !== null);
  if (refused) throw scopeError(operation, refused);
  return done.value;
}

/** Bytes as an array of a dtype. */
export function asArray<D extends Dtype>(dtype: D, bytes: ArrayBuffer): TensorDataOf[D] {
  return new ARRAYS[dtype](bytes) as TensorDataOf[D];
}
