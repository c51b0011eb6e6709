import type { PlainName } from "../attention/attentionSettings.js";
import type { CallClass } from "./callFields.js";

/** Sets a formula: addresses of arrays, and how many elements they have. */
export type SetFormula = (
  instructions: number,
  numInstructions: number,
  result: number,
  numbers: number,
  numNumbers: number,
  tables: number,
  numTables: number,
  bounds: number,
  numBounds: number,
) => void;

/** The same for the derivatives of a formula, which have reads and no bounds. */
type SetDerivative = (...program: Parameters<SetFormula>) => void;

/** Numbers, flags and addresses of lists: C++ has them under the same names. */
type PlainSettings = Record<PlainName, number>;

/**
 * The API of `cpp/bindings/embind.cpp`. Every field of a call struct is a number in the engine's memory: a size, an
 * enumerator, or the address of an array (callFields.ts). 0 means absent. `reset()` restores the defaults, so a call sets only the properties
 * that differ.
 */
export interface AttentionCall extends PlainSettings {
  reset(): void;
  setMaskExtents(b: number, h: number, i: number, j: number): void;
  setBiasExtents(b: number, h: number, i: number, j: number): void;
  /** The score formula: addresses of the arrays of `Formula` in headwise/formula.h, and how many elements they have. */
  setScore: SetFormula;
  setVisible: SetFormula;
  /** Sets where to write a view, by its enumerator. Lists are addresses. A call of attention without a cache has no views. */
  setView(view: number, data: number, heads: number, numHeads: number, rows: number, numRows: number): void;
  /** Sets a patch, by its enumerator. Without data it is the mean. */
  setPatch(patch: number, data: number, heads: number, numHeads: number, rows: number, numRows: number): void;

  batchSize: number;
  numHeads: number;
  numKvHeads: number;
  queryLength: number;
  keyLength: number;
  headDim: number;
  valueDim: number;

  query: number;
  queryDtype: number;
  key: number;
  keyDtype: number;
  value: number;
  valueDtype: number;
  /** The address of a cache, which then replaces key and value. */
  cache: number;
  /** The address of a cache that gains key and value before the call; then `cache` counts for nothing. */
  grows: number;
  numTokens: number;
  appendLengths: number;
  queryPositions: number;
  queryPositionPlanes: number;
  mask: number;
  bias: number;
  biasDtype: number;

  layout: number;
  kvLayout: number;
  causal: number;
  windowLeft: number;
  windowRight: number;
  emptyRows: number;
  queryOffset: number;
  alibiQueryPositions: number;
  alibiKeyPositions: number;
  dropoutRate: number;
  dropoutSeed: number;
  cuSeqLensQuery: number;
  cuSeqLensKey: number;
  numSequences: number;

  output: number;
  outputDtype: number;
  /** The key length that `probs` and `scores` have room for. C++ refuses a call with another key length. */
  keyRoom: number;
  lse: number;
  entropy: number;
  probs: number;
  probsHeads: number;
  probsNumHeads: number;
  probsQueries: number;
  probsNumQueries: number;
  probsAverage: number;
  scores: number;
  scoresStage: number;
  scoresHeads: number;
  scoresNumHeads: number;
  scoresQueries: number;
  scoresNumQueries: number;
  topK: number;
  topKValues: number;
  topKIndices: number;
  topKHeads: number;
  topKNumHeads: number;
  topKQueries: number;
  topKNumQueries: number;
  topKAverage: number;
}

/** The gradients of what attention reads beside queries, keys and values. An address of 0 is not wanted. */
export interface GradientProperties {
  dBias: number;
  dSinks: number;
  dHeadGain: number;
  dAlibiSlopes: number;
  /** Whether the reads of the derivative are wanted. */
  dReads: number;
  /** How the score formula is differentiated: `ScoreDerivative` of headwise/backward.h. */
  setDerivative: SetDerivative;
}

/** C++ reads the inputs and options of AttentionCall, and not its outputs. A gradient whose address is 0 is not wanted. */
export interface BackwardCall extends AttentionCall, GradientProperties {
  givenOutput: number;
  givenOutputDtype: number;
  givenLse: number;
  dOutput: number;
  dOutputDtype: number;
  /** 0: there is none. */
  dLse: number;
  dQuery: number;
  dKey: number;
  dValue: number;
}

export interface MergeCall {
  reset(): void;
  batchSize: number;
  numHeads: number;
  queryLength: number;
  valueDim: number;
  layout: number;
  parts: number;
  numParts: number;
  sinks: number;
  output: number;
  outputDtype: number;
  lse: number;
}

/** `RotaryOptions` of headwise/position.h, in every call that has them. */
export interface RotaryProperties {
  rotaryDim: number;
  rotaryBase: number;
  rotaryInterleaved: number;
  rotaryScaling: number;
  rotaryFactor: number;
  rotaryOriginalLength: number;
  rotarySequenceLength: number;
  rotaryBetaFast: number;
  rotaryBetaSlow: number;
  rotaryTruncate: number;
  rotaryAttentionFactor: number;
  rotaryMscale: number;
  rotaryMscaleAllDim: number;
  rotaryLowFreqFactor: number;
  rotaryHighFreqFactor: number;
  rotaryShortFactors: number;
  rotaryLongFactors: number;
  rotaryFrequencies: number;
  rotaryCosines: number;
  rotarySines: number;
  rotaryTableRows: number;
  rotaryTemporalSection: number;
  rotaryHeightSection: number;
  rotaryWidthSection: number;
}

export interface RotaryCall extends RotaryProperties {
  reset(): void;
  layout: number;
  batchSize: number;
  numHeads: number;
  length: number;
  headDim: number;
  x: number;
  xDtype: number;
  positions: number;
  cosines: number;
  sines: number;
  tableRows: number;
  rows: number;
  y: number;
  yDtype: number;
}

/** One operation on a cache, and its arguments. */
export interface CacheCall extends RotaryProperties {
  reset(): void;
  /** Writes the shape of the cache at this address into this call. */
  describe(address: number): void;
  operation: number;
  cache: number;
  /** The address of the cache that create, fork, slice or load has made. It must be released. */
  result: number;
  batchSize: number;
  numKvHeads: number;
  headDim: number;
  valueDim: number;
  dtype: number;
  capacity: number;
  keepFirst: number;
  window: number;
  /** Whether ring.positions is "cache". */
  cachePositions: number;
  turns: number;
  /** Whether the cache turns by sections. */
  sections: number;
  layout: number;
  numTokens: number;
  key: number;
  keyDtype: number;
  value: number;
  valueDtype: number;
  lengths: number;
  positions: number;
  positionPlanes: number;
  indices: number;
  keptFrom: number;
  keptCounts: number;
  keptRows: number;
  from: number;
  to: number;
  bytes: number;
  size: number;
}

/** What a linear map and its gradient read. */
export interface LinearMapProperties {
  reset(): void;
  rows: number;
  inputDim: number;
  outputDim: number;
  x: number;
  xDtype: number;
  weight: number;
  weightDtype: number;
  /** In elements. */
  inStride: number;
  outStride: number;
}

export interface LinearCall extends LinearMapProperties {
  /** Whether the weight is in panels, which have no strides. */
  inPanels: boolean;
  /** The scales of a weight of int8. */
  scales: number;
  bias: number;
  biasDtype: number;
  y: number;
  yDtype: number;
}

/** A gradient whose address is 0 is not wanted. */
export interface LinearBackwardCall extends LinearMapProperties {
  dOutput: number;
  dOutputDtype: number;
  dInput: number;
  dWeight: number;
  dBias: number;
}

/** A weight [in, out], its strides in elements, and its bias. */
export type LinearProperties = {
  [
    Name in `${"query" | "key" | "value" | "output"}${"Weight" | "Dtype" | "InStride" | "OutStride" | "Bias" | "BiasDtype"}`
  ]: number;
};

/** Where the gradients of a weight [in, out] and its bias go. */
type LinearGradientProperties = {
  [Name in `${"query" | "key" | "value" | "output"}${"Weight" | "InStride" | "OutStride" | "Bias"}`]: number;
};

/** Weights that replace others. An address of 0 leaves them as they are. */
export interface LayerUpdateCall extends LinearProperties {
  reset(): void;
  layer: number;
  queryGain: number;
  keyGain: number;
  positionTable: number;
}

/** A gradient whose address is 0 is not wanted. */
export interface LayerBackwardCall extends GradientProperties, LinearGradientProperties {
  reset(): void;
  layer: number;
  saved: number;
  dOutput: number;
  dOutputDtype: number;
  /** 0: there is none. */
  dLse: number;
  dInput: number;
  dContext: number;
  dValueContext: number;
  queryGain: number;
  keyGain: number;
  positionTable: number;
}

/** The properties of a new layer. C++ copies the arrays. */
export interface LayerCreation extends LinearProperties, RotaryProperties {
  reset(): void;
  inputDim: number;
  keyInputDim: number;
  valueInputDim: number;
  numHeads: number;
  numKvHeads: number;
  headDim: number;
  valueHeadDim: number;
  outputDim: number;
  outputProjection: number;
  weightDtype: number;
  qkNorm: number;
  qkNormEpsilon: number;
  queryGain: number;
  keyGain: number;
  position: number;
  positionTable: number;
  positionRows: number;
  sinusoidalSplit: number;
  sinusoidalBase: number;
  /** The address of the new layer. It must be released. */
  result: number;
}

/** C++ reads only the mask, the bias, the options and the outputs of AttentionCall. */
export interface LayerCall extends AttentionCall {
  layer: number;
  inputLayout: number;
  inputBatchSize: number;
  inputLength: number;
  contextLength: number;
  x: number;
  xDtype: number;
  keyContext: number;
  keyContextDtype: number;
  valueContext: number;
  valueContextDtype: number;
  layerCache: number;
  attendOnly: number;
  appendLengths: number;
  positions: number;
  positionPlanes: number;
  keyPositions: number;
  /** 1 if C++ keeps what the gradient needs. The call's inputs must then stay where they are. */
  saves: number;
  /** The address of what C++ has kept. It must be released. */
  saved: number;
}

/** Rows of float32: `x` is their address. */
interface RowsCall {
  rows: number;
  width: number;
  y: number;
}

export interface NormedRows extends RowsCall {
  norm: number;
  x: number;
  xStride: number;
  gain: number;
  shift: number;
  epsilon: number;
}

export interface MappedRows extends RowsCall {
  function: number;
  x: number;
  xStride: number;
  divisor: number;
  scale: number;
  times: number;
  timesStride: number;
  plus: number;
  plusStride: number;
}

export interface TakenRows extends RowsCall {
  numbers: number;
  table: number;
  tableDtype: number;
  tableRows: number;
  scales: number;
  scale: number;
}

export interface SoftmaxRows extends RowsCall {
  x: number;
  xStride: number;
  scale: number;
}

export interface TopRows extends Omit<RowsCall, "y"> {
  x: number;
  xStride: number;
  k: number;
  values: number;
  indices: number;
}

export interface TurnedTokens {
  turn: number;
  numbers: number;
  positions: number;
  followsLength: number;
}

/** An address, and the bytes to copy there. */
export type InputCopy = readonly [address: number, bytes: Uint8Array];

/**
 * The Engine of embind.cpp. It runs one call at a time. `finished` is the address of a word that is 1 when the call is
 * done.
 */
export interface NativeCore {
  /** Copies `WasmModule.meanwhile` first, or while other threads begin; then it also calls `WasmModule.makeResults`. */
  attention(call: AttentionCall): void;
  attentionBackward(call: BackwardCall): void;
  merge(call: MergeCall): void;
  rotary(call: RotaryCall): void;
  cache(call: CacheCall): void;
  createLayer(call: LayerCreation): void;
  layer(call: LayerCall): void;
  layerBackward(call: LayerBackwardCall): void;
  updateLayer(call: LayerUpdateCall): void;
  linear(call: LinearCall): void;
  linearBackward(call: LinearBackwardCall): void;
  /** Runs the calls of a step: `parts` is the address of pairs of words, a kind and the address of a call. */
  step(parts: number, numParts: number): void;
  /** Ends the threads. Their workers stay. */
  leave(): void;
  /** Starts the threads again. */
  enter(): void;
  /** Address of a C string; calls may change it. */
  readonly block: number;
  readonly finished: number;
  readonly threads: number;
  /** The address of the status' code. */
  readonly status: number;
  /** Whether `attention` copies inputs that lie in `WasmModule.meanwhile`. If not, they are copied before it. */
  readonly copiesMeanwhile: boolean;
  readonly message: number;
  readonly rows: number;
  readonly rowCount: number;
}

/** The call structs, by the names of the C++ classes. */
export interface CallStructs {
  AttentionCall: AttentionCall;
  BackwardCall: BackwardCall;
  MergeCall: MergeCall;
  RotaryCall: RotaryCall;
  CacheCall: CacheCall;
  LayerCreation: LayerCreation;
  LayerCall: LayerCall;
  LayerBackwardCall: LayerBackwardCall;
  LayerUpdateCall: LayerUpdateCall;
  LinearCall: LinearCall;
  LinearBackwardCall: LinearBackwardCall;
}

/** The calls that only a step has. They lie in the step's memory; `WasmModule.stepCalls` says where their fields are. */
export interface RowsCalls {
  NormedRows: NormedRows;
  MappedRows: MappedRows;
  TakenRows: TakenRows;
  SoftmaxRows: SoftmaxRows;
  TopRows: TopRows;
  TurnedTokens: TurnedTokens;
}

type CallConstructors = { readonly [Kind in keyof CallStructs]: CallClass<CallStructs[Kind]> };

/** An instance of `headwise.<variant>.wasm`, as Emscripten's loader gives it. */
export interface WasmModule extends CallConstructors {
  /** The copies that the next call of `attention` makes. */
  meanwhile?: readonly InputCopy[] | undefined;
  /** Makes the arrays of that call's results. It runs while other threads compute; with one thread it does not run. */
  makeResults?: (() => void) | undefined;
  /** The exports of the primary part, as they are. The late part imports them. */
  readonly primary: WebAssembly.Exports;
  /** Hears that a worker has linked the late part, or why it could not. */
  linkedLatePart?: ((failure: string | undefined) => void) | undefined;
  version(): string;
  allocate(bytes: number): number;
  release(address: number): void;
  setPart(parts: number, index: number, output: number, outputDtype: number, lse: number): void;
  partSize(): number;
  /** The address of the calls of a step: a list of `StepCallFields` of cpp/bindings/fields.h. */
  stepCalls(): number;
  /** Says that an AttentionCall or a LayerCall was copied to this address. */
  movedCall(call: number): void;
  layerBytes(layer: number): number;
  releaseLayer(layer: number): void;
  savedBytes(saved: number): number;
  releaseSaved(saved: number): void;
  cacheAppended(cache: number, b: number): number;
  cacheBytes(cache: number): number;
  cacheSavedSize(cache: number): number;
  releaseCache(cache: number): void;
  readonly Engine: new (numThreads: number, dispatched: boolean) => NativeCore;
  /** Absent if the module has only one thread. */
  readonly PThread?: ThreadPool | undefined;
  /** Settles when all workers have loaded the module. Absent if the module has only one thread. */
  readonly pthreadPoolReady?: Promise<unknown>;
}

/** Emscripten's threads. `tests/web/latePart.test.ts` holds what we know of them. */
interface ThreadPool {
  terminateAllThreads(): void;
  /** The workers that run a thread. In Node they are another class. */
  readonly runningWorkers: readonly { terminate(): unknown }[];
  /** The workers that run no thread. A thread that has ended puts its worker back here. */
  readonly unusedWorkers: readonly { postMessage(message: LinkLatePart): void }[];
}

/** Lets a worker link the late part. web/build/wasm.mjs adds this message to the loader. */
interface LinkLatePart {
  readonly cmd: "linkLatePart";
  readonly module: WebAssembly.Module;
}

/** The options of a loader. The loader turns this object into the module: it adds the functions of C++ to it. */
export interface FactoryOptions {
  readonly wasmMemory: WebAssembly.Memory;
  readonly numThreads: number;
  readonly instantiateWasm: (
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ) => object;
  readonly printErr: (text: string) => void;
  /** Called when the module has stopped, on any thread. */
  readonly onAbort: (what: unknown) => void;
  /** `warm_up` of embind.cpp; the loader adds it when the module is instantiated. */
  readonly _warm_up?: () => void;
  /** The loader adds it first, if the module has threads. */
  readonly PThread?: WasmModule["PThread"];
}

/** The default export of a loader. */
export type WasmModuleFactory = (options: FactoryOptions) => Promise<WasmModule>;
