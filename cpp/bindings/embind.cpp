// What JavaScript sees of the engine.
//
// A call is a C++ struct that JavaScript fills through properties. All properties are numbers: sizes, enumerators, and
// addresses of arrays that JavaScript has placed in the heap. An Engine runs one call at a time and keeps its Status,
// which JavaScript reads from memory. Nothing here allocates during a call, and nothing throws.

#include <emscripten/bind.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "address.h"
#include "calls.h"
#include "engine.h"
#include "number_property.h"

namespace headwise {
namespace {

using emscripten::class_;
using emscripten::function;

/// Sets the defaults, so that a call sets only what differs from them.
template <class Call>
void reset(Call& call) {
  call = Call{};
}

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
  class_<AttentionCall> attention_call("AttentionCall");
  attention_call.constructor<>()
      .function("reset", &reset<AttentionCall>)
      .function("setMaskExtents", &set_mask_extents)
      .function("setBiasExtents", &set_bias_extents)
      .function("setScore", &set_formula<&AttentionCall::score, &AttentionOptions::score>)
      .function("setVisible", &set_formula<&AttentionCall::visible, &AttentionOptions::visible>)
      .function("setView", &set_view<AttentionCall>)
      .function("setPatch", &set_patch<AttentionCall>);

  using C = AttentionCall;
  property<&C::shape, &AttentionShape::batch_size>(attention_call, "batchSize");
  property<&C::shape, &AttentionShape::num_heads>(attention_call, "numHeads");
  property<&C::shape, &AttentionShape::num_kv_heads>(attention_call, "numKvHeads");
  property<&C::shape, &AttentionShape::query_length>(attention_call, "queryLength");
  property<&C::shape, &AttentionShape::key_length>(attention_call, "keyLength");
  property<&C::shape, &AttentionShape::head_dim>(attention_call, "headDim");
  property<&C::shape, &AttentionShape::value_dim>(attention_call, "valueDim");

  property<&C::inputs, &AttentionInputs::query, &ConstArray::data>(attention_call, "query");
  property<&C::inputs, &AttentionInputs::query, &ConstArray::dtype>(attention_call, "queryDtype");
  property<&C::inputs, &AttentionInputs::key, &ConstArray::data>(attention_call, "key");
  property<&C::inputs, &AttentionInputs::key, &ConstArray::dtype>(attention_call, "keyDtype");
  property<&C::inputs, &AttentionInputs::value, &ConstArray::data>(attention_call, "value");
  property<&C::inputs, &AttentionInputs::value, &ConstArray::dtype>(attention_call, "valueDtype");
  property<&C::inputs, &AttentionInputs::cache>(attention_call, "cache");
  property<&C::inputs, &AttentionInputs::query_positions>(attention_call, "queryPositions");
  property<&C::grows>(attention_call, "grows");
  property<&C::num_tokens>(attention_call, "numTokens");
  property<&C::append_lengths>(attention_call, "appendLengths");
  property<&C::inputs, &AttentionInputs::mask>(attention_call, "mask");
  property<&C::inputs, &AttentionInputs::bias, &ConstArray::data>(attention_call, "bias");
  property<&C::inputs, &AttentionInputs::bias, &ConstArray::dtype>(attention_call, "biasDtype");

  property<&C::options, &AttentionOptions::layout>(attention_call, "layout");
  property<&C::options, &AttentionOptions::kv_layout>(attention_call, "kvLayout");
  property<&C::options, &AttentionOptions::scale>(attention_call, "scale");
  property<&C::options, &AttentionOptions::softcap>(attention_call, "softcap");
  property<&C::options, &AttentionOptions::causal>(attention_call, "causal");
  property<&C::options, &AttentionOptions::window_left>(attention_call, "windowLeft");
  property<&C::options, &AttentionOptions::window_right>(attention_call, "windowRight");
  property<&C::options, &AttentionOptions::exclude_self>(attention_call, "excludeSelf");
  property<&C::options, &AttentionOptions::empty_rows>(attention_call, "emptyRows");
  property<&C::options, &AttentionOptions::query_offset>(attention_call, "queryOffset");
  property<&C::options, &AttentionOptions::key_lengths>(attention_call, "keyLengths");
  property<&C::options, &AttentionOptions::query_lengths>(attention_call, "queryLengths");
  property<&C::options, &AttentionOptions::alibi_slopes>(attention_call, "alibiSlopes");
  property<&C::options, &AttentionOptions::sinks>(attention_call, "sinks");
  property<&C::options, &AttentionOptions::head_gain>(attention_call, "headGain");
  property<&C::options, &AttentionOptions::dropout, &Dropout::rate>(attention_call, "dropoutRate");
  property<&C::options, &AttentionOptions::dropout, &Dropout::seed>(attention_call, "dropoutSeed");
  property<&C::options, &AttentionOptions::cu_seq_lens_query>(attention_call, "cuSeqLensQuery");
  property<&C::options, &AttentionOptions::cu_seq_lens_key>(attention_call, "cuSeqLensKey");
  property<&C::options, &AttentionOptions::num_sequences>(attention_call, "numSequences");

  using O = AttentionOutputs;
  property<&C::outputs, &O::output, &MutableArray::data>(attention_call, "output");
  property<&C::outputs, &O::output, &MutableArray::dtype>(attention_call, "outputDtype");
  property<&C::outputs, &O::key_room>(attention_call, "keyRoom");
  property<&C::outputs, &O::lse>(attention_call, "lse");
  property<&C::outputs, &O::entropy>(attention_call, "entropy");
  property<&C::outputs, &O::probs>(attention_call, "probs");
  property<&C::outputs, &O::probs_selection, &Selection::heads>(attention_call, "probsHeads");
  property<&C::outputs, &O::probs_selection, &Selection::num_heads>(attention_call, "probsNumHeads");
  property<&C::outputs, &O::probs_selection, &Selection::queries>(attention_call, "probsQueries");
  property<&C::outputs, &O::probs_selection, &Selection::num_queries>(attention_call, "probsNumQueries");
  property<&C::outputs, &O::probs_selection, &Selection::average>(attention_call, "probsAverage");
  property<&C::outputs, &O::scores>(attention_call, "scores");
  property<&C::outputs, &O::scores_stage>(attention_call, "scoresStage");
  property<&C::outputs, &O::scores_selection, &Selection::heads>(attention_call, "scoresHeads");
  property<&C::outputs, &O::scores_selection, &Selection::num_heads>(attention_call, "scoresNumHeads");
  property<&C::outputs, &O::scores_selection, &Selection::queries>(attention_call, "scoresQueries");
  property<&C::outputs, &O::scores_selection, &Selection::num_queries>(attention_call, "scoresNumQueries");
  property<&C::outputs, &O::top_k>(attention_call, "topK");
  property<&C::outputs, &O::top_k_values>(attention_call, "topKValues");
  property<&C::outputs, &O::top_k_indices>(attention_call, "topKIndices");
  property<&C::outputs, &O::top_k_selection, &Selection::heads>(attention_call, "topKHeads");
  property<&C::outputs, &O::top_k_selection, &Selection::num_heads>(attention_call, "topKNumHeads");
  property<&C::outputs, &O::top_k_selection, &Selection::queries>(attention_call, "topKQueries");
  property<&C::outputs, &O::top_k_selection, &Selection::num_queries>(attention_call, "topKNumQueries");
  property<&C::outputs, &O::top_k_selection, &Selection::average>(attention_call, "topKAverage");
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
void gradient_properties(Class& binding) {
  property<Path..., &BackwardOutputs::bias>(binding, "dBias");
  property<Path..., &BackwardOutputs::sinks>(binding, "dSinks");
  property<Path..., &BackwardOutputs::head_gain>(binding, "dHeadGain");
  property<Path..., &BackwardOutputs::alibi_slopes>(binding, "dAlibiSlopes");
  property<Path..., &BackwardOutputs::reads>(binding, "dReads");
  binding.function("setDerivative", &set_derivative<typename Class::class_type>);
}

void register_backward_call() {
  using B = BackwardCall;
  class_<B, emscripten::base<AttentionCall>> backward_call("BackwardCall");
  backward_call.constructor<>().function("reset", &reset<B>);
  property<&B::output, &ConstArray::data>(backward_call, "givenOutput");
  property<&B::output, &ConstArray::dtype>(backward_call, "givenOutputDtype");
  property<&B::lse>(backward_call, "givenLse");
  property<&B::output_gradient, &ConstArray::data>(backward_call, "dOutput");
  property<&B::output_gradient, &ConstArray::dtype>(backward_call, "dOutputDtype");
  property<&B::lse_gradient>(backward_call, "dLse");
  property<&B::gradients, &BackwardOutputs::query>(backward_call, "dQuery");
  property<&B::gradients, &BackwardOutputs::key>(backward_call, "dKey");
  property<&B::gradients, &BackwardOutputs::value>(backward_call, "dValue");
  gradient_properties<&B::gradients>(backward_call);
}

// ---- merging --------------------------------------------------------------------------------------------------------

/// Writes part `n` of the array of parts at `parts`.
void set_part(Address parts, int n, Address output, int dtype, Address lse) {
  reinterpret_cast<AttentionPart*>(parts)[n] = {{reinterpret_cast<const void*>(output), static_cast<Dtype>(dtype)},
                                                reinterpret_cast<const float*>(lse)};
}

int part_size() { return sizeof(AttentionPart); }

void register_merge_call() {
  class_<MergeCall> merge_call("MergeCall");
  merge_call.constructor<>().function("reset", &reset<MergeCall>);
  property<&MergeCall::shape, &AttentionShape::batch_size>(merge_call, "batchSize");
  property<&MergeCall::shape, &AttentionShape::num_heads>(merge_call, "numHeads");
  property<&MergeCall::shape, &AttentionShape::query_length>(merge_call, "queryLength");
  property<&MergeCall::shape, &AttentionShape::value_dim>(merge_call, "valueDim");
  property<&MergeCall::layout>(merge_call, "layout");
  property<&MergeCall::parts>(merge_call, "parts");
  property<&MergeCall::num_parts>(merge_call, "numParts");
  property<&MergeCall::sinks>(merge_call, "sinks");
  property<&MergeCall::output, &MutableArray::data>(merge_call, "output");
  property<&MergeCall::output, &MutableArray::dtype>(merge_call, "outputDtype");
  property<&MergeCall::lse>(merge_call, "lse");
  function("setPart", &set_part);
  function("partSize", &part_size);
}

// ---- rotary embedding -----------------------------------------------------------------------------------------------

/// The options of a rotary embedding. `Path` leads to them within the call.
template <auto... Path, class Class>
void rotary_properties(Class& binding) {
  property<Path..., &RotaryOptions::rotary_dim>(binding, "rotaryDim");
  property<Path..., &RotaryOptions::base>(binding, "rotaryBase");
  property<Path..., &RotaryOptions::interleaved>(binding, "rotaryInterleaved");
  property<Path..., &RotaryOptions::scaling>(binding, "rotaryScaling");
  property<Path..., &RotaryOptions::factor>(binding, "rotaryFactor");
  property<Path..., &RotaryOptions::original_length>(binding, "rotaryOriginalLength");
  property<Path..., &RotaryOptions::sequence_length>(binding, "rotarySequenceLength");
  property<Path..., &RotaryOptions::beta_fast>(binding, "rotaryBetaFast");
  property<Path..., &RotaryOptions::beta_slow>(binding, "rotaryBetaSlow");
  property<Path..., &RotaryOptions::truncate>(binding, "rotaryTruncate");
  property<Path..., &RotaryOptions::attention_factor>(binding, "rotaryAttentionFactor");
  property<Path..., &RotaryOptions::mscale>(binding, "rotaryMscale");
  property<Path..., &RotaryOptions::mscale_all_dim>(binding, "rotaryMscaleAllDim");
  property<Path..., &RotaryOptions::low_freq_factor>(binding, "rotaryLowFreqFactor");
  property<Path..., &RotaryOptions::high_freq_factor>(binding, "rotaryHighFreqFactor");
  property<Path..., &RotaryOptions::short_factors>(binding, "rotaryShortFactors");
  property<Path..., &RotaryOptions::long_factors>(binding, "rotaryLongFactors");
  property<Path..., &RotaryOptions::frequencies>(binding, "rotaryFrequencies");
  property<Path..., &RotaryOptions::cosines>(binding, "rotaryCosines");
  property<Path..., &RotaryOptions::sines>(binding, "rotarySines");
  property<Path..., &RotaryOptions::table_rows>(binding, "rotaryTableRows");
  property<Path..., &RotaryOptions::temporal_section>(binding, "rotaryTemporalSection");
  property<Path..., &RotaryOptions::height_section>(binding, "rotaryHeightSection");
  property<Path..., &RotaryOptions::width_section>(binding, "rotaryWidthSection");
}

void register_rotary_call() {
  class_<RotaryCall> rotary_call("RotaryCall");
  rotary_call.constructor<>().function("reset", &reset<RotaryCall>);
  property<&RotaryCall::layout>(rotary_call, "layout");
  property<&RotaryCall::batch_size>(rotary_call, "batchSize");
  property<&RotaryCall::num_heads>(rotary_call, "numHeads");
  property<&RotaryCall::length>(rotary_call, "length");
  property<&RotaryCall::head_dim>(rotary_call, "headDim");
  rotary_properties<&RotaryCall::options>(rotary_call);
  property<&RotaryCall::x, &ConstArray::data>(rotary_call, "x");
  property<&RotaryCall::x, &ConstArray::dtype>(rotary_call, "xDtype");
  property<&RotaryCall::positions>(rotary_call, "positions");
  property<&RotaryCall::cosines>(rotary_call, "cosines");
  property<&RotaryCall::sines>(rotary_call, "sines");
  property<&RotaryCall::table_rows>(rotary_call, "tableRows");
  property<&RotaryCall::rows>(rotary_call, "rows");
  property<&RotaryCall::y, &MutableArray::data>(rotary_call, "y");
  property<&RotaryCall::y, &MutableArray::dtype>(rotary_call, "yDtype");
}

// ---- caches ---------------------------------------------------------------------------------------------------------

KvCache& cache_at(Address address) { return *reinterpret_cast<KvCache*>(address); }

/// Writes the shape of a cache into `call`, for JavaScript to read.
void describe_cache(CacheCall& call, Address address) {
  call.shape = cache_at(address).shape();
  call.turns = call.shape.rotary.has_value();
}

double cache_appended(Address address, int b) { return static_cast<double>(cache_at(address).appended(b)); }
double cache_bytes(Address address) { return static_cast<double>(cache_at(address).bytes()); }
double cache_saved_size(Address address) { return static_cast<double>(cache_at(address).saved_size()); }
void release_cache(Address address) { delete &cache_at(address); }

void register_cache_call() {
  class_<CacheCall> cache_call("CacheCall");
  cache_call.constructor<>().function("reset", &reset<CacheCall>).function("describe", &describe_cache);
  property<&CacheCall::operation>(cache_call, "operation");
  property<&CacheCall::cache>(cache_call, "cache");
  property<&CacheCall::result>(cache_call, "result");
  property<&CacheCall::shape, &KvCacheShape::batch_size>(cache_call, "batchSize");
  property<&CacheCall::shape, &KvCacheShape::num_kv_heads>(cache_call, "numKvHeads");
  property<&CacheCall::shape, &KvCacheShape::head_dim>(cache_call, "headDim");
  property<&CacheCall::shape, &KvCacheShape::value_dim>(cache_call, "valueDim");
  property<&CacheCall::shape, &KvCacheShape::dtype>(cache_call, "dtype");
  property<&CacheCall::shape, &KvCacheShape::capacity>(cache_call, "capacity");
  property<&CacheCall::shape, &KvCacheShape::keep_first>(cache_call, "keepFirst");
  property<&CacheCall::shape, &KvCacheShape::window>(cache_call, "window");
  property<&CacheCall::shape, &KvCacheShape::cache_positions>(cache_call, "cachePositions");
  property<&CacheCall::turns>(cache_call, "turns");
  rotary_properties<&CacheCall::rotary>(cache_call);
  property<&CacheCall::layout>(cache_call, "layout");
  property<&CacheCall::num_tokens>(cache_call, "numTokens");
  property<&CacheCall::key, &ConstArray::data>(cache_call, "key");
  property<&CacheCall::key, &ConstArray::dtype>(cache_call, "keyDtype");
  property<&CacheCall::value, &ConstArray::data>(cache_call, "value");
  property<&CacheCall::value, &ConstArray::dtype>(cache_call, "valueDtype");
  property<&CacheCall::lengths>(cache_call, "lengths");
  property<&CacheCall::positions>(cache_call, "positions");
  property<&CacheCall::indices>(cache_call, "indices");
  property<&CacheCall::kept, &KeptTokens::from>(cache_call, "keptFrom");
  property<&CacheCall::kept, &KeptTokens::counts>(cache_call, "keptCounts");
  property<&CacheCall::kept, &KeptTokens::rows>(cache_call, "keptRows");
  property<&CacheCall::from>(cache_call, "from");
  property<&CacheCall::to>(cache_call, "to");
  property<&CacheCall::bytes>(cache_call, "bytes");
  property<&CacheCall::size>(cache_call, "size");
  function("cacheAppended", &cache_appended);
  function("cacheBytes", &cache_bytes);
  function("cacheSavedSize", &cache_saved_size);
  function("releaseCache", &release_cache);
}

// ---- linear maps ----------------------------------------------------------------------------------------------------

/// What a linear map and its gradient read.
template <class Call, class Class>
void linear_call_properties(Class& binding) {
  property<&Call::shape, &LinearShape::rows>(binding, "rows");
  property<&Call::shape, &LinearShape::in>(binding, "inputDim");
  property<&Call::shape, &LinearShape::out>(binding, "outputDim");
  property<&Call::x, &ConstArray::data>(binding, "x");
  property<&Call::x, &ConstArray::dtype>(binding, "xDtype");
  property<&Call::weights, &LinearWeights::weight, &ConstArray::data>(binding, "weight");
  property<&Call::weights, &LinearWeights::weight, &ConstArray::dtype>(binding, "weightDtype");
  property<&Call::weights, &LinearWeights::in_stride>(binding, "inStride");
  property<&Call::weights, &LinearWeights::out_stride>(binding, "outStride");
}

void register_linear_calls() {
  using L = LinearCall;
  class_<L> linear_call("LinearCall");
  linear_call.constructor<>().function("reset", &reset<L>);
  linear_call_properties<L>(linear_call);
  property<&L::weights, &LinearWeights::bias, &ConstArray::data>(linear_call, "bias");
  property<&L::weights, &LinearWeights::bias, &ConstArray::dtype>(linear_call, "biasDtype");
  property<&L::weights, &LinearWeights::scales>(linear_call, "scales");
  property<&L::y, &MutableArray::data>(linear_call, "y");
  property<&L::y, &MutableArray::dtype>(linear_call, "yDtype");

  using B = LinearBackwardCall;
  class_<B> backward_call("LinearBackwardCall");
  backward_call.constructor<>().function("reset", &reset<B>);
  linear_call_properties<B>(backward_call);
  property<&B::output_gradient, &ConstArray::data>(backward_call, "dOutput");
  property<&B::output_gradient, &ConstArray::dtype>(backward_call, "dOutputDtype");
  property<&B::gradients, &LinearGradients::input>(backward_call, "dInput");
  property<&B::gradients, &LinearGradients::weight>(backward_call, "dWeight");
  property<&B::gradients, &LinearGradients::bias>(backward_call, "dBias");
}

// ---- layers ---------------------------------------------------------------------------------------------------------

/// A weight and its bias: queryWeight, queryDtype and so on. `Path` leads to the LinearWeights.
template <auto... Path, class Class>
void linear_properties(Class& binding, const std::string& name) {
  property<Path..., &LinearWeights::weight, &ConstArray::data>(binding, name + "Weight");
  property<Path..., &LinearWeights::weight, &ConstArray::dtype>(binding, name + "Dtype");
  property<Path..., &LinearWeights::in_stride>(binding, name + "InStride");
  property<Path..., &LinearWeights::out_stride>(binding, name + "OutStride");
  property<Path..., &LinearWeights::bias, &ConstArray::data>(binding, name + "Bias");
  property<Path..., &LinearWeights::bias, &ConstArray::dtype>(binding, name + "BiasDtype");
}

/// The weights of all projections. `Path` leads to the LayerWeights.
template <auto... Path, class Class>
void weights_properties(Class& binding) {
  linear_properties<Path..., &LayerWeights::query>(binding, "query");
  linear_properties<Path..., &LayerWeights::key>(binding, "key");
  linear_properties<Path..., &LayerWeights::value>(binding, "value");
  linear_properties<Path..., &LayerWeights::output>(binding, "output");
}

/// The gradient of a weight and its bias: queryWeight, queryInStride and so on.
template <auto Linear, class Class>
void linear_gradient_properties(Class& binding, const std::string& name) {
  constexpr auto gradients = &LayerBackwardCall::gradients;
  property<gradients, Linear, &LinearWeightGradients::weight>(binding, name + "Weight");
  property<gradients, Linear, &LinearWeightGradients::in_stride>(binding, name + "InStride");
  property<gradients, Linear, &LinearWeightGradients::out_stride>(binding, name + "OutStride");
  property<gradients, Linear, &LinearWeightGradients::bias>(binding, name + "Bias");
}

double layer_bytes(Address address) { return static_cast<double>(reinterpret_cast<const Layer*>(address)->bytes()); }
void release_layer(Address address) { delete reinterpret_cast<const Layer*>(address); }

void register_layer_creation() {
  class_<LayerCreation> layer_creation("LayerCreation");
  layer_creation.constructor<>().function("reset", &reset<LayerCreation>);
  property<&LayerCreation::shape, &LayerShape::input_dim>(layer_creation, "inputDim");
  property<&LayerCreation::shape, &LayerShape::key_input_dim>(layer_creation, "keyInputDim");
  property<&LayerCreation::shape, &LayerShape::value_input_dim>(layer_creation, "valueInputDim");
  property<&LayerCreation::shape, &LayerShape::num_heads>(layer_creation, "numHeads");
  property<&LayerCreation::shape, &LayerShape::num_kv_heads>(layer_creation, "numKvHeads");
  property<&LayerCreation::shape, &LayerShape::head_dim>(layer_creation, "headDim");
  property<&LayerCreation::shape, &LayerShape::value_head_dim>(layer_creation, "valueHeadDim");
  property<&LayerCreation::shape, &LayerShape::output_dim>(layer_creation, "outputDim");
  property<&LayerCreation::shape, &LayerShape::output_projection>(layer_creation, "outputProjection");
  weights_properties<&LayerCreation::weights>(layer_creation);
  property<&LayerCreation::options, &LayerOptions::qk_norm>(layer_creation, "qkNorm");
  property<&LayerCreation::options, &LayerOptions::qk_norm_epsilon>(layer_creation, "qkNormEpsilon");
  property<&LayerCreation::options, &LayerOptions::query_gain>(layer_creation, "queryGain");
  property<&LayerCreation::options, &LayerOptions::key_gain>(layer_creation, "keyGain");
  property<&LayerCreation::options, &LayerOptions::weight_dtype>(layer_creation, "weightDtype");
  property<&LayerCreation::options, &LayerOptions::position>(layer_creation, "position");
  property<&LayerCreation::options, &LayerOptions::position_table>(layer_creation, "positionTable");
  property<&LayerCreation::options, &LayerOptions::position_rows>(layer_creation, "positionRows");
  property<&LayerCreation::options, &LayerOptions::sinusoidal_split>(layer_creation, "sinusoidalSplit");
  property<&LayerCreation::options, &LayerOptions::sinusoidal_base>(layer_creation, "sinusoidalBase");
  rotary_properties<&LayerCreation::options, &LayerOptions::rotary>(layer_creation);
  property<&LayerCreation::result>(layer_creation, "result");
  function("layerBytes", &layer_bytes);
  function("releaseLayer", &release_layer);
}

void register_layer_call() {
  using L = LayerCall;
  class_<L, emscripten::base<AttentionCall>> layer_call("LayerCall");
  layer_call.constructor<>()
      .function("reset", &reset<L>)
      .function("setView", &set_view<L>)
      .function("setPatch", &set_patch<L>);
  property<&L::layer>(layer_call, "layer");
  property<&L::layer_inputs, &LayerInputs::layout>(layer_call, "inputLayout");
  property<&L::layer_inputs, &LayerInputs::batch_size>(layer_call, "inputBatchSize");
  property<&L::layer_inputs, &LayerInputs::query_length>(layer_call, "inputLength");
  property<&L::layer_inputs, &LayerInputs::key_length>(layer_call, "contextLength");
  property<&L::layer_inputs, &LayerInputs::x, &ConstArray::data>(layer_call, "x");
  property<&L::layer_inputs, &LayerInputs::x, &ConstArray::dtype>(layer_call, "xDtype");
  property<&L::layer_inputs, &LayerInputs::key_context, &ConstArray::data>(layer_call, "keyContext");
  property<&L::layer_inputs, &LayerInputs::key_context, &ConstArray::dtype>(layer_call, "keyContextDtype");
  property<&L::layer_inputs, &LayerInputs::value_context, &ConstArray::data>(layer_call, "valueContext");
  property<&L::layer_inputs, &LayerInputs::value_context, &ConstArray::dtype>(layer_call, "valueContextDtype");
  property<&L::layer_inputs, &LayerInputs::cache>(layer_call, "layerCache");
  property<&L::layer_inputs, &LayerInputs::attend_only>(layer_call, "attendOnly");
  property<&L::layer_inputs, &LayerInputs::append_lengths>(layer_call, "appendLengths");
  property<&L::layer_inputs, &LayerInputs::positions, &TokenPositions::data>(layer_call, "positions");
  property<&L::layer_inputs, &LayerInputs::positions, &TokenPositions::planes>(layer_call, "positionPlanes");
  property<&L::layer_inputs, &LayerInputs::key_positions>(layer_call, "keyPositions");
  property<&L::saves>(layer_call, "saves");
  property<&L::saved>(layer_call, "saved");
}

double saved_bytes(Address address) {
  return static_cast<double>(reinterpret_cast<const SavedForward*>(address)->bytes());
}
void release_saved(Address address) { delete reinterpret_cast<const SavedForward*>(address); }

void register_layer_backward_call() {
  using L = LayerBackwardCall;
  class_<L> backward_call("LayerBackwardCall");
  backward_call.constructor<>().function("reset", &reset<L>);
  property<&L::layer>(backward_call, "layer");
  property<&L::saved>(backward_call, "saved");
  property<&L::output_gradient, &ConstArray::data>(backward_call, "dOutput");
  property<&L::output_gradient, &ConstArray::dtype>(backward_call, "dOutputDtype");
  property<&L::lse_gradient>(backward_call, "dLse");
  property<&L::gradients, &LayerGradients::input>(backward_call, "dInput");
  property<&L::gradients, &LayerGradients::key_context>(backward_call, "dContext");
  property<&L::gradients, &LayerGradients::value_context>(backward_call, "dValueContext");
  linear_gradient_properties<&LayerGradients::query_weights>(backward_call, "query");
  linear_gradient_properties<&LayerGradients::key_weights>(backward_call, "key");
  linear_gradient_properties<&LayerGradients::value_weights>(backward_call, "value");
  linear_gradient_properties<&LayerGradients::output_weights>(backward_call, "output");
  property<&L::gradients, &LayerGradients::query_gain>(backward_call, "queryGain");
  property<&L::gradients, &LayerGradients::key_gain>(backward_call, "keyGain");
  property<&L::gradients, &LayerGradients::position_table>(backward_call, "positionTable");
  gradient_properties<&L::gradients, &LayerGradients::attention>(backward_call);
  function("savedBytes", &saved_bytes);
  function("releaseSaved", &release_saved);
}

void register_layer_update_call() {
  using L = LayerUpdateCall;
  class_<L> update_call("LayerUpdateCall");
  update_call.constructor<>().function("reset", &reset<L>);
  property<&L::layer>(update_call, "layer");
  weights_properties<&L::update, &LayerUpdate::weights>(update_call);
  property<&L::update, &LayerUpdate::query_gain>(update_call, "queryGain");
  property<&L::update, &LayerUpdate::key_gain>(update_call, "keyGain");
  property<&L::update, &LayerUpdate::position_table>(update_call, "positionTable");
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
      .property("block", &Engine::block)
      .property("finished", &Engine::finished)
      .property("threads", &Engine::threads)
      .property("code", &Engine::code)
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
  register_engine();
}

}  // namespace
}  // namespace headwise
