// Where the fields of the calls lie, by the names that JavaScript gives them. The compiler computes all of it: these
// tables are data of the module, and no code. So nothing else may stand in this file.

#include "fields.h"

#include "step.h"

namespace headwise {

namespace {

// ---- structs that are in several calls ------------------------------------------------------------------------------

const Field kConstArray[] = {field("", &ConstArray::data), field("Dtype", &ConstArray::dtype), {}};
const Field kMutableArray[] = {field("", &MutableArray::data), field("Dtype", &MutableArray::dtype), {}};

const Field kSelection[] = {
    field("Heads", &Selection::heads),     field("NumHeads", &Selection::num_heads),
    field("Queries", &Selection::queries), field("NumQueries", &Selection::num_queries),
    field("Average", &Selection::average), {},
};

/// The gradients of what attention reads beside queries, keys and values.
const Field kAttentionGradients[] = {
    field("dBias", &BackwardOutputs::bias),          field("dSinks", &BackwardOutputs::sinks),
    field("dHeadGain", &BackwardOutputs::head_gain), field("dAlibiSlopes", &BackwardOutputs::alibi_slopes),
    field("dReads", &BackwardOutputs::reads),        {},
};

const Field kRotary[] = {
    field("rotaryDim", &RotaryOptions::rotary_dim),
    field("rotaryBase", &RotaryOptions::base),
    field("rotaryInterleaved", &RotaryOptions::interleaved),
    field("rotaryScaling", &RotaryOptions::scaling),
    field("rotaryFactor", &RotaryOptions::factor),
    field("rotaryOriginalLength", &RotaryOptions::original_length),
    field("rotarySequenceLength", &RotaryOptions::sequence_length),
    field("rotaryBetaFast", &RotaryOptions::beta_fast),
    field("rotaryBetaSlow", &RotaryOptions::beta_slow),
    field("rotaryTruncate", &RotaryOptions::truncate),
    field("rotaryAttentionFactor", &RotaryOptions::attention_factor),
    field("rotaryMscale", &RotaryOptions::mscale),
    field("rotaryMscaleAllDim", &RotaryOptions::mscale_all_dim),
    field("rotaryLowFreqFactor", &RotaryOptions::low_freq_factor),
    field("rotaryHighFreqFactor", &RotaryOptions::high_freq_factor),
    field("rotaryShortFactors", &RotaryOptions::short_factors),
    field("rotaryLongFactors", &RotaryOptions::long_factors),
    field("rotaryFrequencies", &RotaryOptions::frequencies),
    field("rotaryCosines", &RotaryOptions::cosines),
    field("rotarySines", &RotaryOptions::sines),
    field("rotaryTableRows", &RotaryOptions::table_rows),
    field("rotaryTemporalSection", &RotaryOptions::temporal_section),
    field("rotaryHeightSection", &RotaryOptions::height_section),
    field("rotaryWidthSection", &RotaryOptions::width_section),
    {},
};

const Field kLinearShape[] = {
    field("rows", &LinearShape::rows),
    field("inputDim", &LinearShape::in),
    field("outputDim", &LinearShape::out),
    {},
};

/// The weight and bias of a layer's projection: queryWeight, queryDtype and so on.
const Field kProjection[] = {
    field("Weight", &LinearWeights::weight, &ConstArray::data),
    field("Dtype", &LinearWeights::weight, &ConstArray::dtype),
    field("InStride", &LinearWeights::in_stride),
    field("OutStride", &LinearWeights::out_stride),
    fields("Bias", kConstArray, &LinearWeights::bias),
    {},
};

const Field kLayerWeights[] = {
    fields("query", kProjection, &LayerWeights::query),
    fields("key", kProjection, &LayerWeights::key),
    fields("value", kProjection, &LayerWeights::value),
    fields("output", kProjection, &LayerWeights::output),
    {},
};

/// The gradient of a projection's weight and bias: queryWeight, queryInStride and so on.
const Field kProjectionGradient[] = {
    field("Weight", &LinearWeightGradients::weight),
    field("InStride", &LinearWeightGradients::in_stride),
    field("OutStride", &LinearWeightGradients::out_stride),
    field("Bias", &LinearWeightGradients::bias),
    {},
};

/// Where rows begin, and how far apart they lie.
const Field kFloatRows[] = {field("", &FloatRows::data), field("Stride", &FloatRows::stride), {}};

}  // namespace

// ---- attention ------------------------------------------------------------------------------------------------------

using C = AttentionCall;
using I = AttentionInputs;
using Options = AttentionOptions;
using O = AttentionOutputs;

const Field kAttentionCall[] = {
    field("batchSize", &C::shape, &AttentionShape::batch_size),
    field("numHeads", &C::shape, &AttentionShape::num_heads),
    field("numKvHeads", &C::shape, &AttentionShape::num_kv_heads),
    field("queryLength", &C::shape, &AttentionShape::query_length),
    field("keyLength", &C::shape, &AttentionShape::key_length),
    field("headDim", &C::shape, &AttentionShape::head_dim),
    field("valueDim", &C::shape, &AttentionShape::value_dim),

    fields("query", kConstArray, &C::inputs, &I::query),
    fields("key", kConstArray, &C::inputs, &I::key),
    fields("value", kConstArray, &C::inputs, &I::value),
    field("cache", &C::inputs, &I::cache),
    field("queryPositions", &C::inputs, &I::query_positions),
    field("queryPositionPlanes", &C::inputs, &I::query_position_planes),
    field("grows", &C::grows),
    field("numTokens", &C::num_tokens),
    field("appendLengths", &C::append_lengths),
    field("mask", &C::inputs, &I::mask),
    fields("bias", kConstArray, &C::inputs, &I::bias),

    field("layout", &C::options, &Options::layout),
    field("kvLayout", &C::options, &Options::kv_layout),
    field("scale", &C::options, &Options::scale),
    field("softcap", &C::options, &Options::softcap),
    field("causal", &C::options, &Options::causal),
    field("windowLeft", &C::options, &Options::window_left),
    field("windowRight", &C::options, &Options::window_right),
    field("excludeSelf", &C::options, &Options::exclude_self),
    field("emptyRows", &C::options, &Options::empty_rows),
    field("queryOffset", &C::options, &Options::query_offset),
    field("keyLengths", &C::options, &Options::key_lengths),
    field("queryLengths", &C::options, &Options::query_lengths),
    field("alibiSlopes", &C::options, &Options::alibi_slopes),
    field("alibiQueryPositions", &C::options, &Options::alibi_query_positions),
    field("alibiKeyPositions", &C::options, &Options::alibi_key_positions),
    field("sinks", &C::options, &Options::sinks),
    field("headGain", &C::options, &Options::head_gain),
    field("dropoutRate", &C::options, &Options::dropout, &Dropout::rate),
    field("dropoutSeed", &C::options, &Options::dropout, &Dropout::seed),
    field("cuSeqLensQuery", &C::options, &Options::cu_seq_lens_query),
    field("cuSeqLensKey", &C::options, &Options::cu_seq_lens_key),
    field("numSequences", &C::options, &Options::num_sequences),

    fields("output", kMutableArray, &C::outputs, &O::output),
    field("keyRoom", &C::outputs, &O::key_room),
    field("lse", &C::outputs, &O::lse),
    field("entropy", &C::outputs, &O::entropy),
    field("probs", &C::outputs, &O::probs),
    fields("probs", kSelection, &C::outputs, &O::probs_selection),
    field("scores", &C::outputs, &O::scores),
    field("scoresStage", &C::outputs, &O::scores_stage),
    fields("scores", kSelection, &C::outputs, &O::scores_selection),
    field("topK", &C::outputs, &O::top_k),
    field("topKValues", &C::outputs, &O::top_k_values),
    field("topKIndices", &C::outputs, &O::top_k_indices),
    fields("topK", kSelection, &C::outputs, &O::top_k_selection),
    {},
};

const Field kBackwardCall[] = {
    fields("givenOutput", kConstArray, &BackwardCall::output),
    field("givenLse", &BackwardCall::lse),
    fields("dOutput", kConstArray, &BackwardCall::output_gradient),
    field("dLse", &BackwardCall::lse_gradient),
    field("dQuery", &BackwardCall::gradients, &BackwardOutputs::query),
    field("dKey", &BackwardCall::gradients, &BackwardOutputs::key),
    field("dValue", &BackwardCall::gradients, &BackwardOutputs::value),
    fields("", kAttentionGradients, &BackwardCall::gradients),
    {},
};

const Field kMergeCall[] = {
    field("batchSize", &MergeCall::shape, &AttentionShape::batch_size),
    field("numHeads", &MergeCall::shape, &AttentionShape::num_heads),
    field("queryLength", &MergeCall::shape, &AttentionShape::query_length),
    field("valueDim", &MergeCall::shape, &AttentionShape::value_dim),
    field("layout", &MergeCall::layout),
    field("parts", &MergeCall::parts),
    field("numParts", &MergeCall::num_parts),
    field("sinks", &MergeCall::sinks),
    fields("output", kMutableArray, &MergeCall::output),
    field("lse", &MergeCall::lse),
    {},
};

// ---- rotary embedding and caches ------------------------------------------------------------------------------------

const Field kRotaryCall[] = {
    field("layout", &RotaryCall::layout),        field("batchSize", &RotaryCall::batch_size),
    field("numHeads", &RotaryCall::num_heads),   field("length", &RotaryCall::length),
    field("headDim", &RotaryCall::head_dim),     fields("", kRotary, &RotaryCall::options),
    fields("x", kConstArray, &RotaryCall::x),    field("positions", &RotaryCall::positions),
    field("cosines", &RotaryCall::cosines),      field("sines", &RotaryCall::sines),
    field("tableRows", &RotaryCall::table_rows), field("rows", &RotaryCall::rows),
    fields("y", kMutableArray, &RotaryCall::y),  {},
};

const Field kCacheCall[] = {
    field("operation", &CacheCall::operation),
    field("cache", &CacheCall::cache),
    field("result", &CacheCall::result),
    field("batchSize", &CacheCall::shape, &KvCacheShape::batch_size),
    field("numKvHeads", &CacheCall::shape, &KvCacheShape::num_kv_heads),
    field("headDim", &CacheCall::shape, &KvCacheShape::head_dim),
    field("valueDim", &CacheCall::shape, &KvCacheShape::value_dim),
    field("dtype", &CacheCall::shape, &KvCacheShape::dtype),
    field("capacity", &CacheCall::shape, &KvCacheShape::capacity),
    field("keepFirst", &CacheCall::shape, &KvCacheShape::keep_first),
    field("window", &CacheCall::shape, &KvCacheShape::window),
    field("cachePositions", &CacheCall::shape, &KvCacheShape::cache_positions),
    field("turns", &CacheCall::turns),
    field("sections", &CacheCall::sections),
    fields("", kRotary, &CacheCall::rotary),
    field("layout", &CacheCall::layout),
    field("numTokens", &CacheCall::num_tokens),
    fields("key", kConstArray, &CacheCall::key),
    fields("value", kConstArray, &CacheCall::value),
    field("lengths", &CacheCall::lengths),
    field("positions", &CacheCall::positions),
    field("positionPlanes", &CacheCall::position_planes),
    field("indices", &CacheCall::indices),
    field("keptFrom", &CacheCall::kept, &KeptTokens::from),
    field("keptCounts", &CacheCall::kept, &KeptTokens::counts),
    field("keptRows", &CacheCall::kept, &KeptTokens::rows),
    field("from", &CacheCall::from),
    field("to", &CacheCall::to),
    field("bytes", &CacheCall::bytes),
    field("size", &CacheCall::size),
    {},
};

// ---- linear maps ----------------------------------------------------------------------------------------------------

const Field kLinearCall[] = {
    fields("", kLinearShape, &LinearCall::shape),
    fields("x", kConstArray, &LinearCall::x),
    fields("weight", kConstArray, &LinearCall::weights, &LinearWeights::weight),
    field("inStride", &LinearCall::weights, &LinearWeights::in_stride),
    field("outStride", &LinearCall::weights, &LinearWeights::out_stride),
    field("inPanels", &LinearCall::in_panels),
    fields("bias", kConstArray, &LinearCall::weights, &LinearWeights::bias),
    field("scales", &LinearCall::weights, &LinearWeights::scales),
    fields("y", kMutableArray, &LinearCall::y),
    {},
};

const Field kLinearBackwardCall[] = {
    fields("", kLinearShape, &LinearBackwardCall::shape),
    fields("x", kConstArray, &LinearBackwardCall::x),
    fields("weight", kConstArray, &LinearBackwardCall::weights, &LinearWeights::weight),
    field("inStride", &LinearBackwardCall::weights, &LinearWeights::in_stride),
    field("outStride", &LinearBackwardCall::weights, &LinearWeights::out_stride),
    fields("dOutput", kConstArray, &LinearBackwardCall::output_gradient),
    field("dInput", &LinearBackwardCall::gradients, &LinearGradients::input),
    field("dWeight", &LinearBackwardCall::gradients, &LinearGradients::weight),
    field("dBias", &LinearBackwardCall::gradients, &LinearGradients::bias),
    {},
};

// ---- layers ---------------------------------------------------------------------------------------------------------

const Field kLayerCreation[] = {
    field("inputDim", &LayerCreation::shape, &LayerShape::input_dim),
    field("keyInputDim", &LayerCreation::shape, &LayerShape::key_input_dim),
    field("valueInputDim", &LayerCreation::shape, &LayerShape::value_input_dim),
    field("numHeads", &LayerCreation::shape, &LayerShape::num_heads),
    field("numKvHeads", &LayerCreation::shape, &LayerShape::num_kv_heads),
    field("headDim", &LayerCreation::shape, &LayerShape::head_dim),
    field("valueHeadDim", &LayerCreation::shape, &LayerShape::value_head_dim),
    field("outputDim", &LayerCreation::shape, &LayerShape::output_dim),
    field("outputProjection", &LayerCreation::shape, &LayerShape::output_projection),
    fields("", kLayerWeights, &LayerCreation::weights),
    field("qkNorm", &LayerCreation::options, &LayerOptions::qk_norm),
    field("qkNormEpsilon", &LayerCreation::options, &LayerOptions::qk_norm_epsilon),
    field("queryGain", &LayerCreation::options, &LayerOptions::query_gain),
    field("keyGain", &LayerCreation::options, &LayerOptions::key_gain),
    field("weightDtype", &LayerCreation::options, &LayerOptions::weight_dtype),
    field("position", &LayerCreation::options, &LayerOptions::position),
    field("positionTable", &LayerCreation::options, &LayerOptions::position_table),
    field("positionRows", &LayerCreation::options, &LayerOptions::position_rows),
    field("sinusoidalSplit", &LayerCreation::options, &LayerOptions::sinusoidal_split),
    field("sinusoidalBase", &LayerCreation::options, &LayerOptions::sinusoidal_base),
    fields("", kRotary, &LayerCreation::options, &LayerOptions::rotary),
    field("result", &LayerCreation::result),
    {},
};

const Field kLayerCall[] = {
    field("layer", &LayerCall::layer),
    field("inputLayout", &LayerCall::layer_inputs, &LayerInputs::layout),
    field("inputBatchSize", &LayerCall::layer_inputs, &LayerInputs::batch_size),
    field("inputLength", &LayerCall::layer_inputs, &LayerInputs::query_length),
    field("contextLength", &LayerCall::layer_inputs, &LayerInputs::key_length),
    fields("x", kConstArray, &LayerCall::layer_inputs, &LayerInputs::x),
    fields("keyContext", kConstArray, &LayerCall::layer_inputs, &LayerInputs::key_context),
    fields("valueContext", kConstArray, &LayerCall::layer_inputs, &LayerInputs::value_context),
    field("layerCache", &LayerCall::layer_inputs, &LayerInputs::cache),
    field("attendOnly", &LayerCall::layer_inputs, &LayerInputs::attend_only),
    field("appendLengths", &LayerCall::layer_inputs, &LayerInputs::append_lengths),
    field("positions", &LayerCall::layer_inputs, &LayerInputs::positions, &TokenPositions::data),
    field("positionPlanes", &LayerCall::layer_inputs, &LayerInputs::positions, &TokenPositions::planes),
    field("keyPositions", &LayerCall::layer_inputs, &LayerInputs::key_positions),
    field("saves", &LayerCall::saves),
    field("saved", &LayerCall::saved),
    {},
};

using G = LayerGradients;

const Field kLayerBackwardCall[] = {
    field("layer", &LayerBackwardCall::layer),
    field("saved", &LayerBackwardCall::saved),
    fields("dOutput", kConstArray, &LayerBackwardCall::output_gradient),
    field("dLse", &LayerBackwardCall::lse_gradient),
    field("dInput", &LayerBackwardCall::gradients, &G::input),
    field("dContext", &LayerBackwardCall::gradients, &G::key_context),
    field("dValueContext", &LayerBackwardCall::gradients, &G::value_context),
    fields("query", kProjectionGradient, &LayerBackwardCall::gradients, &G::query_weights),
    fields("key", kProjectionGradient, &LayerBackwardCall::gradients, &G::key_weights),
    fields("value", kProjectionGradient, &LayerBackwardCall::gradients, &G::value_weights),
    fields("output", kProjectionGradient, &LayerBackwardCall::gradients, &G::output_weights),
    field("queryGain", &LayerBackwardCall::gradients, &G::query_gain),
    field("keyGain", &LayerBackwardCall::gradients, &G::key_gain),
    field("positionTable", &LayerBackwardCall::gradients, &G::position_table),
    fields("", kAttentionGradients, &LayerBackwardCall::gradients, &G::attention),
    {},
};

const Field kLayerUpdateCall[] = {
    field("layer", &LayerUpdateCall::layer),
    fields("", kLayerWeights, &LayerUpdateCall::update, &LayerUpdate::weights),
    field("queryGain", &LayerUpdateCall::update, &LayerUpdate::query_gain),
    field("keyGain", &LayerUpdateCall::update, &LayerUpdate::key_gain),
    field("positionTable", &LayerUpdateCall::update, &LayerUpdate::position_table),
    {},
};

// ---- steps ----------------------------------------------------------------------------------------------------------

namespace {

const Field kNormedRows[] = {
    field("norm", &NormedRows::norm),        field("rows", &NormedRows::rows), field("width", &NormedRows::width),
    fields("x", kFloatRows, &NormedRows::x), field("gain", &NormedRows::gain), field("shift", &NormedRows::shift),
    field("epsilon", &NormedRows::epsilon),  field("y", &NormedRows::y),       {},
};

const Field kMappedRows[] = {
    field("function", &MappedRows::function),
    field("rows", &MappedRows::rows),
    field("width", &MappedRows::width),
    fields("x", kFloatRows, &MappedRows::x),
    field("divisor", &MappedRows::divisor),
    field("scale", &MappedRows::scale),
    fields("times", kFloatRows, &MappedRows::times),
    fields("plus", kFloatRows, &MappedRows::plus),
    field("y", &MappedRows::y),
    {},
};

const Field kTakenRows[] = {
    field("rows", &TakenRows::rows),
    field("width", &TakenRows::width),
    field("numbers", &TakenRows::numbers),
    fields("table", kConstArray, &TakenRows::table),
    field("tableRows", &TakenRows::table_rows),
    field("scales", &TakenRows::scales),
    field("scale", &TakenRows::scale),
    field("y", &TakenRows::y),
    {},
};

const Field kSoftmaxRows[] = {
    field("rows", &SoftmaxRows::rows),   field("width", &SoftmaxRows::width), fields("x", kFloatRows, &SoftmaxRows::x),
    field("scale", &SoftmaxRows::scale), field("y", &SoftmaxRows::y),         {},
};

const Field kTopRows[] = {
    field("rows", &TopRows::rows),
    field("width", &TopRows::width),
    fields("x", kFloatRows, &TopRows::x),
    field("k", &TopRows::k),
    field("values", &TopRows::values),
    field("indices", &TopRows::indices),
    {},
};

const Field kTurnedTokens[] = {
    field("turn", &TurnedTokens::turn),
    field("numbers", &TurnedTokens::numbers),
    field("positions", &TurnedTokens::positions),
    field("followsLength", &TurnedTokens::follows_length),
    {},
};

template <class Call>
StepCallFields of_step(const char* name, const Field* fields = nullptr) {
  static_assert(std::is_trivially_copyable_v<Call>);
  return {name, sizeof(Call), fields};
}

}  // namespace

const StepCallFields kStepCalls[] = {
    of_step<NormedRows>("NormedRows", kNormedRows),
    of_step<MappedRows>("MappedRows", kMappedRows),
    of_step<TakenRows>("TakenRows", kTakenRows),
    of_step<SoftmaxRows>("SoftmaxRows", kSoftmaxRows),
    of_step<TopRows>("TopRows", kTopRows),
    of_step<TurnedTokens>("TurnedTokens", kTurnedTokens),
    of_step<LinearCall>("LinearCall"),
    of_step<RotaryCall>("RotaryCall"),
    of_step<AttentionCall>("AttentionCall"),
    of_step<LayerCall>("LayerCall"),
    {},
};

}  // namespace headwise
