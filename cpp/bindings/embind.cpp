// What JavaScript sees of the engine.
//
// A call is a C++ struct whose fields JavaScript writes in memory, where `fields()` says (fields.h). All fields
// are numbers: sizes, enumerators, and addresses of arrays that JavaScript has placed in the heap. An Engine runs one
// call at a time and keeps its Status, which JavaScript reads from memory. Nothing here allocates during a call, and
// nothing throws.

#include <emscripten/bind.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "calls.h"
#include "engine.h"
#include "fields.h"
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

// ---- calls ----------------------------------------------------------------------------------------------------------

/// Sets the defaults, so that a call sets only what differs from them.
template <class Call>
void reset(Call& call) {
  call = Call{};
}

template <class Call>
Address address_of(const Call& call) {
  return reinterpret_cast<Address>(&call);
}

template <const Field* fields>
Address address_of_fields() {
  return reinterpret_cast<Address>(fields);
}

/// Declares a call to JavaScript, with what every call has.
template <class Call, const Field* fields, class Base = emscripten::internal::NoBaseClass>
class_<Call, Base> call_class(const char* name) {
  class_<Call, Base> binding(name);
  binding.template constructor<>()
      .function("reset", &reset<Call>)
      .function("address", &address_of<Call>)
      .class_function("fields", &address_of_fields<fields>);
  return binding;
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
  call_class<AttentionCall, kAttentionCall>("AttentionCall")
      .function("setMaskExtents", &set_mask_extents)
      .function("setBiasExtents", &set_bias_extents)
      .function("setScore", &set_formula<&AttentionCall::score, &AttentionOptions::score>)
      .function("setVisible", &set_formula<&AttentionCall::visible, &AttentionOptions::visible>)
      .function("setView", &set_view<AttentionCall>)
      .function("setPatch", &set_patch<AttentionCall>);
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

void register_backward_call() {
  call_class<BackwardCall, kBackwardCall, emscripten::base<AttentionCall>>("BackwardCall")
      .function("setDerivative", &set_derivative<BackwardCall>);
}

// ---- merging --------------------------------------------------------------------------------------------------------

/// Writes part `n` of the array of parts at `parts`.
void set_part(Address parts, int n, Address output, int dtype, Address lse) {
  reinterpret_cast<AttentionPart*>(parts)[n] = {{reinterpret_cast<const void*>(output), static_cast<Dtype>(dtype)},
                                                reinterpret_cast<const float*>(lse)};
}

int part_size() { return sizeof(AttentionPart); }

void register_merge_call() {
  call_class<MergeCall, kMergeCall>("MergeCall");
  function("setPart", &set_part);
  function("partSize", &part_size);
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
  call_class<CacheCall, kCacheCall>("CacheCall").function("describe", &describe_cache);
  function("cacheAppended", &cache_appended);
  function("cacheBytes", &cache_bytes);
  function("cacheSavedSize", &cache_saved_size);
  function("releaseCache", &release_cache);
}

// ---- layers ---------------------------------------------------------------------------------------------------------

double layer_bytes(Address address) { return static_cast<double>(reinterpret_cast<const Layer*>(address)->bytes()); }
void release_layer(Address address) { delete reinterpret_cast<const Layer*>(address); }

double saved_bytes(Address address) {
  return static_cast<double>(reinterpret_cast<const SavedForward*>(address)->bytes());
}
void release_saved(Address address) { delete reinterpret_cast<const SavedForward*>(address); }

void register_layer_calls() {
  call_class<LayerCreation, kLayerCreation>("LayerCreation");
  call_class<LayerCall, kLayerCall, emscripten::base<AttentionCall>>("LayerCall")
      .function("setView", &set_view<LayerCall>)
      .function("setPatch", &set_patch<LayerCall>);
  call_class<LayerBackwardCall, kLayerBackwardCall>("LayerBackwardCall")
      .function("setDerivative", &set_derivative<LayerBackwardCall>);
  call_class<LayerUpdateCall, kLayerUpdateCall>("LayerUpdateCall");
  function("layerBytes", &layer_bytes);
  function("releaseLayer", &release_layer);
  function("savedBytes", &saved_bytes);
  function("releaseSaved", &release_saved);
}

// ---- steps ----------------------------------------------------------------------------------------------------------

/// JavaScript writes an array of these as words.
static_assert(sizeof(StepPart) == 2 * sizeof(std::int32_t));

/// A call of attention or of a layer that JavaScript has copied to `address`: its formulas are now those of the copy.
/// The base of a layer's call is where the call begins.
void moved_call(Address address) {
  auto& call = *reinterpret_cast<AttentionCall*>(address);
  if (call.options.score) call.options.score = &call.score;
  if (call.options.visible) call.options.visible = &call.visible;
}

Address step_calls() { return reinterpret_cast<Address>(kStepCalls); }

void register_steps() {
  function("stepCalls", &step_calls);
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
      .property("copiesMeanwhile", &Engine::copies_meanwhile)
      .property("message", &Engine::message)
      .property("rows", &Engine::rows)
      .property("rowCount", &Engine::row_count);
}

EMSCRIPTEN_BINDINGS(headwise) {
  register_module();
  register_attention_call();
  register_backward_call();
  register_merge_call();
  call_class<RotaryCall, kRotaryCall>("RotaryCall");
  register_cache_call();
  call_class<LinearCall, kLinearCall>("LinearCall");
  call_class<LinearBackwardCall, kLinearBackwardCall>("LinearBackwardCall");
  register_layer_calls();
  register_steps();
  register_engine();
}

}  // namespace
}  // namespace headwise
