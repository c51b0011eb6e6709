// What JavaScript sees of the engine.
//
// A call is a C++ struct whose fields JavaScript writes in memory, where `fields()` says (call_fields.h). All fields
// are numbers: sizes, enumerators, and addresses of arrays that JavaScript has placed in the heap. An Engine runs one
// call at a time and keeps its Status, which JavaScript reads from memory. Nothing here allocates during a call, and
// nothing throws.

#include <emscripten/bind.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "call_fields.h"
#include "calls.h"
#include "engine.h"
#include "step.h"

namespace headwise {
namespace {

using emscripten::class_;
using emscripten::function;

// ---- module and memory ----------------------------------------------------------------------------------------------

std::string version() { return HEADWISE_VERSION; }

constexpr std::size_t kCacheLine = 64;

/// The address of at least `bytes` bytes, aligned for every vector. 0 if there is no room.
Address allocate(std::size_t bytes) {
  const std::size_t whole_lines = (bytes + kCacheLine) / kCacheLine * kCacheLine;
  return whole_lines < bytes ? 0 : reinterpret_cast<Address>(std::aligned_alloc(kCacheLine, whole_lines));
}

void release(Address address) { std::free(reinterpret_cast<void*>(address)); }

void register_module() {
  function("version", &version);
  function("allocate", &allocate);
  function("release", &release);
}

// ---- attention ------------------------------------------------------------------------------------------------------

void set_mask_extents(AttentionCall& call, double b, double h, double i, double j) {
  call.inputs.mask_extents = {{std::int64_t(b), std::int64_t(h), std::int64_t(i), std::int64_t(j)}};
}

void set_bias_extents(AttentionCall& call, double b, double h, double i, double j) {
  call.inputs.bias_extents = {{std::int64_t(b), std::int64_t(h), std::int64_t(i), std::int64_t(j)}};
}

// JavaScript writes these arrays as words.
static_assert(sizeof(FormulaInstruction) == 4 * sizeof(std::int32_t));
static_assert(sizeof(FormulaTable) == 3 * sizeof(std::int32_t));
static_assert(sizeof(FormulaBound) == 5 * sizeof(std::int32_t));

/// Sets a formula of `call`, and the option that points to it. Arrays are addresses.
template <Formula AttentionCall::*field, const Formula* AttentionOptions::*option>
void set_formula(AttentionCall& call, Address instructions, int num_instructions, int result, Address numbers,
                 int num_numbers, Address tables, int num_tables, Address bounds, int num_bounds) {
  call.*field = {reinterpret_cast<const FormulaInstruction*>(instructions),
                 num_instructions,
                 result,
                 reinterpret_cast<const float*>(numbers),
                 num_numbers,
                 reinterpret_cast<const FormulaTable*>(tables),
                 num_tables,
                 reinterpret_cast<const FormulaBound*>(bounds),
                 num_bounds};
  call.options.*option = &(call.*field);
}

Selection selection_at(Address heads, int num_heads, Address rows, int num_rows) {
  return {reinterpret_cast<const std::int32_t*>(heads), num_heads, reinterpret_cast<const std::int32_t*>(rows),
          num_rows};
}

View& view_of(AttentionCall& call, int view) {
  AttentionViews& views = call.inside.views;
  View* const all[] = {&views.query, &views.key, &views.value, &views.head_outputs};
  return *all[view];
}

View& view_of(LayerCall& call, int view) {
  LayerViews& views = call.views;
  View* const all[] = {&views.query, &views.key, &views.value, &views.head_outputs, &views.contributions};
  return *all[view];
}

Patch& patch_of(AttentionCall& call, int patch) {
  Patch* const all[] = {&call.inside.query, &call.inside.head_outputs, &call.inputs.probs};
  return *all[patch];
}

Patch& patch_of(LayerCall& call, int patch) {
  LayerPatches& inside = call.layer_inputs.patches;
  Patch* const all[] = {&inside.query, &inside.head_outputs, &call.inputs.probs, &inside.key, &inside.value};
  return *all[patch];
}

/// Sets where to write a view: query, key, value, headOutputs; of a layer also contributions.
template <class Call>
void set_view(Call& call, int view, Address data, Address heads, int num_heads, Address rows, int num_rows) {
  view_of(call, view) = {reinterpret_cast<float*>(data), selection_at(heads, num_heads, rows, num_rows)};
}

/// Sets a patch of query, headOutputs or probs; of a layer also key or value. Without data it is the mean.
template <class Call>
void set_patch(Call& call, int patch, Address data, Address heads, int num_heads, Address rows, int num_rows) {
  patch_of(call, patch) = {selection_at(heads, num_heads, rows, num_rows), reinterpret_cast<const float*>(data),
                           data == 0};
}

void register_attention_call() {
  auto attention_call = call_class<AttentionCall>("AttentionCall");
  attention_call.function("setMaskExtents", &set_mask_extents)
      .function("setBiasExtents", &set_bias_extents)
      .function("setScore", &set_formula<&AttentionCall::score, &AttentionOptions::score>)
      .function("setVisible", &set_formula<&AttentionCall::visible, &AttentionOptions::visible>)
      .function("setView", &set_view<AttentionCall>)
      .function("setPatch", &set_patch<AttentionCall>);

  using C = AttentionCall;
  field<&C::shape, &AttentionShape::batch_size>(attention_call, "batchSize");
  field<&C::shape, &AttentionShape::num_heads>(attention_call, "numHeads");
  field<&C::shape, &AttentionShape::num_kv_heads>(attention_call, "numKvHeads");
  field<&C::shape, &AttentionShape::query_length>(attention_call, "queryLength");
  field<&C::shape, &AttentionShape::key_length>(attention_call, "keyLength");
  field<&C::shape, &AttentionShape::head_dim>(attention_call, "headDim");
  field<&C::shape, &AttentionShape::value_dim>(attention_call, "valueDim");

  field<&C::inputs, &AttentionInputs::query, &ConstArray::data>(attention_call, "query");
  field<&C::inputs, &AttentionInputs::query, &ConstArray::dtype>(attention_call, "queryDtype");
  field<&C::inputs, &AttentionInputs::key, &ConstArray::data>(attention_call, "key");
  field<&C::inputs, &AttentionInputs::key, &ConstArray::dtype>(attention_call, "keyDtype");
  field<&C::inputs, &AttentionInputs::value, &ConstArray::data>(attention_call, "value");
  field<&C::inputs, &AttentionInputs::value, &ConstArray::dtype>(attention_call, "valueDtype");
  field<&C::inputs, &AttentionInputs::cache>(attention_call, "cache");
  field<&C::inputs, &AttentionInputs::query_positions>(attention_call, "queryPositions");
  field<&C::inputs, &AttentionInputs::query_position_planes>(attention_call, "queryPositionPlanes");
  field<&C::grows>(attention_call, "grows");
  field<&C::num_tokens>(attention_call, "numTokens");
  field<&C::append_lengths>(attention_call, "appendLengths");
  field<&C::inputs, &AttentionInputs::mask>(attention_call, "mask");
  field<&C::inputs, &AttentionInputs::bias, &ConstArray::data>(attention_call, "bias");
  field<&C::inputs, &AttentionInputs::bias, &ConstArray::dtype>(attention_call, "biasDtype");

  field<&C::options, &AttentionOptions::layout>(attention_call, "layout");
  field<&C::options, &AttentionOptions::kv_layout>(attention_call, "kvLayout");
  field<&C::options, &AttentionOptions::scale>(attention_call, "scale");
  field<&C::options, &AttentionOptions::softcap>(attention_call, "softcap");
  field<&C::options, &AttentionOptions::causal>(attention_call, "causal");
  field<&C::options, &AttentionOptions::window_left>(attention_call, "windowLeft");
  field<&C::options, &AttentionOptions::window_right>(attention_call, "windowRight");
  field<&C::options, &AttentionOptions::exclude_self>(attention_call, "excludeSelf");
  field<&C::options, &AttentionOptions::empty_rows>(attention_call, "emptyRows");
  field<&C::options, &AttentionOptions::query_offset>(attention_call, "queryOffset");
  field<&C::options, &AttentionOptions::key_lengths>(attention_call, "keyLengths");
  field<&C::options, &AttentionOptions::query_lengths>(attention_call, "queryLengths");
  field<&C::options, &AttentionOptions::alibi_slopes>(attention_call, "alibiSlopes");
  field<&C::options, &AttentionOptions::alibi_query_positions>(attention_call, "alibiQueryPositions");
  field<&C::options, &AttentionOptions::alibi_key_positions>(attention_call, "alibiKeyPositions");
  field<&C::options, &AttentionOptions::sinks>(attention_call, "sinks");
  field<&C::options, &AttentionOptions::head_gain>(attention_call, "headGain");
  field<&C::options, &AttentionOptions::dropout, &Dropout::rate>(attention_call, "dropoutRate");
  field<&C::options, &AttentionOptions::dropout, &Dropout::seed>(attention_call, "dropoutSeed");
  field<&C::options, &AttentionOptions::cu_seq_lens_query>(attention_call, "cuSeqLensQuery");
  field<&C::options, &AttentionOptions::cu_seq_lens_key>(attention_call, "cuSeqLensKey");
  field<&C::options, &AttentionOptions::num_sequences>(attention_call, "numSequences");

  using O = AttentionOutputs;
  field<&C::outputs, &O::output, &MutableArray::data>(attention_call, "output");
  field<&C::outputs, &O::output, &MutableArray::dtype>(attention_call, "outputDtype");
  field<&C::outputs, &O::key_room>(attention_call, "keyRoom");
  field<&C::outputs, &O::lse>(attention_call, "lse");
  field<&C::outputs, &O::entropy>(attention_call, "entropy");
  field<&C::outputs, &O::probs>(attention_call, "probs");
  field<&C::outputs, &O::probs_selection, &Selection::heads>(attention_call, "probsHeads");
  field<&C::outputs, &O::probs_selection, &Selection::num_heads>(attention_call, "probsNumHeads");
  field<&C::outputs, &O::probs_selection, &Selection::queries>(attention_call, "probsQueries");
  field<&C::outputs, &O::probs_selection, &Selection::num_queries>(attention_call, "probsNumQueries");
  field<&C::outputs, &O::probs_selection, &Selection::average>(attention_call, "probsAverage");
  field<&C::outputs, &O::scores>(attention_call, "scores");
  field<&C::outputs, &O::scores_stage>(attention_call, "scoresStage");
  field<&C::outputs, &O::scores_selection, &Selection::heads>(attention_call, "scoresHeads");
  field<&C::outputs, &O::scores_selection, &Selection::num_heads>(attention_call, "scoresNumHeads");
  field<&C::outputs, &O::scores_selection, &Selection::queries>(attention_call, "scoresQueries");
  field<&C::outputs, &O::scores_selection, &Selection::num_queries>(attention_call, "scoresNumQueries");
  field<&C::outputs, &O::top_k>(attention_call, "topK");
  field<&C::outputs, &O::top_k_values>(attention_call, "topKValues");
  field<&C::outputs, &O::top_k_indices>(attention_call, "topKIndices");
  field<&C::outputs, &O::top_k_selection, &Selection::heads>(attention_call, "topKHeads");
  field<&C::outputs, &O::top_k_selection, &Selection::num_heads>(attention_call, "topKNumHeads");
  field<&C::outputs, &O::top_k_selection, &Selection::queries>(attention_call, "topKQueries");
  field<&C::outputs, &O::top_k_selection, &Selection::num_queries>(attention_call, "topKNumQueries");
  field<&C::outputs, &O::top_k_selection, &Selection::average>(attention_call, "topKAverage");
}

// ---- gradients ------------------------------------------------------------------------------------------------------

static_assert(sizeof(FormulaRead) == 6 * sizeof(std::int32_t));

/// Sets how the score formula of `call` is differentiated. Arrays are addresses.
template <class Call>
void set_derivative(Call& call, Address instructions, int num_instructions, int result, Address numbers,
                    int num_numbers, Address tables, int num_tables, Address reads, int num_reads) {
  call.derivative.formula = {reinterpret_cast<const FormulaInstruction*>(instructions),
                             num_instructions,
                             result,
                             reinterpret_cast<const float*>(numbers),
                             num_numbers,
                             reinterpret_cast<const FormulaTable*>(tables),
                             num_tables};
  call.derivative.reads = reinterpret_cast<const FormulaRead*>(reads);
  call.derivative.num_reads = num_reads;
}

/// The gradients of what attention reads beside queries, keys and values. `Path` leads to the BackwardOutputs.
template <auto... Path, class Class>
void gradient_fields(Class& binding) {
  field<Path..., &BackwardOutputs::bias>(binding, "dBias");
  field<Path..., &BackwardOutputs::sinks>(binding, "dSinks");
  field<Path..., &BackwardOutputs::head_gain>(binding, "dHeadGain");
  field<Path..., &BackwardOutputs::alibi_slopes>(binding, "dAlibiSlopes");
  field<Path..., &BackwardOutputs::reads>(binding, "dReads");
  binding.function("setDerivative", &set_derivative<typename Class::class_type>);
}

void register_backward_call() {
  using B = BackwardCall;
  auto backward_call = call_class<B, emscripten::base<AttentionCall>>("BackwardCall");
  field<&B::output, &ConstArray::data>(backward_call, "givenOutput");
  field<&B::output, &ConstArray::dtype>(backward_call, "givenOutputDtype");
  field<&B::lse>(backward_call, "givenLse");
  field<&B::output_gradient, &ConstArray::data>(backward_call, "dOutput");
  field<&B::output_gradient, &ConstArray::dtype>(backward_call, "dOutputDtype");
  field<&B::lse_gradient>(backward_call, "dLse");
  field<&B::gradients, &BackwardOutputs::query>(backward_call, "dQuery");
  field<&B::gradients, &BackwardOutputs::key>(backward_call, "dKey");
  field<&B::gradients, &BackwardOutputs::value>(backward_call, "dValue");
  gradient_fields<&B::gradients>(backward_call);
}

// ---- merging --------------------------------------------------------------------------------------------------------

/// Writes part `n` of the array of parts at `parts`.
void set_part(Address parts, int n, Address output, int dtype, Address lse) {
  reinterpret_cast<AttentionPart*>(parts)[n] = {{reinterpret_cast<const void*>(output), static_cast<Dtype>(dtype)},
                                                reinterpret_cast<const float*>(lse)};
}

int part_size() { return sizeof(AttentionPart); }

void register_merge_call() {
  auto merge_call = call_class<MergeCall>("MergeCall");
  field<&MergeCall::shape, &AttentionShape::batch_size>(merge_call, "batchSize");
  field<&MergeCall::shape, &AttentionShape::num_heads>(merge_call, "numHeads");
  field<&MergeCall::shape, &AttentionShape::query_length>(merge_call, "queryLength");
  field<&MergeCall::shape, &AttentionShape::value_dim>(merge_call, "valueDim");
  field<&MergeCall::layout>(merge_call, "layout");
  field<&MergeCall::parts>(merge_call, "parts");
  field<&MergeCall::num_parts>(merge_call, "numParts");
  field<&MergeCall::sinks>(merge_call, "sinks");
  field<&MergeCall::output, &MutableArray::data>(merge_call, "output");
  field<&MergeCall::output, &MutableArray::dtype>(merge_call, "outputDtype");
  field<&MergeCall::lse>(merge_call, "lse");
  function("setPart", &set_part);
  function("partSize", &part_size);
}

// ---- rotary embedding -----------------------------------------------------------------------------------------------

/// The options of a rotary embedding. `Path` leads to them within the call.
template <auto... Path, class Class>
void rotary_fields(Class& binding) {
  field<Path..., &RotaryOptions::rotary_dim>(binding, "rotaryDim");
  field<Path..., &RotaryOptions::base>(binding, "rotaryBase");
  field<Path..., &RotaryOptions::interleaved>(binding, "rotaryInterleaved");
  field<Path..., &RotaryOptions::scaling>(binding, "rotaryScaling");
  field<Path..., &RotaryOptions::factor>(binding, "rotaryFactor");
  field<Path..., &RotaryOptions::original_length>(binding, "rotaryOriginalLength");
  field<Path..., &RotaryOptions::sequence_length>(binding, "rotarySequenceLength");
  field<Path..., &RotaryOptions::beta_fast>(binding, "rotaryBetaFast");
  field<Path..., &RotaryOptions::beta_slow>(binding, "rotaryBetaSlow");
  field<Path..., &RotaryOptions::truncate>(binding, "rotaryTruncate");
  field<Path..., &RotaryOptions::attention_factor>(binding, "rotaryAttentionFactor");
  field<Path..., &RotaryOptions::mscale>(binding, "rotaryMscale");
  field<Path..., &RotaryOptions::mscale_all_dim>(binding, "rotaryMscaleAllDim");
  field<Path..., &RotaryOptions::low_freq_factor>(binding, "rotaryLowFreqFactor");
  field<Path..., &RotaryOptions::high_freq_factor>(binding, "rotaryHighFreqFactor");
  field<Path..., &RotaryOptions::short_factors>(binding, "rotaryShortFactors");
  field<Path..., &RotaryOptions::long_factors>(binding, "rotaryLongFactors");
  field<Path..., &RotaryOptions::frequencies>(binding, "rotaryFrequencies");
  field<Path..., &RotaryOptions::cosines>(binding, "rotaryCosines");
  field<Path..., &RotaryOptions::sines>(binding, "rotarySines");
  field<Path..., &RotaryOptions::table_rows>(binding, "rotaryTableRows");
  field<Path..., &RotaryOptions::temporal_section>(binding, "rotaryTemporalSection");
  field<Path..., &RotaryOptions::height_section>(binding, "rotaryHeightSection");
  field<Path..., &RotaryOptions::width_section>(binding, "rotaryWidthSection");
}

void register_rotary_call() {
  auto rotary_call = call_class<RotaryCall>("RotaryCall");
  field<&RotaryCall::layout>(rotary_call, "layout");
  field<&RotaryCall::batch_size>(rotary_call, "batchSize");
  field<&RotaryCall::num_heads>(rotary_call, "numHeads");
  field<&RotaryCall::length>(rotary_call, "length");
  field<&RotaryCall::head_dim>(rotary_call, "headDim");
  rotary_fields<&RotaryCall::options>(rotary_call);
  field<&RotaryCall::x, &ConstArray::data>(rotary_call, "x");
  field<&RotaryCall::x, &ConstArray::dtype>(rotary_call, "xDtype");
  field<&RotaryCall::positions>(rotary_call, "positions");
  field<&RotaryCall::cosines>(rotary_call, "cosines");
  field<&RotaryCall::sines>(rotary_call, "sines");
  field<&RotaryCall::table_rows>(rotary_call, "tableRows");
  field<&RotaryCall::rows>(rotary_call, "rows");
  field<&RotaryCall::y, &MutableArray::data>(rotary_call, "y");
  field<&RotaryCall::y, &MutableArray::dtype>(rotary_call, "yDtype");
}

// ---- caches ---------------------------------------------------------------------------------------------------------

KvCache& cache_at(Address address) { return *reinterpret_cast<KvCache*>(address); }

/// Writes the shape of a cache into `call`, for JavaScript to read.
void describe_cache(CacheCall& call, Address address) {
  call.shape = cache_at(address).shape();
  call.turns = call.shape.rotary.has_value();
  if (!call.turns) return;
  const RotaryOptions& rotary = *call.shape.rotary;
  call.sections = rotary.temporal_section + rotary.height_section + rotary.width_section > 0;
}

double cache_appended(Address address, int b) { return static_cast<double>(cache_at(address).appended(b)); }
double cache_bytes(Address address) { return static_cast<double>(cache_at(address).bytes()); }
double cache_saved_size(Address address) { return static_cast<double>(cache_at(address).saved_size()); }
void release_cache(Address address) { delete &cache_at(address); }

void register_cache_call() {
  auto cache_call = call_class<CacheCall>("CacheCall");
  cache_call.function("describe", &describe_cache);
  field<&CacheCall::operation>(cache_call, "operation");
  field<&CacheCall::cache>(cache_call, "cache");
  field<&CacheCall::result>(cache_call, "result");
  field<&CacheCall::shape, &KvCacheShape::batch_size>(cache_call, "batchSize");
  field<&CacheCall::shape, &KvCacheShape::num_kv_heads>(cache_call, "numKvHeads");
  field<&CacheCall::shape, &KvCacheShape::head_dim>(cache_call, "headDim");
  field<&CacheCall::shape, &KvCacheShape::value_dim>(cache_call, "valueDim");
  field<&CacheCall::shape, &KvCacheShape::dtype>(cache_call, "dtype");
  field<&CacheCall::shape, &KvCacheShape::capacity>(cache_call, "capacity");
  field<&CacheCall::shape, &KvCacheShape::keep_first>(cache_call, "keepFirst");
  field<&CacheCall::shape, &KvCacheShape::window>(cache_call, "window");
  field<&CacheCall::shape, &KvCacheShape::cache_positions>(cache_call, "cachePositions");
  field<&CacheCall::turns>(cache_call, "turns");
  field<&CacheCall::sections>(cache_call, "sections");
  rotary_fields<&CacheCall::rotary>(cache_call);
  field<&CacheCall::layout>(cache_call, "layout");
  field<&CacheCall::num_tokens>(cache_call, "numTokens");
  field<&CacheCall::key, &ConstArray::data>(cache_call, "key");
  field<&CacheCall::key, &ConstArray::dtype>(cache_call, "keyDtype");
  field<&CacheCall::value, &ConstArray::data>(cache_call, "value");
  field<&CacheCall::value, &ConstArray::dtype>(cache_call, "valueDtype");
  field<&CacheCall::lengths>(cache_call, "lengths");
  field<&CacheCall::positions>(cache_call, "positions");
  field<&CacheCall::position_planes>(cache_call, "positionPlanes");
  field<&CacheCall::indices>(cache_call, "indices");
  field<&CacheCall::kept, &KeptTokens::from>(cache_call, "keptFrom");
  field<&CacheCall::kept, &KeptTokens::counts>(cache_call, "keptCounts");
  field<&CacheCall::kept, &KeptTokens::rows>(cache_call, "keptRows");
  field<&CacheCall::from>(cache_call, "from");
  field<&CacheCall::to>(cache_call, "to");
  field<&CacheCall::bytes>(cache_call, "bytes");
  field<&CacheCall::size>(cache_call, "size");
  function("cacheAppended", &cache_appended);
  function("cacheBytes", &cache_bytes);
  function("cacheSavedSize", &cache_saved_size);
  function("releaseCache", &release_cache);
}

// ---- linear maps ----------------------------------------------------------------------------------------------------

/// What a linear map and its gradient read.
template <class Call, class Class>
void linear_call_fields(Class& binding) {
  field<&Call::shape, &LinearShape::rows>(binding, "rows");
  field<&Call::shape, &LinearShape::in>(binding, "inputDim");
  field<&Call::shape, &LinearShape::out>(binding, "outputDim");
  field<&Call::x, &ConstArray::data>(binding, "x");
  field<&Call::x, &ConstArray::dtype>(binding, "xDtype");
  field<&Call::weights, &LinearWeights::weight, &ConstArray::data>(binding, "weight");
  field<&Call::weights, &LinearWeights::weight, &ConstArray::dtype>(binding, "weightDtype");
  field<&Call::weights, &LinearWeights::in_stride>(binding, "inStride");
  field<&Call::weights, &LinearWeights::out_stride>(binding, "outStride");
}

void register_linear_calls() {
  using L = LinearCall;
  auto linear_call = call_class<L>("LinearCall");
  linear_call_fields<L>(linear_call);
  field<&L::weights, &LinearWeights::bias, &ConstArray::data>(linear_call, "bias");
  field<&L::weights, &LinearWeights::bias, &ConstArray::dtype>(linear_call, "biasDtype");
  field<&L::weights, &LinearWeights::scales>(linear_call, "scales");
  field<&L::y, &MutableArray::data>(linear_call, "y");
  field<&L::y, &MutableArray::dtype>(linear_call, "yDtype");

  using B = LinearBackwardCall;
  auto backward_call = call_class<B>("LinearBackwardCall");
  linear_call_fields<B>(backward_call);
  field<&B::output_gradient, &ConstArray::data>(backward_call, "dOutput");
  field<&B::output_gradient, &ConstArray::dtype>(backward_call, "dOutputDtype");
  field<&B::gradients, &LinearGradients::input>(backward_call, "dInput");
  field<&B::gradients, &LinearGradients::weight>(backward_call, "dWeight");
  field<&B::gradients, &LinearGradients::bias>(backward_call, "dBias");
}

// ---- layers ---------------------------------------------------------------------------------------------------------

/// A weight and its bias: queryWeight, queryDtype and so on. `Path` leads to the LinearWeights.
template <auto... Path, class Class>
void linear_fields(Class& binding, const char* name) {
  field<Path..., &LinearWeights::weight, &ConstArray::data>(binding, name, "Weight");
  field<Path..., &LinearWeights::weight, &ConstArray::dtype>(binding, name, "Dtype");
  field<Path..., &LinearWeights::in_stride>(binding, name, "InStride");
  field<Path..., &LinearWeights::out_stride>(binding, name, "OutStride");
  field<Path..., &LinearWeights::bias, &ConstArray::data>(binding, name, "Bias");
  field<Path..., &LinearWeights::bias, &ConstArray::dtype>(binding, name, "BiasDtype");
}

/// The weights of all projections. `Path` leads to the LayerWeights.
template <auto... Path, class Class>
void weights_fields(Class& binding) {
  linear_fields<Path..., &LayerWeights::query>(binding, "query");
  linear_fields<Path..., &LayerWeights::key>(binding, "key");
  linear_fields<Path..., &LayerWeights::value>(binding, "value");
  linear_fields<Path..., &LayerWeights::output>(binding, "output");
}

/// The gradient of a weight and its bias: queryWeight, queryInStride and so on.
template <auto Linear, class Class>
void linear_gradient_fields(Class& binding, const char* name) {
  constexpr auto gradients = &LayerBackwardCall::gradients;
  field<gradients, Linear, &LinearWeightGradients::weight>(binding, name, "Weight");
  field<gradients, Linear, &LinearWeightGradients::in_stride>(binding, name, "InStride");
  field<gradients, Linear, &LinearWeightGradients::out_stride>(binding, name, "OutStride");
  field<gradients, Linear, &LinearWeightGradients::bias>(binding, name, "Bias");
}

double layer_bytes(Address address) { return static_cast<double>(reinterpret_cast<const Layer*>(address)->bytes()); }
void release_layer(Address address) { delete reinterpret_cast<const Layer*>(address); }

void register_layer_creation() {
  auto layer_creation = call_class<LayerCreation>("LayerCreation");
  field<&LayerCreation::shape, &LayerShape::input_dim>(layer_creation, "inputDim");
  field<&LayerCreation::shape, &LayerShape::key_input_dim>(layer_creation, "keyInputDim");
  field<&LayerCreation::shape, &LayerShape::value_input_dim>(layer_creation, "valueInputDim");
  field<&LayerCreation::shape, &LayerShape::num_heads>(layer_creation, "numHeads");
  field<&LayerCreation::shape, &LayerShape::num_kv_heads>(layer_creation, "numKvHeads");
  field<&LayerCreation::shape, &LayerShape::head_dim>(layer_creation, "headDim");
  field<&LayerCreation::shape, &LayerShape::value_head_dim>(layer_creation, "valueHeadDim");
  field<&LayerCreation::shape, &LayerShape::output_dim>(layer_creation, "outputDim");
  field<&LayerCreation::shape, &LayerShape::output_projection>(layer_creation, "outputProjection");
  weights_fields<&LayerCreation::weights>(layer_creation);
  field<&LayerCreation::options, &LayerOptions::qk_norm>(layer_creation, "qkNorm");
  field<&LayerCreation::options, &LayerOptions::qk_norm_epsilon>(layer_creation, "qkNormEpsilon");
  field<&LayerCreation::options, &LayerOptions::query_gain>(layer_creation, "queryGain");
  field<&LayerCreation::options, &LayerOptions::key_gain>(layer_creation, "keyGain");
  field<&LayerCreation::options, &LayerOptions::weight_dtype>(layer_creation, "weightDtype");
  field<&LayerCreation::options, &LayerOptions::position>(layer_creation, "position");
  field<&LayerCreation::options, &LayerOptions::position_table>(layer_creation, "positionTable");
  field<&LayerCreation::options, &LayerOptions::position_rows>(layer_creation, "positionRows");
  field<&LayerCreation::options, &LayerOptions::sinusoidal_split>(layer_creation, "sinusoidalSplit");
  field<&LayerCreation::options, &LayerOptions::sinusoidal_base>(layer_creation, "sinusoidalBase");
  rotary_fields<&LayerCreation::options, &LayerOptions::rotary>(layer_creation);
  field<&LayerCreation::result>(layer_creation, "result");
  function("layerBytes", &layer_bytes);
  function("releaseLayer", &release_layer);
}

void register_layer_call() {
  using L = LayerCall;
  auto layer_call = call_class<L, emscripten::base<AttentionCall>>("LayerCall");
  layer_call.function("setView", &set_view<L>).function("setPatch", &set_patch<L>);
  field<&L::layer>(layer_call, "layer");
  field<&L::layer_inputs, &LayerInputs::layout>(layer_call, "inputLayout");
  field<&L::layer_inputs, &LayerInputs::batch_size>(layer_call, "inputBatchSize");
  field<&L::layer_inputs, &LayerInputs::query_length>(layer_call, "inputLength");
  field<&L::layer_inputs, &LayerInputs::key_length>(layer_call, "contextLength");
  field<&L::layer_inputs, &LayerInputs::x, &ConstArray::data>(layer_call, "x");
  field<&L::layer_inputs, &LayerInputs::x, &ConstArray::dtype>(layer_call, "xDtype");
  field<&L::layer_inputs, &LayerInputs::key_context, &ConstArray::data>(layer_call, "keyContext");
  field<&L::layer_inputs, &LayerInputs::key_context, &ConstArray::dtype>(layer_call, "keyContextDtype");
  field<&L::layer_inputs, &LayerInputs::value_context, &ConstArray::data>(layer_call, "valueContext");
  field<&L::layer_inputs, &LayerInputs::value_context, &ConstArray::dtype>(layer_call, "valueContextDtype");
  field<&L::layer_inputs, &LayerInputs::cache>(layer_call, "layerCache");
  field<&L::layer_inputs, &LayerInputs::attend_only>(layer_call, "attendOnly");
  field<&L::layer_inputs, &LayerInputs::append_lengths>(layer_call, "appendLengths");
  field<&L::layer_inputs, &LayerInputs::positions, &TokenPositions::data>(layer_call, "positions");
  field<&L::layer_inputs, &LayerInputs::positions, &TokenPositions::planes>(layer_call, "positionPlanes");
  field<&L::layer_inputs, &LayerInputs::key_positions>(layer_call, "keyPositions");
  field<&L::saves>(layer_call, "saves");
  field<&L::saved>(layer_call, "saved");
}

double saved_bytes(Address address) {
  return static_cast<double>(reinterpret_cast<const SavedForward*>(address)->bytes());
}
void release_saved(Address address) { delete reinterpret_cast<const SavedForward*>(address); }

void register_layer_backward_call() {
  using L = LayerBackwardCall;
  auto backward_call = call_class<L>("LayerBackwardCall");
  field<&L::layer>(backward_call, "layer");
  field<&L::saved>(backward_call, "saved");
  field<&L::output_gradient, &ConstArray::data>(backward_call, "dOutput");
  field<&L::output_gradient, &ConstArray::dtype>(backward_call, "dOutputDtype");
  field<&L::lse_gradient>(backward_call, "dLse");
  field<&L::gradients, &LayerGradients::input>(backward_call, "dInput");
  field<&L::gradients, &LayerGradients::key_context>(backward_call, "dContext");
  field<&L::gradients, &LayerGradients::value_context>(backward_call, "dValueContext");
  linear_gradient_fields<&LayerGradients::query_weights>(backward_call, "query");
  linear_gradient_fields<&LayerGradients::key_weights>(backward_call, "key");
  linear_gradient_fields<&LayerGradients::value_weights>(backward_call, "value");
  linear_gradient_fields<&LayerGradients::output_weights>(backward_call, "output");
  field<&L::gradients, &LayerGradients::query_gain>(backward_call, "queryGain");
  field<&L::gradients, &LayerGradients::key_gain>(backward_call, "keyGain");
  field<&L::gradients, &LayerGradients::position_table>(backward_call, "positionTable");
  gradient_fields<&L::gradients, &LayerGradients::attention>(backward_call);
  function("savedBytes", &saved_bytes);
  function("releaseSaved", &release_saved);
}

void register_layer_update_call() {
  using L = LayerUpdateCall;
  auto update_call = call_class<L>("LayerUpdateCall");
  field<&L::layer>(update_call, "layer");
  weights_fields<&L::update, &LayerUpdate::weights>(update_call);
  field<&L::update, &LayerUpdate::query_gain>(update_call, "queryGain");
  field<&L::update, &LayerUpdate::key_gain>(update_call, "keyGain");
  field<&L::update, &LayerUpdate::position_table>(update_call, "positionTable");
}

// ---- steps ----------------------------------------------------------------------------------------------------------

/// Where rows begin, and how far apart they lie: `name` and `name`Stride. `Path` leads to the FloatRows.
template <auto Path, class Class>
void rows_fields(Class& binding, const char* name) {
  field<Path, &FloatRows::data>(binding, name);
  field<Path, &FloatRows::stride>(binding, name, "Stride");
}

/// JavaScript writes an array of these as words.
static_assert(sizeof(StepPart) == 2 * sizeof(std::int32_t));

/// A call of attention or of a layer that JavaScript has copied to `address`: its formulas are now those of the copy.
/// The base of a layer's call is where the call begins.
void moved_call(Address address) {
  auto& call = *reinterpret_cast<AttentionCall*>(address);
  if (call.options.score) call.options.score = &call.score;
  if (call.options.visible) call.options.visible = &call.visible;
}

/// Names the fields of a call that JavaScript keeps in its own memory: it needs no class.
template <class Call>
struct PlainCall {
  using class_type = Call;
};

template <class Call>
void add_lines(std::string& text, const char* name) {
  static_assert(std::is_trivially_copyable_v<Call>);
  text += name;
  text += ' ';
  text += std::to_string(sizeof(Call));
  text += '\n';
  text += field_lines<Call>();
  text += '\n';
}

/// Address of a C string: for each call of a step its name and its bytes, then its fields, then an empty line.
Address step_fields() {
  static const std::string text = [] {
    using N = NormedRows;
    PlainCall<N> norm;
    field<&N::norm>(norm, "norm");
    field<&N::rows>(norm, "rows");
    field<&N::width>(norm, "width");
    rows_fields<&N::x>(norm, "x");
    field<&N::gain>(norm, "gain");
    field<&N::shift>(norm, "shift");
    field<&N::epsilon>(norm, "epsilon");
    field<&N::y>(norm, "y");

    using M = MappedRows;
    PlainCall<M> map;
    field<&M::function>(map, "function");
    field<&M::rows>(map, "rows");
    field<&M::width>(map, "width");
    rows_fields<&M::x>(map, "x");
    field<&M::divisor>(map, "divisor");
    field<&M::scale>(map, "scale");
    rows_fields<&M::times>(map, "times");
    rows_fields<&M::plus>(map, "plus");
    field<&M::y>(map, "y");

    using T = TakenRows;
    PlainCall<T> take;
    field<&T::rows>(take, "rows");
    field<&T::width>(take, "width");
    field<&T::numbers>(take, "numbers");
    field<&T::table, &ConstArray::data>(take, "table");
    field<&T::table, &ConstArray::dtype>(take, "tableDtype");
    field<&T::table_rows>(take, "tableRows");
    field<&T::scales>(take, "scales");
    field<&T::scale>(take, "scale");
    field<&T::y>(take, "y");

    using S = SoftmaxRows;
    PlainCall<S> softmax;
    field<&S::rows>(softmax, "rows");
    field<&S::width>(softmax, "width");
    rows_fields<&S::x>(softmax, "x");
    field<&S::scale>(softmax, "scale");
    field<&S::y>(softmax, "y");

    using K = TopRows;
    PlainCall<K> top;
    field<&K::rows>(top, "rows");
    field<&K::width>(top, "width");
    rows_fields<&K::x>(top, "x");
    field<&K::k>(top, "k");
    field<&K::values>(top, "values");
    field<&K::indices>(top, "indices");

    using P = TurnedTokens;
    PlainCall<P> turn;
    field<&P::turn>(turn, "turn");
    field<&P::numbers>(turn, "numbers");
    field<&P::positions>(turn, "positions");
    field<&P::follows_length>(turn, "followsLength");
    std::string all;
    add_lines<N>(all, "NormedRows");
    add_lines<M>(all, "MappedRows");
    add_lines<T>(all, "TakenRows");
    add_lines<S>(all, "SoftmaxRows");
    add_lines<K>(all, "TopRows");
    add_lines<P>(all, "TurnedTokens");
    add_lines<LinearCall>(all, "LinearCall");
    add_lines<RotaryCall>(all, "RotaryCall");
    add_lines<AttentionCall>(all, "AttentionCall");
    add_lines<LayerCall>(all, "LayerCall");
    return all;
  }();
  return reinterpret_cast<Address>(text.c_str());
}

void register_steps() {
  function("stepFields", &step_fields);
  function("movedCall", &moved_call);
}

// ---- engine ---------------------------------------------------------------------------------------------------------

void register_engine() {
  class_<Engine>("Engine")
      .constructor<int, bool>()
      .function("attention", &Engine::attend)
      .function("attentionBackward", &Engine::start<BackwardCall>)
      .function("merge", &Engine::start<MergeCall>)
      .function("rotary", &Engine::start<RotaryCall>)
      .function("cache", &Engine::start<CacheCall>)
      .function("createLayer", &Engine::start<LayerCreation>)
      .function("layer", &Engine::start<LayerCall>)
      .function("layerBackward", &Engine::start<LayerBackwardCall>)
      .function("updateLayer", &Engine::start<LayerUpdateCall>)
      .function("linear", &Engine::start<LinearCall>)
      .function("linearBackward", &Engine::start<LinearBackwardCall>)
      .function("step", &Engine::step)
      .function("leave", &Engine::leave)
      .function("enter", &Engine::enter)
      .property("block", &Engine::block)
      .property("finished", &Engine::finished)
      .property("threads", &Engine::threads)
      .property("status", &Engine::status)
      .property("copiesLate", &Engine::copies_late)
      .property("message", &Engine::message)
      .property("rows", &Engine::rows)
      .property("rowCount", &Engine::row_count);
}

EMSCRIPTEN_BINDINGS(headwise) {
  register_module();
  register_attention_call();
  register_backward_call();
  register_merge_call();
  register_rotary_call();
  register_cache_call();
  register_linear_calls();
  register_layer_creation();
  register_layer_call();
  register_layer_backward_call();
  register_layer_update_call();
  register_steps();
  register_engine();
}

}  // namespace
}  // namespace headwise
