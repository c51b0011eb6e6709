import { HeadwiseError, OptionError, OutOfMemoryError, UnsupportedError } from "../../base/errors.js";
import { assertIntact } from "../../base/intact.js";
import { ARRAYS, type Dtype, type GpuData, type PlacedTensor, type TensorDataOf } from "../../tensor/tensor.js";
import { bindable, SMALLEST_BINDING, type Purpose } from "../device/buffers.js";
import type { Kernel } from "../kernels/kernel.js";
import { packParams, type Params } from "../kernels/params.js";
import { bindingsOf } from "../kernels/shader.js";
import { checkBytes, gridOf } from "../plan/limits.js";
import { endOfSubmit, piecesOf } from "../plan/pieces.js";
import { Callers, noteDevice } from "./callers.js";
import { Commands, type Range } from "./commands.js";
import type { GpuCore } from "./core.js";
import type { Outcome } from "./faults.js";
import { Numbers } from "./numbers.js";
import { Readback } from "./readback.js";
import type { Recording } from "./recording.js";
import { wholeWords, type Span } from "./span.js";
import type { Timer } from "./timer.js";

export type { Span } from "./span.js";

/** Lists the commands of a problem in a call. */
export type Recorder<T> = (call: Call) => Deliver<T>;

/**
 * Gives the results of a call to the caller, when the GPU is done with them, or when it will be. `mapped` are the bytes
 * that the call reads back.
 */
export type Deliver<T> = (mapped: ArrayBuffer) => T;

/**
 * One call: its buffers and its commands. A problem lists what it needs here; `runCall` submits it, or `encodeCall`
 * records it for the caller. Scratch buffers come from the pool and go back when the call has succeeded. Results that
 * stay on the GPU have buffers of their own.
 */
export class Call {
  readonly core: GpuCore;
  readonly operation: string;
  /** Set if the call is recorded for the caller to submit. */
  readonly recording: Recording | undefined;
  /** Whether the call has ended and holds no buffers any more. */
  isOver = false;
  readonly #callers: Callers;
  readonly #commands: Commands;
  readonly #numbers = new Numbers();
  readonly #readback = new Readback();
  readonly #scratch: GPUBuffer[] = [];
  /** Scratch buffers that do not go back to the pool when the call has succeeded. */
  readonly #kept = new Set<GPUBuffer>();
  /** Buffers of results that stay on the GPU, and the caller's buffers that the call writes. */
  readonly #results: GPUBuffer[] = [];
  readonly #written: GPUBuffer[] = [];
  /** The earlier calls that wrote the inputs. */
  readonly #origins: Outcome[] = [];
  readonly #undos: (() => void)[] = [];
  readonly #releases: (() => void)[] = [];
  readonly #spares: { [name: string]: Span } = {};
  readonly #buffersBefore: number;
  /** Whether its kernels may compute with float16. */
  readonly #halves: boolean;

  constructor(core: GpuCore, operation: string, recording?: Recording) {
    this.core = core;
    this.operation = operation;
    this.recording = recording;
    this.#callers = new Callers(core.device, operation, core.known.buffers);
    this.#commands = new Commands(core);
    this.#buffersBefore = core.buffers.count;
    this.#halves = core.device.halves;
  }

  /** Whether the call has failed because a kernel with float16 did not compile. Listed again, it has none. */
  get mayTryAgain(): boolean {
    return this.#halves && !this.core.device.halves;
  }

  /** Scratch room for `bytes` bytes. Its content is undefined. */
  room(bytes: number, purpose: Purpose = "storage"): Span {
    checkBytes(this.operation, ROOM[purpose], bytes, this.core.device.limits, ["maxBufferSize"]);
    const buffer = this.core.buffers.take(purpose, bytes);
    this.#scratch.push(buffer);
    return { buffer, offset: 0, bytes: bindable(bytes) };
  }

  /**
   * Keeps the buffer of scratch room when the call has succeeded: its new owner gives it back. If the call fails, it is
   * freed like all scratch.
   */
  keep({ buffer }: Span): GPUBuffer {
    this.#kept.add(buffer);
    return buffer;
  }

  /** Room for a result. If the result stays on the GPU, it gets a buffer of its own for the caller. */
  resultRoom(bytes: number, location: "cpu" | "gpu"): Span {
    if (location === "cpu") return this.room(bytes);
    checkBytes(this.operation, ROOM.result, bytes, this.core.device.limits, ["maxBufferSize"]);
    const buffer = this.core.buffers.take("result", bytes);
    this.#results.push(buffer);
    this.core.faults.forget(buffer);
    const end = Math.ceil(bytes / 4) * 4;
    // The buffer may have had another result. Nothing of that may be behind this one.
    if (end < buffer.size) this.clear({ buffer, offset: end, bytes: buffer.size - end });
    return { buffer, offset: 0, bytes: buffer.size };
  }

  /** Copies an array of the caller to the GPU. */
  upload(data: ArrayBufferView | ArrayBuffer): Span {
    this.#assertIntact(data);
    const span = this.room(data.byteLength);
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

  /** A table for the kernels, made for this call. All tables and parameters are written at once. */
  table(data: ArrayBufferView | ArrayBuffer): Span {
    return this.#numbers.add(data);
  }

  /** The parameters of an attention kernel, with its grid: of `workgroups` workgroups from `first` on. */
  params(params: Params, workgroups: number, first = 0): Span {
    const [grid_width] = gridOf(this.operation, "kernel", workgroups, this.core.device.limits);
    return this.table(packParams({ ...params, first_workgroup: first, workgroups: first + workgroups, grid_width }));
  }

  /** The parameters of a flat kernel, and at the end the width of its grid. */
  numbers(numbers: readonly number[], workgroups: number): Span {
    const [gridWidth] = gridOf(this.operation, "kernel", workgroups, this.core.device.limits);
    const words = new Uint32Array(Math.ceil((numbers.length + 1) / 4) * 4);
    words.set([...numbers, gridWidth]);
    return this.table(words);
  }

  /**
   * The bytes of a tensor on the GPU. A tensor on the GPU is used where it lies if a kernel can bind it there,
   * otherwise it is copied.
   */
  place({ data, gpu }: PlacedTensor): Span {
    if (!gpu) return this.upload(data);
    const { buffer, offset, byteLength, argument } = gpu;
    this.#borrow(gpu);
    const bytes = bindable(byteLength);
    const { minStorageBufferOffsetAlignment: alignment } = this.core.device.limits;
    if (offset % alignment === 0 && offset + bytes <= buffer.size) return { buffer, offset, bytes };
    if ((buffer.usage & COPY_SRC) === 0)
      throw new UnsupportedError(
        `${this.operation}: ${argument}.offset must be a multiple of ${alignment} (minStorageBufferOffsetAlignment) ` +
          `for a buffer without usage COPY_SRC, got ${offset}`,
      );
    const copied = this.room(byteLength);
    this.copyIn({ buffer, offset, bytes: wholeWords(byteLength, buffer, offset) }, copied);
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
    this.#commands.clear(span);
  }

  /** Copies bytes before the kernels run. */
  copyIn(from: Span, to: Span): void {
    this.#commands.copyIn(from, to);
  }

  /** Copies a result after the kernels have run. */
  copyOut(from: Span, to: Span): void {
    this.#commands.copyOut(from, to);
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
    this.#written.push(buffer);
  }

  /**
   * Lists a kernel that may take long, in pieces that can be submitted one after the other. Its bits do not depend on the
   * pieces: no workgroup knows of another. A recorded call is one piece, because the caller submits it.
   *
   * @param multiplyAdds - of all workgroups together
   * @param numbersOf - the numbers of some of the workgroups
   * @param isCertain - whether it does that work whatever the values are
   */
  dispatchLong(
    kernel: Kernel,
    workgroups: number,
    multiplyAdds: number,
    numbersOf: (first: number, count: number) => Span,
    given: Readonly<{ [binding: number]: Span }>,
    isCertain = true,
  ): void {
    const speed = this.recording ? Infinity : this.core.device.speed.now;
    for (const { first, count, operations } of piecesOf(workgroups, 2 * multiplyAdds, speed))
      this.dispatch(kernel, count, { 0: numbersOf(first, count), ...given }, operations, isCertain ? operations : 0);
  }

  /**
   * @param operations - the floating-point operations of a long kernel, or of a piece of it
   * @param certain - of those, the ones that it does whatever the values are
   */
  dispatch(
    kernel: Kernel,
    workgroups: number,
    given: Readonly<{ [binding: number]: Span }>,
    operations = 0,
    certain = operations,
  ): void {
    if (workgroups === 0) return;
    const grid = gridOf(this.operation, kernel.name, workgroups, this.core.device.limits);
    const bindings = bindingsOf(kernel.name).map(({ binding, access }) => ({
      binding,
      span: given[binding] ?? this.#spare(access === "read" ? "read" : String(binding)),
    }));
    for (const { span } of bindings)
      checkBytes(this.operation, `the kernel ${kernel.name}`, span.bytes, this.core.device.limits);
    this.#commands.dispatch(kernel, bindings, grid, { operations, certain });
  }

  /** Lists commands of a listing again. */
  append(listing: Call, commands: Range): void {
    this.#commands.append(listing.#commands, commands);
  }

  /** How much the call lists that only it can have: buffers of the caller, and commands that are no kernels. */
  get ownCount(): number {
    return this.#callers.count + this.#commands.countOfOthers;
  }

  /** Reads a span back. The returned function copies its first bytes out of the mapped range. */
  read(source: Span, bytes = source.bytes): Deliver<ArrayBuffer> {
    const view = this.view(source, bytes);
    return (mapped) => view(mapped).slice().buffer;
  }

  /** The same without the copy: a view that ends with the call. */
  view(source: Span, bytes = source.bytes): Deliver<Uint8Array<ArrayBuffer>> {
    const offset = this.#readback.add(source);
    return (mapped) => new Uint8Array(mapped, offset, bytes);
  }

  /** Adds a function that frees something when the commands of the call have been submitted and have succeeded. */
  onSuccess(release: () => void): void {
    this.#releases.push(release);
  }

  /** Adds a function that runs if the call fails. */
  onFailure(undo: () => void): void {
    this.#undos.push(undo);
  }

  /** Adds a buffer to the call that it did not make. */
  #borrow(data: GpuData): void {
    if (data.isOurs) return;
    this.#callers.add(data);
    const origin = this.core.faults.outcomeOf(data.buffer);
    if (origin) this.#origins.push(origin);
    this.core.faults.assertSucceeded(this.#origins);
  }

  /** Takes the buffers whose sizes are known when everything is listed. */
  close(): void {
    if (this.#numbers.bytes > 0) this.#numbers.lieIn(this.room(this.#numbers.bytes, "numbers").buffer);
    if (this.#readback.bytes > 0) this.#readback.lieIn(this.room(this.#readback.bytes, "readback").buffer);
  }

  /** Whether nothing has to be waited for before the commands are submitted: all buffers and pipelines were used before. */
  get isReady(): boolean {
    return this.usesKnownBuffers && this.#commands.areCompiled;
  }

  get isCompiled(): boolean {
    return this.#commands.areCompiled;
  }

  get usesKnownBuffers(): boolean {
    return this.#callers.areKnown && this.core.buffers.count === this.#buffersBefore;
  }

  compile(): Promise<void> {
    return this.#commands.compile(this.operation);
  }

  /** Throws an OptionError if the GPU refuses one of the caller's buffers that are new to it. */
  checkCallers(): Promise<void> {
    return this.#callers.checkNew();
  }

  /** Whether a result must be waited for. */
  get reads(): boolean {
    return this.#readback.bytes > 0;
  }

  get isEmpty(): boolean {
    return this.#commands.isEmpty && !this.reads;
  }

  get kernelNames(): readonly string[] {
    return this.#commands.kernelNames;
  }

  /** The floating-point operations of the pieces of the call. */
  get operations(): readonly number[] {
    return this.#commands.operations;
  }

  /** Those of some pieces that do not depend on values. */
  certain(pieces: Range): number {
    return this.#commands.certain(pieces);
  }

  /** Whether one submit can take the whole call. */
  get isShort(): boolean {
    const { operations } = this;
    return endOfSubmit(operations, 0, this.core.device.speed.now) === operations.length;
  }

  /** Writes the numbers, and records all commands into `encoder`; of a long call only some of its pieces. */
  record(encoder: GPUCommandEncoder, timer?: Timer, pieces: Range = { from: 0, to: this.operations.length }): void {
    if (pieces.from === 0) this.writeNumbers();
    this.#commands.record(encoder, this.operation, timer, pieces);
    if (pieces.to === this.operations.length) this.#readback.record(encoder);
  }

  writeNumbers(): void {
    this.#numbers.write(this.core.device.gpuDevice.queue);
  }

  /** Waits for the bytes that the call reads back. */
  map(): Promise<ArrayBuffer> {
    return this.#readback.map();
  }

  /** Waits for the earlier calls that wrote the inputs. Throws if one of them has failed. */
  async checkInputs(): Promise<void> {
    await Promise.all(this.#origins.map(({ known }) => known));
    this.core.faults.assertSucceeded(this.#origins);
  }

  /** The buffers in which the GPU leaves results. */
  get written(): readonly GPUBuffer[] {
    return [...this.#results, ...this.#written];
  }

  /**
   * The call succeeded: results are handed over to the caller, and scratch buffers go back to the pool, or to the
   * recording.
   */
  succeed(): void {
    this.isOver = true;
    const { buffers, known, device } = this.core;
    this.#unmap();
    for (const buffer of this.#results) {
      buffers.handOver(buffer);
      known.buffers.add(buffer);
      noteDevice(buffer, device);
    }
    if (this.recording) {
      this.recording.hold(this.#scratch, this.#releases);
      return;
    }
    for (const buffer of this.#scratch) if (!this.#kept.has(buffer)) buffers.giveBack(buffer);
    for (const release of this.#releases) release();
  }

  /** The call has no results, but its buffers are usable: undoes its changes, and gives the buffers back. */
  cancel(): void {
    this.isOver = true;
    this.#unmap();
    for (const undo of this.#undos) undo();
    for (const buffer of [...this.#results, ...this.#scratch]) this.core.buffers.giveBack(buffer);
  }

  /** The call failed: undoes its changes. Its buffers are destroyed, because they may be unusable. */
  fail(): void {
    this.undo();
    for (const buffer of [...this.#results, ...this.#scratch]) this.core.buffers.free(buffer);
  }

  /**
   * Undoes the changes of a call that was submitted and failed later. The caller's buffers are checked anew, and no bind
   * group is kept: one of them may be what has failed.
   */
  undo(): void {
    for (const undo of this.#undos) undo();
    this.#callers.forget(this.core.bindGroups);
    for (const buffer of [...this.#results, ...this.#scratch]) this.core.bindGroups.drop(buffer);
  }

  /** The error to throw for an error of this call. */
  async explain(error: unknown): Promise<HeadwiseError> {
    if (error instanceof RangeError)
      return new OutOfMemoryError(`${this.operation}: the results do not fit memory`, { cause: error });
    const explained = await this.core.device.explain(this.operation, error);
    if (explained.code !== "INTERNAL") return explained;
    return this.#callers.checkAll().then(
      () => explained,
      (reason: unknown) => (HeadwiseError.is(reason) ? reason : explained),
    );
  }

  /** Ends the mapping of what was read back. A buffer that stays mapped cannot be used again. */
  #unmap(): void {
    const buffer = this.#readback.unmap();
    if (!buffer) return;
    this.#scratch.splice(this.#scratch.indexOf(buffer), 1);
    this.core.buffers.free(buffer);
  }

  /** A buffer for an absent input or output: a few bytes that no result uses. Each absent output has one of its own. */
  #spare(name: string): Span {
    return (this.#spares[name] ??= this.room(SMALLEST_BINDING));
  }
}

/** What a buffer is for, in errors. */
const ROOM: Readonly<Record<Purpose, string>> = {
  storage: "an array of the call",
  result: "a result",
  readback: "what is read back",
  numbers: "the numbers of the kernels",
};

const COPY_SRC = 0x4;
const COPY_DST = 0x8;

function bytesOf(data: ArrayBufferView | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(data)) return new Uint8Array(data);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  // The memory of the wasm engine is shared, and some implementations of WebGPU refuse shared arrays.
  return isShared(data.buffer) ? bytes.slice() : (bytes as Uint8Array<ArrayBuffer>);
}

function isShared(buffer: ArrayBufferLike): boolean {
  return Object.prototype.toString.call(buffer) === "[object SharedArrayBuffer]";
}

/** Bytes as an array of a dtype. */
export function asArray<D extends Dtype>(dtype: D, bytes: ArrayBuffer): TensorDataOf[D] {
  return new ARRAYS[dtype](bytes) as TensorDataOf[D];
}
