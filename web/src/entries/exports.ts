// The exports that all entries of the package have, in addition to createAttention.
export type { AttentionOptions } from "../attention/attentionProblem.js";
export type {
  AttentionResult,
  FloatResult,
  GpuAttentionResult,
  GpuResultOf,
  NoReturns,
  NoValue,
  OutputAt,
  OutputOf,
  RecordedAttention,
  RecordedCommands,
  ResultAt,
  ResultOf,
} from "../attention/attentionResult.js";
export type {
  AttentionBackwardOptions,
  Gradient,
  GradientReturns,
  GradientsAt,
  UsualGradients,
} from "../attention/backwardProblem.js";
export type { AttentionSettingsOptions, Dropout, EmptyRows, Window } from "../attention/attentionOptions.js";
export { combineMasks } from "../attention/combineMasks.js";
export {
  maskFromHiddenKeys,
  maskFromHiddenPairs,
  maskFromTokenizer,
  type TokenFlags,
  type TokenizerMask,
} from "../attention/masks.js";
export type { AttentionPart, GpuMergeResult, MergeOptions, MergeResult } from "../attention/mergeProblem.js";
export type { AttendPatch, PatchRows } from "../attention/patch.js";
export type { AveragedSlice, Returns, ScoreStage, Slice } from "../attention/returns.js";
export type { AttendReturns, KeySlice } from "../attention/views.js";
export type { AppendOptions } from "../cache/appendProblem.js";
export type { AttendOptions } from "../cache/attendProblem.js";
export type { CacheContent } from "../cache/cacheContent.js";
export type { CacheDtype } from "../cache/cacheDtype.js";
export type { CompleteRing, KvCacheOptions, Ring } from "../cache/cacheProblem.js";
export type { KvCache, StepOptions } from "../cache/kvCache.js";
export type { SavedCacheOptions } from "../cache/savedCache.js";
export type { EncoderChoice, RecordedOr, Recording } from "../read/encoder.js";
export type { LocationOption } from "../read/location.js";
export { toBfloat16, toFloat16, toFloat32 } from "../read/float16.js";
export { tensor } from "../read/newTensor.js";
export type { NumberList } from "../read/options.js";
export { toNested } from "../read/toNested.js";
export type {
  AdapterReport,
  CalibrationReport,
  CheckResult,
  EngineName,
  EngineSpeed,
  KernelTime,
  RaceResult,
  Report,
} from "../engine/report.js";
export { version } from "../engine/version.js";
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
} from "../base/errors.js";
export { Attention } from "../instance/attention.js";
export type { PlannedBytes } from "../instance/callBytes.js";
export type { CallPlan } from "../instance/callPlan.js";
export type { Gpu } from "../instance/gpu.js";
export type { WarmupOptions, WarmupShape } from "../instance/warmup.js";
export type {
  LayerBackwardOptions,
  LayerGradient,
  LayerGradientsAt,
  LayerReturns,
  UsualLayerGradients,
} from "../layer/backwardProblem.js";
export type { ForwardOptions } from "../layer/forwardOptions.js";
export type { Patch, PatchKeys } from "../layer/patch.js";
export type { ForwardReturns } from "../layer/views.js";
export type { Layer, LayerCacheOptions } from "../layer/layer.js";
export type { LayerPosition } from "../layer/layerPosition.js";
export type { LayerOptions } from "../layer/layerProblem.js";
export type { WeightDtype } from "../linear/weight.js";
export type { LayerShape } from "../layer/layerShape.js";
export type { LayerUpdateWeights } from "../layer/layerUpdate.js";
export type { LayerWeights, Weight } from "../layer/layerWeights.js";
export type { QkNorm } from "../layer/qkNorm.js";
export type { Saved } from "../layer/saved.js";
export type {
  AllLinearGradients,
  LinearBackwardOptions,
  LinearGradient,
  LinearGradientsAt,
  LinearOptions,
  LinearReturns,
  UploadWeightOptions,
} from "../linear/linearProblem.js";
export { quantizeWeight } from "../linear/quantizeWeight.js";
export type { UploadedWeight } from "../linear/uploadedWeight.js";
export type { Int8Weight, LinearLayout, QuantizedWeight, WeightLayout } from "../linear/weight.js";
export {
  alibiSlopes,
  relativePositionBias,
  sinusoidalPositions,
  type RelativePositionOptions,
  type SinusoidalOptions,
} from "../position/position.js";
export type { RotaryOptions } from "../position/rotaryProblem.js";
export type { FrequencyList, RotaryAngles, RotaryScaling } from "../position/rotaryAngles.js";
export type { GivenPositions, Int64Tensor } from "../position/tokenPositions.js";
export type { RecordedAttentionOptions, RecordedLayerOptions, RecordedRotaryOptions } from "../step/recordedOptions.js";
export type { Recorder } from "../step/recorder.js";
export type { Step, StepInputs, StepOutputs, StepResult } from "../step/step.js";
export type { StepActivation } from "../step/stepProblem.js";
export type { StepNumbers, StepTensor } from "../step/stepTensor.js";
export type { AllocateOptions, EngineTensor } from "../engine/engineTensor.js";
export type { GpuFloats, GpuFloatWeight, GpuResult, GpuTensor, OnGpu } from "../tensor/gpuTensor.js";
export type { Layout } from "../tensor/layout.js";
export type { Place, PlaceChoice } from "../tensor/place.js";
export type {
  Dtype,
  FloatTensor,
  FloatTensorLike,
  FloatWeightLike,
  HalfArray,
  MaskLike,
  Nested,
  Tensor,
  TensorData,
  TensorLike,
  TypedTensor,
} from "../tensor/tensor.js";
export type { CallProgress } from "../read/watched.js";
export type { LoadProgress, WasmSource } from "../load/host.js";
export type { Variant } from "../load/variants.js";
