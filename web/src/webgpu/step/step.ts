import { DeviceLostError, UnsupportedError } from "../../base/errors.js";
import { withLength } from "../../position/checkedAngles.js";
import type { RotaryProblem } from "../../position/rotaryProblem.js";
import { withJoinedMaps } from "../../step/joinedMaps.js";
import {
  withTensors,
  type AttentionPart,
  type LayerPart,
  type LinearPart,
  type StepArray,
  type StepOutput,
  type StepPart,
  type StepProblem,
  type TurnPart,
} from "../../step/stepProblem.js";
import { BYTES, type PlacedFloats, type PlacedTensor } from "../../tensor/tensor.js";
import { recordAttention } from "../attention/attention.js";
import { recordRotary } from "../attention/rotary.js";
import type { Call, Deliver } from "../call/call.js";
import type { GpuEngineLayer } from "../layer/layer.js";
import { keptMatrix, recordProduct } from "../layer/linear.js";
import { boundRows, recordMap, recordNorm, recordSoftmax, recordTake, recordTop } from "./rowOperations.js";
import { StepBuffers } from "./stepBuffers.js";
import { StepListing } from "./stepListing.js";

type RowsPart = Exclude<StepPart, LinearPart | TurnPart | LayerPart | AttentionPart>;

/** Lists the commands of a part in a run. What it returns is called when the run has succeeded. */
type RecordPart = (call: Call, inputs: readonly StepArray[]) => Deliver<unknown> | undefined | void;

/**
 * A step on the GPU. Its arrays and weights stay in buffers, and most kernels are listed once; those of a layer follow its
 * cache, so each run lists them anew. A run is one submit.
 */
export class GpuStep {
  readonly #device: GPUDevice;
  readonly #buffers: StepBuffers;
  readonly #parts: readonly RecordPart[];
  readonly #inputs: readonly PlacedTensor[];
  readonly #outputs: readonly StepOutput[];

  private constructor(call: Call, recorded: StepProblem) {
    refuseSharedCaches(recorded);
    const problem = withJoinedMaps(recorded, ({ layer }) => (layer as GpuEngineLayer).layer.canMap);
    const buffers = new StepBuffers(call, problem);
    const placed = <T extends PlacedTensor>(tensor: T): T => buffers.place(call, tensor);
    const listing = new StepListing(call, buffers);
    this.#device = call.core.device.gpuDevice;
    this.#buffers = buffers;
    this.#parts = problem.parts.map((part) => {
      if (part.kind === "linear") return linearRecorder(call, buffers, listing, part);
      if (part.kind === "turn") return turnRecorder(withTensors(part, placed), inputOf(problem, part));
      if (part.kind === "layer" || part.kind === "attention") return attendRecorder(withTensors(part, placed));
      const rows = withTensors(part, placed);
      return listing.part((later) => recordRows(later, rows));
    });
    listing.close();
    this.#inputs = problem.inputs.map(placed);
    this.#outputs = problem.outputs.map(
      (output) => ({ ...output, x: { ...output.x, tensor: placed<PlacedTensor>(output.x.tensor) } }) as StepOutput,
    );
  }

  static make(call: Call, problem: StepProblem): Deliver<GpuStep> {
    const step = new GpuStep(call, problem);
    return () => step;
  }

  get bytes(): number {
    return this.#buffers.bytes;
  }

  /** Lists a run. The caches of the step gain its tokens when it has succeeded. */
  run(call: Call, inputs: readonly StepArray[]): Deliver<readonly StepArray[]> {
    if (call.core.device.gpuDevice !== this.#device)
      throw new DeviceLostError(`${call.operation}: the step was lost with its GPU device`, {
        hint: "Record it again.",
      });
    call.onFailure(() => this.#buffers.dropBindGroups());
    this.#inputs.forEach((tensor, n) => call.write(call.place(tensor), 0, inputs[n]!));
    const delivers = this.#parts.map((record) => record(call, inputs));
    const read = this.#outputs.map((output) => readRows(call, output));
    return (mapped) => {
      for (const deliver of delivers) deliver?.(mapped);
      return read.map((each) => each(mapped));
    };
  }

  release(): void {
    this.#buffers.release();
  }
}

/** A part whose commands follow a cache, or are cut into pieces: each run lists them anew. */
function attendRecorder(part: LayerPart | AttentionPart): RecordPart {
  if (part.kind === "layer")
    return (call) => (part.layer as GpuEngineLayer).layer.forward(call, inRun(call, part.problem), part.map);
  const { problem } = part;
  return (call) => {
    const bound = {
      query: boundRows(call, problem.query),
      key: boundRows(call, problem.key),
      value: boundRows(call, problem.value),
    };
    return recordAttention(call, { ...problem, ...bound, operation: call.operation });
  };
}

function recordRows(call: Call, part: RowsPart): void {
  switch (part.kind) {
    case "norm":
      return recordNorm(call, part);
    case "map":
      return recordMap(call, part);
    case "take":
      return recordTake(call, part);
    case "softmax":
      return recordSoftmax(call, part);
    case "top":
      return recordTop(call, part);
  }
}

/** A product whose weight and bias stay on the GPU as a matrix. An uploaded weight may be disposed between two runs. */
function linearRecorder(call: Call, buffers: StepBuffers, listing: StepListing, part: LinearPart): RecordPart {
  const { weight, scales, bias, uploaded } = part.problem;
  const matrixIn = keptMatrix(call, part.problem, (bytes) => buffers.keep(call, bytes));
  const ofMatrix = new Set<PlacedTensor | undefined>([weight, scales, bias]);
  const { problem, map } = withTensors(part, (tensor) => (ofMatrix.has(tensor) ? tensor : buffers.place(call, tensor)));
  const record = (later: Call) => void recordProduct(later, inRun(later, problem), matrixIn(later), map);
  return uploaded ? record : listing.part(record);
}

/** The problem of an operation as a run has it. */
function inRun<P extends { readonly operation: string; readonly x: PlacedFloats }>(call: Call, problem: P): P {
  return { ...problem, operation: call.operation, x: boundRows(call, problem.x) };
}

/** A rotary embedding, at the positions of an input if it has one. */
function turnRecorder({ problem }: TurnPart, input: number | undefined): RecordPart {
  if (input === undefined) return (call) => recordRotary(call, inRun(call, problem));
  return (call, inputs) => recordRotary(call, inRun(call, turnedAt(problem, inputs[input]!)));
}

function turnedAt(problem: RotaryProblem, given: StepArray): RotaryProblem {
  const positions = Float64Array.from(given);
  const { angles, followsLength } = problem;
  return { ...problem, positions, angles: followsLength ? withLength(angles, positions) : angles };
}

/**
 * The number of the input with the positions of a rotary embedding; undefined if every run has the same.
 *
 * @throws UnsupportedError if the step computes them: angles are made in JavaScript.
 */
function inputOf({ operation, inputs }: StepProblem, { numbers }: TurnPart): number | undefined {
  if (!numbers) return undefined;
  const n = inputs.findIndex(({ address }) => address === numbers.address);
  if (n >= 0) return n;
  throw new UnsupportedError(`${operation}: on WebGPU the positions of rotary must be numbers that each run gets`);
}

/** Reads the rows of an output, side by side. */
function readRows(call: Call, { rows, width, x }: StepOutput): Deliver<StepArray> {
  const { gpu, dtype } = x.tensor;
  const { offset, stride } = x;
  const last = rows === 0 ? 0 : (rows - 1) * stride + width;
  const bytes = last * BYTES[dtype];
  const read = call.read({ buffer: gpu!.buffer, offset: gpu!.offset + offset * BYTES[dtype], bytes }, bytes);
  return (mapped) => {
    const numbers = dtype === "int32" ? new Int32Array(read(mapped)) : new Float32Array(read(mapped));
    return stride === width || rows === 1 ? numbers : numbers.filter((_, n) => n % stride < width);
  };
}

/** A cache gains its tokens when a run ends, so a second layer would not see those of the first. */
function refuseSharedCaches({ operation, parts }: StepProblem): void {
  const caches = parts.flatMap((part) => (part.kind === "layer" && part.problem.cache ? [part.problem.cache] : []));
  if (new Set(caches).size < caches.length)
    throw new UnsupportedError(`${operation}: on WebGPU a cache must belong to one layer call of a step`);
}
