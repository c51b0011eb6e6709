// What every entry of the package exports beside createAttention.
export { Attention } from "./attention.js";
export type { AttentionOptions, FloatTensor } from "./attentionProblem.js";
export type {
  AttentionSettingsOptions,
  AveragedSlice,
  EmptyRows,
  Returns,
  ScoreStage,
  Slice,
  Window,
} from "./attentionOptions.js";
export type {
  AdapterReport,
  AttentionResult,
  FloatResult,
  GpuAttentionResult,
  GpuResultOf,
  KernelTime,
  NoReturns,
  OutputOf,
  Report,
  ResultAt,
  ResultOf,
} from "./backend.js";
export type { AppendOptions, AttendOptions, CacheDtype, KvCache, KvCacheOptions, Ring } from "./cache.js";
export {
  AssetError,
  DeviceLostError,
  DisposedError,
  EmptyRowError,
  ERROR_CODES,
  HeadwiseError,
  OptionError,
  OutOfMemoryError,
  ShapeError,
  UnsupportedError,
  type ErrorCode,
  type ErrorDetails,
  type RowIndex,
} from "./errors.js";
export type { GpuFloats, GpuResult, GpuTensor, OnGpu } from "./gpuData.js";
export type { Layout } from "./layout.js";
export type { Layer } from "./layer.js";
export type { ForwardOptions, LayerOptions, LayerPosition, LayerShape, QkNorm } from "./layerProblem.js";
export type { LayerWeights, Weight } from "./layerWeights.js";
export {
  maskFromHiddenKeys,
  maskFromHiddenPairs,
  maskFromTokenizer,
  type TokenFlags,
  type TokenizerMask,
} from "./masks.js";
export type { AttentionPart, MergeOptions, MergeResult } from "./merge.js";
export type { NumberList } from "./options.js";
export {
  alibiSlopes,
  relativePositionBias,
  sinusoidalPositions,
  type RelativePositionOptions,
  type SinusoidalOptions,
} from "./position.js";
export type { RotaryAngles, RotaryOptions, RotaryScaling } from "./rotary.js";
export { tensor } from "./newTensor.js";
export type { Dtype, HalfArray, Tensor, TensorData, TypedTensor } from "./tensor.js";
export { version } from "./version.js";
export type { WarmupShape } from "./warmup.js";
export type { EngineTensor } from "./wasm/heap.js";
export type { LoadProgress, WasmSource } from "./wasm/host.js";
export type { Variant } from "./wasm/variants.js";
