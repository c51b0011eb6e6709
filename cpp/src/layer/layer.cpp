#include "headwise/layer.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "attention/call.h"
#include "attention/validate.h"
#include "base/element.h"
#include "base/sizes.h"
#include "base/strides.h"
#include "base/workspace.h"
#include "headwise/kv_cache.h"
#include "headwise/thread_pool.h"
#include "layer/projection.h"

namespace headwise {

struct Layer::Packed {
  LayerShape shape;
  LayerOptions options;  ///< its pointers are not used: see below
  Projection query, key, value, output;
  Buffer<float> query_gain, key_gain, position_table;

  [[nodiscard]] std::int64_t query_width() const { return shape.num_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t key_width() const { return shape.num_kv_heads * shape.head_dim; }
  [[nodiscard]] std::int64_t value_width() const { return shape.num_kv_heads * shape.value_head_dim; }
  [[nodiscard]] std::int64_t heads_width() const { return shape.num_heads * shape.value_head_dim; }
};

namespace {

using Long = long long;

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kTokensPerTask = 32;  // enough work to pay for claiming a task

// ----------------------------------------------------------------------------------------------------------- creation

Status check_extent(const char* name, std::int64_t value) {
  if (value >= 1 && value <= std::numeric_limits<std::int32_t>::max()) return {};
  return Status::error(StatusCode::invalid_shape, "%s must be in 1..2^31-1, got %lld", name, static_cast<Long>(value));
}

Status check_layer_shape(const LayerShape& shape) {
  const struct {
    const char* name;
    std::int64_t value;
  } extents[] = {{"inputDim", shape.input_dim},
                 {"keyInputDim", shape.key_input_dim},
                 {"valueInputDim", shape.value_input_dim},
                 {"numHeads", shape.num_heads},
                 {"numKvHeads", shape.num_kv_heads},
                 {"headDim", shape.head_dim},
                 {"valueHeadDim", shape.value_head_dim},
                 {"outputDim", shape.output_dim}};
  for (const auto& extent : extents)
    if (Status status = check_extent(extent.name, extent.value); !status.ok()) return status;
  if (shape.num_heads % shape.num_kv_heads != 0)
    return Status::error(StatusCode::invalid_shape, "numKvHeads must divide numHeads, got %lld and %lld",
                         static_cast<Long>(shape.num_kv_heads), static_cast<Long>(shape.num_heads));
  if (!shape.output_projection && shape.output_dim != shape.num_heads * shape.value_head_dim)
    return Status::error(StatusCode::invalid_shape,
                         "outputDim without output projection must be numHeads * valueHeadDim (%lld), got %lld",
                         static_cast<Long>(shape.num_heads * shape.value_head_dim),
                         static_cast<Long>(shape.output_dim));
  return {};
}

Status check_weights(const LayerShape& shape, const LayerWeights& weights) {
  const bool has_output = weights.output.weight.data || weights.output.bias.data;
  if (!weights.query.weight.data || !weights.key.weight.data || !weights.value.weight.data)
    return Status::error(StatusCode::invalid_shape, "weights of query, key and value must be given");
  if (shape.output_projection && !weights.output.weight.data)
    return Status::error(StatusCode::invalid_shape, "the output weight must be given, or outputProjection be false");
  if (!shape.output_projection && has_output)
    return Status::error(StatusCode::invalid_option,
                         "outputProjection is false, but an output weight or bias is given");
  return {};
}

Status check_layer_options(const LayerShape& shape, const LayerOptions& options) {
  if (!std::isfinite(options.qk_norm_epsilon) || options.qk_norm_epsilon < 0.0f)
    return Status::error(StatusCode::invalid_option, "qkNorm.epsilon must be finite and >= 0, got %g",
                         static_cast<double>(options.qk_norm_epsilon));
  if (options.qk_norm == QkNorm::none && (options.query_gain || options.key_gain))
    return Status::error(StatusCode::invalid_option, "a gain needs a qkNorm");
  if (options.position == LayerPosition::table && (!options.position_table || options.position_rows < 1))
    return Status::error(StatusCode::invalid_shape, "the position table must have at least one row");
  if (options.position == LayerPosition::sinusoidal &&
      (!std::isfinite(options.sinusoidal_base) || options.sinusoidal_base <= 0.0))
    return Status::error(StatusCode::invalid_option, "position.base must be finite and > 0, got %g",
                         options.sinusoidal_base);
  if (options.position == LayerPosition::rotary) return validate_rotary(options.rotary, shape.head_dim);
  return {};
}

/// Copies an optional array.
Status keep(const float* values, std::int64_t rows, std::int64_t columns, Buffer<float>* copy) {
  if (!values) return {};
  std::int64_t count = 0;
  if (!multiply_sizes(rows, columns, &count))
    return Status::error(StatusCode::invalid_shape, "the size of the position table overflows");
  if (!copy->allocate(count)) return Status::out_of_memory(count * kFloat);
  std::copy_n(values, count, copy->data());
  return {};
}

// -------------------------------------------------------------------------------------------------------- calculation

/// Scales one head's vector to unit mean square or length, then by the gain.
void normalise(float* head, std::int64_t stride, std::int64_t head_dim, QkNorm kind, float epsilon, const float* gain) {
  Eigen::Map<Eigen::ArrayXf, 0, Eigen::InnerStride<>> x(head, head_dim, Eigen::InnerStride<>(stride));
  const double squares = x.cast<double>().square().sum();
  const double size = kind == QkNorm::rms ? std::sqrt(squares / static_cast<double>(head_dim) + epsilon)
                                          : std::max(std::sqrt(squares), static_cast<double>(epsilon));
  x *= static_cast<float>(1.0 / size);
  if (gain) x *= Eigen::Map<const Eigen::ArrayXf>(gain, head_dim);
}

/// Whether angles depend on the length of the call.
bool grows_with_length(const RotaryOptions& rotary) {
  return rotary.scaling == RotaryScaling::dynamic_ntk && rotary.sequence_length == 0.0;
}

/// Calls visit(b, s) for every token, in tasks of neighbours.
template <class Visit>
void for_each_token(ThreadPool& pool, std::int64_t batch_size, std::int64_t length, Visit&& visit) {
  const std::int64_t tokens = batch_size * length;
  pool.parallel_for((tokens + kTokensPerTask - 1) / kTokensPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min((task + 1) * kTokensPerTask, tokens);
    for (std::int64_t t = task * kTokensPerTask; t < end; ++t) visit(t / length, t % length);
  });
}

/// One forward call: check, allocate, then the steps of the formula.
class Forward {
 public:
  Forward(const Layer::Packed& layer, ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
          const AttentionOptions& options, const AttentionOutputs& outputs);
  [[nodiscard]] Status run();

 private:
  [[nodiscard]] Status check() const;
  [[nodiscard]] Status check_inputs() const;
  [[nodiscard]] Status check_cache() const;
  [[nodiscard]] Status check_positions() const;
  [[nodiscard]] Status allocate();
  void resolve_positions();
  [[nodiscard]] RotaryOptions rotary_now() const;

  void write_position(double position, float* row) const;
  template <class Element>
  void add_positions(const Element* x);
  void project_queries();
  void project_keys_and_values();
  void normalise_heads(float* x, std::int64_t length, std::int64_t num_heads, const float* gain);
  [[nodiscard]] Status turn_heads(Buffer<float>& x, std::int64_t num_heads, const RotaryOptions& rotary,
                                  const Buffer<double>& positions);
  [[nodiscard]] Status attend();
  [[nodiscard]] Status append();
  void undo_append();
  void project_output();

  [[nodiscard]] bool appends() const { return inputs_.cache && !inputs_.attend_only; }
  [[nodiscard]] bool projects_keys() const { return !inputs_.attend_only; }
  [[nodiscard]] bool adds_positions() const {
    return layer_.options.position == LayerPosition::table || layer_.options.position == LayerPosition::sinusoidal;
  }
  [[nodiscard]] ConstTokenRows context(ConstArray array, std::int64_t length, std::int64_t width) const {
    return {array, strides_of(inputs_.layout, 1, length, width), inputs_.batch_size, length};
  }
  /// X, with its positions added.
  [[nodiscard]] ConstTokenRows x() const {
    const std::int64_t width = layer_.shape.input_dim;
    if (!adds_positions()) return context(inputs_.x, inputs_.query_length, width);
    return {{placed_x_.data(), Dtype::float32},
            strides_of(Layout::bse, 1, inputs_.query_length, width),
            inputs_.batch_size,
            inputs_.query_length};
  }
  /// Projected rows, heads packed in the last axis.
  [[nodiscard]] TokenRows rows(float* data, std::int64_t length, std::int64_t width) const {
    return {{data, Dtype::float32}, strides_of(heads_layout_, 1, length, width), inputs_.batch_size, length};
  }

  const Layer::Packed& layer_;
  ThreadPool& pool_;
  const LayerInputs& inputs_;
  AttentionInputs attention_inputs_;
  AttentionOptions options_;
  AttentionOutputs outputs_;
  AttentionShape shape_;
  Layout heads_layout_;
  std::int64_t key_length_;
  CacheGrowth growth_;  ///< of the cache by this call

  ProjectionScratch scratch_;
  Buffer<float> placed_x_, query_, key_, value_, heads_;
  Buffer<double> query_positions_, key_positions_;
  Buffer<Sequence> sequences_;
  Buffer<std::int32_t> lengths_before_;
};

Forward::Forward(const Layer::Packed& layer, ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                 const AttentionOptions& options, const AttentionOutputs& outputs)
    : layer_(layer),
      pool_(pool),
      inputs_(inputs),
      options_(options),
      outputs_(outputs),
      // without Wo the heads are Y itself, and lie as Y does
      heads_layout_(layer.shape.output_projection ? Layout::bse : inputs.layout),
      key_length_(inputs.key_context.data || inputs.value_context.data ? inputs.key_length : inputs.query_length) {
  attention_inputs_.mask = masks.mask;
  attention_inputs_.mask_extents = masks.mask_extents;
  attention_inputs_.bias = masks.bias;
  attention_inputs_.bias_extents = masks.bias_extents;
  attention_inputs_.cache = inputs.cache;
  options_.layout = heads_layout_;
  const LayerShape& s = layer.shape;
  shape_ = {inputs.batch_size, s.num_heads, s.num_kv_heads,  inputs.query_length,
            key_length_,       s.head_dim,  s.value_head_dim};
  const bool keys_from_x = !inputs.key_context.data;
  const std::int32_t* x_lengths = keys_from_x ? options.query_lengths : nullptr;
  if (appends()) growth_ = {key_length_, inputs.append_lengths ? inputs.append_lengths : x_lengths};
}

Status Forward::check_inputs() const {
  const LayerShape& s = layer_.shape;
  if (inputs_.layout != Layout::bse && inputs_.layout != Layout::bes)
    return Status::error(StatusCode::invalid_option, "layout of a layer must be BSE or BES");
  for (const ConstArray& array : {inputs_.x, inputs_.key_context, inputs_.value_context})
    if (array.dtype == Dtype::int8) return Status::error(StatusCode::unsupported, "x must be float32 or float16");
  if (inputs_.attend_only && (inputs_.key_context.data || inputs_.value_context.data))
    return Status::error(StatusCode::invalid_option, "attendOnly reads the cache: key and value must not be given");
  if (inputs_.attend_only && !inputs_.cache)
    return Status::error(StatusCode::invalid_option, "attendOnly needs a cache");
  if (inputs_.append_lengths && !appends())
    return Status::error(StatusCode::invalid_option, "appendLengths needs a cache to append to");
  const std::int64_t key_dim = inputs_.key_context.data ? s.key_input_dim : s.input_dim;
  if (projects_keys() && !inputs_.key_context.data && s.key_input_dim != s.input_dim)
    return Status::error(StatusCode::invalid_shape, "without key, keyInputDim must be inputDim (%lld), got %lld",
                         static_cast<Long>(s.input_dim), static_cast<Long>(s.key_input_dim));
  if (projects_keys() && !inputs_.value_context.data && s.value_input_dim != key_dim)
    return Status::error(StatusCode::invalid_shape, "without value, valueInputDim must be that of key (%lld), got %lld",
                         static_cast<Long>(key_dim), static_cast<Long>(s.value_input_dim));
  const std::int64_t widest = std::max(
      {s.input_dim, s.key_input_dim, s.value_input_dim, layer_.query_width(), layer_.heads_width(), s.output_dim});
  const std::int64_t longest = std::max({inputs_.query_length, key_length_, std::int64_t{1}});
  std::int64_t floats = 0, bytes = 0;
  if (Status status = validate_shape(shape_); !status.ok()) return status;
  if (!multiply_sizes(inputs_.batch_size, longest, &floats) || !multiply_sizes(floats, widest, &floats) ||
      !multiply_sizes(floats, kFloat, &bytes))
    return Status::error(StatusCode::invalid_shape, "the inputs are too large to address");
  return {};
}

/// Everything that append() and attention() would refuse, before either is called: the cache's shape first, then the
/// call as it will be when the new keys are in.
Status Forward::check_cache() const {
  const KvCache& cache = *inputs_.cache;
  AttentionInputs held;
  held.cache = &cache;
  if (Status status = validate(shape_, held, {}, {}); !status.ok()) return status;
  if (layer_.options.position == LayerPosition::rotary && cache.shape().rotary)
    return Status::error(StatusCode::invalid_option, "layer and cache are both rotary: one of them must turn the keys");
  if (layer_.options.position == LayerPosition::rotary && grows_with_length(layer_.options.rotary))
    return Status::error(StatusCode::invalid_option,
                         "position.scaling.sequenceLength must be given with a cache: keys that were turned stay so");
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    if (growth_.of(b) < 0 || growth_.of(b) > key_length_)
      return Status::error(StatusCode::invalid_option, "appendLengths[%lld] must be in 0..%lld, got %lld",
                           static_cast<Long>(b), static_cast<Long>(key_length_), static_cast<Long>(growth_.of(b)));
  return {};
}

Status Forward::check() const {
  if (Status status = check_inputs(); !status.ok()) return status;
  if (inputs_.cache) {
    if (Status status = check_cache(); !status.ok()) return status;
  }
  return validate(shape_, attention_inputs_, options_, outputs_, growth_);
}

Status Forward::allocate() {
  const std::int64_t query_tokens = inputs_.batch_size * inputs_.query_length;
  const std::int64_t key_tokens = projects_keys() ? inputs_.batch_size * key_length_ : 0;
  const bool through_heads = layer_.shape.output_projection && outputs_.output.data;
  const struct {
    Buffer<float>* buffer;
    std::int64_t count;
  } wanted[] = {{&placed_x_, adds_positions() ? query_tokens * layer_.shape.input_dim : 0},
                {&query_, query_tokens * layer_.query_width()},
                {&key_, key_tokens * layer_.key_width()},
                {&value_, key_tokens * layer_.value_width()},
                {&heads_, through_heads ? query_tokens * layer_.heads_width() : 0}};
  for (const auto& want : wanted)
    if (!want.buffer->allocate(want.count)) return Status::out_of_memory(want.count * kFloat);
  if (!scratch_.allocate(pool_) || !query_positions_.allocate(query_tokens) || !key_positions_.allocate(key_tokens) ||
      !sequences_.allocate(count_sequences(shape_, options_)) || !lengths_before_.allocate(inputs_.batch_size))
    return Status::out_of_memory((query_tokens + key_tokens) * static_cast<std::int64_t>(sizeof(double)));
  return {};
}

/// Where every query and key stands once the keys are in the cache: query i at i + offset_b, key j at pi_bj.
void Forward::resolve_positions() {
  resolve_sequences(shape_, attention_inputs_, options_, sequences_.data());
  const bool offset_follows_cache = appends() && !options_.query_offset && options_.causal != Causal::upper_left;
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    Sequence& sequence = sequences_[n];
    if (offset_follows_cache) sequence.offset += growth_.of(n);
    double* positions = query_positions_.data() + sequence.batch * inputs_.query_length + sequence.query_begin;
    for (std::int64_t i = 0; i < sequence.num_queries; ++i) positions[i] = static_cast<double>(i + sequence.offset);
  }
  if (!projects_keys()) return;
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t first = appends() ? inputs_.cache->appended(n) : 0;
    const std::int64_t count = options_.cu_seq_lens_key ? sequence.key_length : key_length_;
    double* positions = key_positions_.data() + sequence.batch * key_length_ + sequence.key_begin;
    for (std::int64_t j = 0; j < count; ++j) positions[j] = static_cast<double>(first + j);
  }
}

Status Forward::check_positions() const {
  if (layer_.options.position != LayerPosition::table) return {};
  for (std::int64_t n = 0; n < sequences_.size(); ++n) {
    const Sequence& sequence = sequences_[n];
    const std::int64_t first = sequence.offset, end = first + sequence.query_length;
    if (sequence.query_length > 0 && (first < 0 || end > layer_.options.position_rows))
      return Status::error(StatusCode::invalid_option,
                           "the position table has rows 0..%lld, sequence %lld stands at %lld..%lld",
                           static_cast<Long>(layer_.options.position_rows - 1), static_cast<Long>(n),
                           static_cast<Long>(first), static_cast<Long>(end - 1));
  }
  return {};
}

RotaryOptions Forward::rotary_now() const {
  RotaryOptions rotary = layer_.options.rotary;
  if (grows_with_length(rotary)) {
    for (std::int64_t i = 0; i < query_positions_.size(); ++i)
      rotary.sequence_length = std::max(rotary.sequence_length, query_positions_[i] + 1.0);
    for (std::int64_t j = 0; j < key_positions_.size(); ++j)
      rotary.sequence_length = std::max(rotary.sequence_length, key_positions_[j] + 1.0);
  }
  return rotary;
}

/// What is added to a token of X at `position`: nothing outside the table, where only padding may stand.
void Forward::write_position(double position, float* row) const {
  const LayerOptions& options = layer_.options;
  const std::int64_t width = layer_.shape.input_dim;
  if (options.position == LayerPosition::sinusoidal)
    return sinusoidal_row(position, width, options.sinusoidal_split, options.sinusoidal_base, row);
  const auto p = static_cast<std::int64_t>(position);
  if (p >= 0 && p < options.position_rows)
    std::copy_n(layer_.position_table.data() + p * width, width, row);
  else
    std::fill_n(row, width, 0.0f);
}

/// X + positions, as BSE.
template <class Element>
void Forward::add_positions(const Element* x) {
  const std::int64_t width = layer_.shape.input_dim, length = inputs_.query_length;
  const Strides strides = strides_of(inputs_.layout, 1, length, width);
  for_each_token(pool_, inputs_.batch_size, length, [&](std::int64_t b, std::int64_t s) {
    const Element* x_bs = x + b * strides.batch + s * strides.position;
    float* placed = placed_x_.data() + (b * length + s) * width;
    write_position(query_positions_[b * length + s], placed);
    for (std::int64_t f = 0; f < width; ++f) placed[f] += load_element(x_bs + f * strides.feature);
  });
}

void Forward::normalise_heads(float* x, std::int64_t length, std::int64_t num_heads, const float* gain) {
  const LayerOptions& options = layer_.options;
  const std::int64_t head_dim = layer_.shape.head_dim;
  if (options.qk_norm == QkNorm::none) return;
  const Strides strides = strides_of(heads_layout_, num_heads, length, head_dim);
  for_each_token(pool_, inputs_.batch_size, length, [&](std::int64_t b, std::int64_t s) {
    for (std::int64_t h = 0; h < num_heads; ++h)
      normalise(x + b * strides.batch + h * strides.head + s * strides.position, strides.feature, head_dim,
                options.qk_norm, options.qk_norm_epsilon, gain);
  });
}

Status Forward::turn_heads(Buffer<float>& x, std::int64_t num_heads, const RotaryOptions& rotary,
                           const Buffer<double>& positions) {
  const std::int64_t length = positions.size() / std::max<std::int64_t>(inputs_.batch_size, 1);
  return rotary_embedding_at(pool_, heads_layout_, inputs_.batch_size, num_heads, length, layer_.shape.head_dim, rotary,
                             {x.data(), Dtype::float32}, positions.data(), {x.data(), Dtype::float32});
}

void Forward::project_queries() {
  const std::int64_t length = inputs_.query_length;
  layer_.query.apply(pool_, scratch_, x(), rows(query_.data(), length, layer_.query_width()));
  normalise_heads(query_.data(), length, layer_.shape.num_heads, layer_.query_gain.data());
}

void Forward::project_keys_and_values() {
  const LayerShape& s = layer_.shape;
  const ConstTokenRows keys =
      inputs_.key_context.data ? context(inputs_.key_context, key_length_, s.key_input_dim) : x();
  const ConstTokenRows values =
      inputs_.value_context.data ? context(inputs_.value_context, key_length_, s.value_input_dim) : keys;
  layer_.key.apply(pool_, scratch_, keys, rows(key_.data(), key_length_, layer_.key_width()));
  layer_.value.apply(pool_, scratch_, values, rows(value_.data(), key_length_, layer_.value_width()));
  normalise_heads(key_.data(), key_length_, s.num_kv_heads, layer_.key_gain.data());
}

Status Forward::append() {
  KvCache& cache = *inputs_.cache;
  for (std::int64_t b = 0; b < inputs_.batch_size; ++b)
    lengths_before_[b] = static_cast<std::int32_t>(cache.appended(b));
  return cache.append(pool_, heads_layout_, key_length_, {key_.data(), Dtype::float32}, {value_.data(), Dtype::float32},
                      growth_.gains);
}

Status Forward::attend() {
  attention_inputs_.query.data = query_.data();
  attention_inputs_.key.data = key_.data();
  attention_inputs_.value.data = value_.data();
  AttentionOutputs outputs = outputs_;
  if (heads_.size() > 0) outputs.output = {heads_.data(), Dtype::float32};
  return inputs_.cache ? inputs_.cache->attend(pool_, shape_, attention_inputs_, options_, outputs)
                       : attention(pool_, shape_, attention_inputs_, options_, outputs);
}

/// A ring that has dropped tokens for the new ones cannot go back; then the tokens stay.
void Forward::undo_append() { (void)inputs_.cache->rewind_each(lengths_before_.data()); }

void Forward::project_output() {
  const LayerShape& s = layer_.shape;
  const std::int64_t length = inputs_.query_length;
  const TokenRows heads = rows(heads_.data(), length, layer_.heads_width());
  const TokenRows y{outputs_.output, strides_of(inputs_.layout, 1, length, s.output_dim), inputs_.batch_size, length};
  layer_.output.apply(pool_, scratch_,
                      {{heads.array.data, heads.array.dtype}, heads.strides, heads.batch_size, heads.length}, y);
}

Status Forward::run() {
  if (Status status = check(); !status.ok()) return status;
  if (Status status = allocate(); !status.ok()) return status;
  resolve_positions();
  if (Status status = check_positions(); !status.ok()) return status;

  const LayerShape& s = layer_.shape;
  if (adds_positions() && inputs_.x.dtype == Dtype::float32) add_positions(static_cast<const float*>(inputs_.x.data));
  if (adds_positions() && inputs_.x.dtype == Dtype::float16)
    add_positions(static_cast<const std::uint16_t*>(inputs_.x.data));
  project_queries();
  if (projects_keys()) project_keys_and_values();
  if (layer_.options.position == LayerPosition::rotary) {
    const RotaryOptions rotary = rotary_now();
    if (Status status = turn_heads(query_, s.num_heads, rotary, query_positions_); !status.ok()) return status;
    if (Status status = turn_heads(key_, s.num_kv_heads, rotary, key_positions_); !status.ok()) return status;
  }
  if (appends())
    if (Status status = append(); !status.ok()) return status;
  if (Status status = attend(); !status.ok()) {
    if (appends()) undo_append();
    return status;
  }
  if (heads_.size() > 0) project_output();
  return {};
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- public API

Layer::Layer(std::unique_ptr<Packed> packed) : packed_(std::move(packed)) {}
Layer::~Layer() = default;

Status Layer::create(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options,
                     std::unique_ptr<Layer>* layer) {
  if (Status status = check_layer_shape(shape); !status.ok()) return status;
  if (Status status = check_weights(shape, weights); !status.ok()) return status;
  if (Status status = check_layer_options(shape, options); !status.ok()) return status;

  std::unique_ptr<Packed> packed(new (std::nothrow) Packed);
  if (!packed) return Status::out_of_memory(sizeof(Packed));
  packed->shape = shape;
  packed->options = options;
  const bool table = options.position == LayerPosition::table;
  const Status steps[] = {
      packed->query.create(weights.query, shape.input_dim, packed->query_width()),
      packed->key.create(weights.key, shape.key_input_dim, packed->key_width()),
      packed->value.create(weights.value, shape.value_input_dim, packed->value_width()),
      shape.output_projection ? packed->output.create(weights.output, packed->heads_width(), shape.output_dim)
                              : Status{},
      keep(options.query_gain, 1, shape.head_dim, &packed->query_gain),
      keep(options.key_gain, 1, shape.head_dim, &packed->key_gain),
      keep(table ? options.position_table : nullptr, options.position_rows, shape.input_dim, &packed->position_table)};
  for (const Status& step : steps)
    if (!step.ok()) return step;
  layer->reset(new (std::nothrow) Layer(std::move(packed)));
  return *layer ? Status{} : Status::out_of_memory(sizeof(Layer));
}

Status Layer::forward(ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                      const AttentionOptions& attention, const AttentionOutputs& outputs) const {
  return Forward(*packed_, pool, inputs, masks, attention, outputs).run();
}

const LayerShape& Layer::shape() const { return packed_->shape; }

std::int64_t Layer::bytes() const {
  const Packed& p = *packed_;
  return p.query.bytes() + p.key.bytes() + p.value.bytes() + p.output.bytes() +
         kFloat * (p.query_gain.size() + p.key_gain.size() + p.position_table.size());
}

}  // namespace headwise
