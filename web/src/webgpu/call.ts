import { OptionError, OutOfMemoryError, UnsupportedError } from "../errors.js";
import type { KernelTime } from "../backend.js";
import { gpuDataOf, type GpuData } from "../gpuData.js";
import type { TensorDataOf, TypedTensor } from "../tensor.js";
import { scopeError } from "./device.js";
import type { Purpose } from "./buffers.js";
import { checkBuffer } from "./callersBuffer.js";
import type { Engine } from "./engine.js";
import { pipelineOf } from "./pipelines.js";
import { packParams, type Params } from "./params.js";
import { gridOf } from "./plan.js";
import { bindingsOf, type Kernel } from "./shader.js";

/** Bytes of a buffer. */
export interface Span {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly bytes: number;
}

interface Dispatch {
  readonly kernel: Kernel;
  readonly bindings: Readonly<Record<number, Span>>;
  readonly grid: readonly [number, number];
}

interface Copy {
  readonly from: Span;
  readonly to: Span;
}

/**
 * One call's buffers and commands. Buffers come from the pool and go back to it when the call has settled, unless they
 * hold a result that stays on the GPU.
 */
export class Call {
  readonly engine: Engine;
  readonly operation: string;
  readonly #taken: { readonly purpose: Purpose; readonly buffer: GPUBuffer }[] = [];
  readonly #dispatches: Dispatch[] = [];
  /** Before and after the dispatches. */
  readonly #copiesIn: Copy[] = [];
  readonly #copiesOut: Copy[] = [];
  readonly #clears: Span[] = [];
  readonly #owners: Promise<void>[] = [];
  readonly #undos: (() => void)[] = [];
  readonly #reads: { readonly source: Span; readonly offset: number }[] = [];
  readonly #spares: Record<string, Span> = {};
  #readBytes = 0;
  #pipelines: readonly GPUComputePipeline[] = [];

  constructor(engine: Engine, operation: string) {
    this.engine = engine;
    this.operation = operation;
  }

  /** Room for `bytes`; what it holds is unspecified. */
  room(bytes: number, purpose: Purpose = "storage"): Span {
    const buffer = this.engine.pool.take(purpose, bytes);
    this.#taken.push({ purpose, buffer });
    return { buffer, offset: 0, bytes: Math.max(SMALLEST_BINDING, Math.ceil(bytes / 4) * 4) };
  }

  /** Copies an array to the GPU. */
  upload(data: ArrayBufferView | ArrayBuffer, purpose: Purpose = "storage"): Span {
    const span = this.room(data.byteLength, purpose);
    this.write(span, 0, data);
    return span;
  }

  /** Copies an array to bytes of a span. */
  write({ buffer, offset }: Span, at: number, data: ArrayBufferView | ArrayBuffer): void {
    const bytes = bytesOf(data);
    const { queue } = this.engine.device.gpuDevice;
    const whole = bytes.byteLength - (bytes.byteLength % 4);
    if (whole > 0) queue.writeBuffer(buffer, offset + at, bytes, 0, whole);
    if (whole === bytes.byteLength) return;
    const rest = new Uint8Array(4); // writes are in whole words
    rest.set(bytes.subarray(whole));
    queue.writeBuffer(buffer, offset + at + whole, rest);
  }

  /** A tensor's bytes on the GPU: copied there, or where they lie if a kernel can bind them there. */
  place(tensor: TypedTensor): Span {
    const onGpu = gpuDataOf(tensor);
    if (!onGpu) return this.upload(tensor.data);
    const { buffer, offset, byteLength, argument, isOurs } = onGpu;
    if (!isOurs) this.#check(onGpu);
    const bytes = Math.max(SMALLEST_BINDING, Math.ceil(byteLength / 4) * 4);
    const { minStorageBufferOffsetAlignment: alignment } = this.engine.device.limits;
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

  /** Zeros before the kernels run. */
  clear(span: Span): void {
    this.#clears.push(span);
  }

  /** Copies bytes before the kernels run. */
  copyIn(from: Span, to: Span): void {
    this.#copiesIn.push({ from, to });
  }

  /** Copies a result to where the caller wants it, after the kernels have run. */
  copyOut(from: Span, to: Span): void {
    this.#copiesOut.push({ from, to });
  }

  /** A kernel's numbers, its grid among them. */
  params(params: Params, workgroups: number): Span {
    const [grid_width] = gridOf(this.operation, "kernel", workgroups, this.engine.device.limits);
    return this.upload(packParams({ ...params, workgroups, grid_width }), "uniform");
  }

  /** The numbers of a flat kernel, the width of its grid last. */
  numbers(numbers: readonly number[], workgroups: number): Span {
    const [gridWidth] = gridOf(this.operation, "kernel", workgroups, this.engine.device.limits);
    const words = new Uint32Array(Math.ceil((numbers.length + 1) / 4) * 4);
    words.set([...numbers, gridWidth]);
    return this.upload(words, "uniform");
  }

  /** What is to be undone should the call fail. */
  onFailure(undo: () => void): void {
    this.#undos.push(undo);
  }

  /** The call failed: undoes what it began. Its buffers may be unusable, so nobody gets them again. */
  fail(): void {
    for (const undo of this.#undos) undo();
    for (const { buffer } of this.#taken.splice(0)) buffer.destroy();
  }

  /** A buffer that leaves the call: it does not go back to the pool. */
  keep({ buffer }: Span): void {
    const index = this.#taken.findIndex((entry) => entry.buffer === buffer);
    if (index >= 0) this.#taken.splice(index, 1);
  }

  dispatch(kernel: Kernel, workgroups: number, bindings: Readonly<Record<number, Span>>): void {
    if (workgroups === 0) return;
    const grid = gridOf(this.operation, kernel.name, workgroups, this.engine.device.limits);
    this.#dispatches.push({ kernel, bindings, grid });
  }

  /** Reads a span back; the function returned gives its bytes once the call has run. */
  read(source: Span): (result: ArrayBuffer) => ArrayBuffer {
    const offset = this.#readBytes;
    this.#reads.push({ source, offset });
    this.#readBytes += Math.ceil(source.bytes / 8) * 8; // maps begin at multiples of 8
    return (result) => result.slice(offset, offset + source.bytes);
  }

  /** Copies a result into a tensor of the caller's, after the kernels have run. */
  copyInto(from: Span, into: GpuData): void {
    this.#check(into);
    const { argument, buffer, offset } = into;
    if ((buffer.usage & COPY_DST) === 0)
      throw new OptionError(`${this.operation}: ${argument}.buffer must have usage COPY_DST, got ${buffer.usage}`);
    if (from.bytes % 4 !== 0)
      throw new UnsupportedError(`${this.operation}: ${argument} must hold an even number of float16 on the GPU`);
    this.copyOut(from, { buffer, offset, bytes: from.bytes });
  }

  /** Checks a buffer of the caller's; whose it is will be known when the call waits. */
  #check(data: GpuData): void {
    checkBuffer(this.operation, data);
    this.#owners.push(this.#checkOwner(data.argument, data.buffer));
  }

  /** Only the device itself knows its buffers: it is asked to bind one. */
  async #checkOwner(argument: string, buffer: GPUBuffer): Promise<void> {
    const { gpuDevice } = this.engine.device;
    gpuDevice.pushErrorScope("validation");
    const type = "read-only-storage" as const;
    const layout = gpuDevice.createBindGroupLayout({
      entries: [{ binding: 0, visibility: COMPUTE, buffer: { type } }],
    });
    gpuDevice.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] });
    const error = await this.engine.device.whileAlive(this.operation, gpuDevice.popErrorScope());
    if (error)
      throw new OptionError(`${this.operation}: ${argument}.buffer must belong to this instance's device`, {
        hint: "Give the device to createAttention, or copy the tensor.",
        cause: error,
      });
  }

  /** Waits for the inputs' checks and compiles what is missing. */
  async compile(): Promise<void> {
    const { device } = this.engine;
    await Promise.all(this.#owners);
    const compiling = this.#dispatches.map(({ kernel }) => pipelineOf(this.operation, device.gpuDevice, kernel));
    this.#pipelines = await device.whileAlive(this.operation, Promise.all(compiling));
  }

  /** Records every dispatch into `encoder`; `compile` has run. */
  record(encoder: GPUCommandEncoder, timer?: Timer): void {
    const { gpuDevice } = this.engine.device;
    for (const { buffer, offset, bytes } of this.#clears) encoder.clearBuffer(buffer, offset, bytes);
    copyAll(encoder, this.#copiesIn);
    this.#dispatches.forEach(({ kernel, bindings, grid }, n) => {
      const pipeline = this.#pipelines[n]!;
      const entries = Object.keys(bindingsOf(kernel.name)).map((binding) => ({
        binding: Number(binding),
        resource: resourceOf(this.#bound(kernel, Number(binding), bindings)),
      }));
      const pass = encoder.beginComputePass({ label: kernel.name, ...timer?.writes(n) });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, gpuDevice.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
      pass.dispatchWorkgroups(...grid);
      pass.end();
    });
    copyAll(encoder, this.#copiesOut);
    timer?.resolve(encoder);
  }

  /** Submits everything; `finish` waits for it. */
  submit(): Submission {
    const { device } = this.engine;
    const { gpuDevice } = device;
    const encoder = gpuDevice.createCommandEncoder({ label: this.operation });
    const names = this.#dispatches.map(({ kernel }) => kernel.name);
    const timer = device.timed && names.length > 0 ? new Timer(gpuDevice, names) : undefined;
    this.record(encoder, timer);
    const readback = this.#readBytes > 0 ? this.room(this.#readBytes, "readback").buffer : undefined;
    for (const { source, offset } of this.#reads)
      if (readback) encoder.copyBufferToBuffer(source.buffer, source.offset, readback, offset, source.bytes);
    gpuDevice.queue.submit([encoder.finish()]);
    return { readback, timer };
  }

  /** Waits for a submission; resolves to the bytes that were to be read. */
  async finish({ readback, timer }: Submission): Promise<ArrayBuffer> {
    const { device } = this.engine;
    let result = new ArrayBuffer(0);
    if (readback) {
      await device.whileAlive(this.operation, readback.mapAsync(MAP_READ, 0, this.#readBytes));
      result = readback.getMappedRange(0, this.#readBytes).slice(0);
      readback.unmap();
    } else {
      await device.whileAlive(this.operation, device.gpuDevice.queue.onSubmittedWorkDone());
    }
    if (timer) this.engine.onTimes?.(await device.whileAlive(this.operation, timer.read()));
    return result;
  }

  /** Leaves the buffers to commands that are not submitted yet: they do not go back to the pool. */
  abandon(): void {
    this.#taken.length = 0;
  }

  release(): void {
    for (const { purpose, buffer } of this.#taken) this.engine.pool.giveBack(purpose, buffer);
    this.#taken.length = 0;
  }

  /** What is bound: a few bytes of no meaning where an input or output is absent, never the same twice for writing. */
  #bound(kernel: Kernel, binding: number, bindings: Readonly<Record<number, Span>>): Span {
    const name = bindingsOf(kernel.name)[binding] === "read" ? "read" : binding;
    return bindings[binding] ?? (this.#spares[name] ??= this.room(SMALLEST_BINDING));
  }
}

const MAP_READ = 0x1;
/** One element of the widest array. */
const SMALLEST_BINDING = 16;

function resourceOf({ buffer, offset, bytes }: Span): GPUBufferBinding {
  return { buffer, offset, size: bytes };
}

function bytesOf(data: ArrayBufferView | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(data)) return new Uint8Array(data);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  // a view on the memory of the wasm engine is shared, which not every WebGPU takes
  return isShared(data.buffer) ? bytes.slice() : (bytes as Uint8Array<ArrayBuffer>);
}

function isShared(buffer: ArrayBufferLike): boolean {
  return Object.prototype.toString.call(buffer) === "[object SharedArrayBuffer]";
}

interface Submission {
  readonly readback: GPUBuffer | undefined;
  readonly timer: Timer | undefined;
}

/**
 * Runs one call: `build` makes its buffers and dispatches and returns what reads the results. What the GPU refuses
 * becomes one error of ours and never reaches the console. Buffers go back to the pool whatever happens.
 */
export async function runCall<T>(
  engine: Engine,
  operation: string,
  build: (call: Call) => (result: ArrayBuffer) => T,
): Promise<T> {
  const { device } = engine;
  device.assertAlive(operation);
  const call = new Call(engine, operation);
  try {
    const collect = await scoped(engine, operation, () => build(call));
    await call.compile();
    device.assertAlive(operation);
    const submission = await scoped(engine, operation, () => call.submit());
    return collect(await call.finish(submission));
  } catch (error) {
    call.fail();
    if (error instanceof RangeError)
      throw new OutOfMemoryError(`${operation}: the results do not fit memory`, { cause: error });
    throw await device.explain(operation, error);
  } finally {
    call.release();
  }
}

/** Records a call into the caller's encoder; `build` returns what the results will be. */
export async function recordCall<T>(
  engine: Engine,
  operation: string,
  encoder: GPUCommandEncoder,
  build: (call: Call) => T,
): Promise<T> {
  const { device } = engine;
  device.assertAlive(operation);
  const call = new Call(engine, operation);
  try {
    const results = await scoped(engine, operation, () => build(call));
    await call.compile();
    device.assertAlive(operation);
    await scoped(engine, operation, () => call.record(encoder));
    call.abandon();
    return results;
  } catch (error) {
    call.fail();
    throw await device.explain(operation, error);
  } finally {
    call.release();
  }
}

function copyAll(encoder: GPUCommandEncoder, copies: readonly Copy[]): void {
  for (const { from, to } of copies)
    if (from.bytes > 0) encoder.copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.bytes);
}

/** Copies are in whole words; the last half-word of a buffer's end has no other half. */
function wholeWords(bytes: number, { size }: GPUBuffer, offset: number): number {
  return Math.min(Math.ceil(bytes / 4) * 4, size - offset);
}

const COPY_SRC = 0x4;
const COPY_DST = 0x8;
const COMPUTE = 0x4;
const SCOPES = ["validation", "internal", "out-of-memory"] as const;

/**
 * Runs `work`, which must not wait, inside error scopes: they are a stack of the whole device, and others may use it
 * meanwhile.
 */
export async function scoped<T>({ device }: Engine, operation: string, work: () => T): Promise<T> {
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

/** Timestamps at the beginning and end of each pass. */
class Timer {
  readonly #names: readonly string[];
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #readable: GPUBuffer;

  constructor(device: GPUDevice, names: readonly string[]) {
    this.#names = names;
    const count = 2 * names.length;
    this.#queries = device.createQuerySet({ type: "timestamp", count });
    this.#resolved = device.createBuffer({ size: 8 * count, usage: 0x200 | 0x4 }); // QUERY_RESOLVE | COPY_SRC
    this.#readable = device.createBuffer({ size: 8 * count, usage: 0x1 | 0x8 }); // MAP_READ | COPY_DST
  }

  writes(n: number): GPUComputePassDescriptor {
    return {
      timestampWrites: { querySet: this.#queries, beginningOfPassWriteIndex: 2 * n, endOfPassWriteIndex: 2 * n + 1 },
    };
  }

  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.#queries, 0, 2 * this.#names.length, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#readable, 0, this.#readable.size);
  }

  async read(): Promise<KernelTime[]> {
    await this.#readable.mapAsync(MAP_READ);
    const stamps = new BigUint64Array(this.#readable.getMappedRange().slice(0));
    for (const resource of [this.#queries, this.#resolved, this.#readable]) resource.destroy();
    return this.#names.map((kernel, n) => ({
      kernel,
      milliseconds: Number(stamps[2 * n + 1]! - stamps[2 * n]!) / 1e6,
    }));
  }
}

/** Bytes as an array of a dtype. */
export function asArray<D extends "float32" | "float16" | "int32">(dtype: D, bytes: ArrayBuffer): TensorDataOf[D] {
  const kinds = { float32: Float32Array, float16: Uint16Array, int32: Int32Array } as const;
  return new kinds[dtype](bytes) as TensorDataOf[D];
}
