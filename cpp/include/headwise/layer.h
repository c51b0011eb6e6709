#pragma once

#include <cstdint>
#include <memory>

#include "headwise/attention.h"
#include "headwise/backward.h"
#include "headwise/position.h"

namespace headwise {

enum class QkNorm : std::int32_t {
  none = 0,
  rms = 1,  ///< x / sqrt(mean(x^2) + epsilon) * gain
  l2 = 2,   ///< x / max(|x|, epsilon) * gain
};

enum class LayerPosition : std::int32_t {
  none = 0,
  table = 1,       ///< rows of a learned table are added to X
  sinusoidal = 2,  ///< sines and cosines are added to X
  rotary = 3,      ///< queries and keys are turned by their positions
};

/// The multi-head layer
///
///     Q = X Wq + bq,  K = C Wk + bk,  V = C' Wv + bv        C and C' default to X
///     Q, K = norm per head, then rotary                     if asked for
///     Y = concat over heads of attention(Q, K, V) Wo + bo
///
/// Positions are those of attention(): query i stands at i + offset_b, key j at pi_bj. Masks, rotary and table use the
/// same offset.
struct LayerShape {
  std::int64_t input_dim = 1;        ///< width of X
  std::int64_t key_input_dim = 1;    ///< width of C
  std::int64_t value_input_dim = 1;  ///< width of C'
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t value_head_dim = 1;
  std::int64_t output_dim = 1;  ///< width of Y; num_heads * value_head_dim without output projection
  bool output_projection = true;
};

/// A weight W [in, out] and its bias [out]; null is no bias. Element (i, o) is weight[i * in_stride + o * out_stride].
/// The strides describe a slice of packed weights, or a weight stored [out, in], without a copy.
struct LinearWeights {
  ConstArray weight{};  ///< float32, float16 or bfloat16; so is the bias. `linear` also takes int8
  std::int64_t in_stride = 0, out_stride = 1;
  ConstArray bias{};
  const float* scales = nullptr;  ///< int8: [out]. Element (i, o) is multiplied by scales[o]. They are finite
};

/// The weights are copied at creation.
struct LayerWeights {
  LinearWeights query{};   ///< [input_dim, num_heads * head_dim]
  LinearWeights key{};     ///< [key_input_dim, num_kv_heads * head_dim]
  LinearWeights value{};   ///< [value_input_dim, num_kv_heads * value_head_dim]
  LinearWeights output{};  ///< [num_heads * value_head_dim, output_dim]; absent without output projection
};

struct LayerOptions {
  QkNorm qk_norm = QkNorm::none;
  float qk_norm_epsilon = 1e-6f;
  const float* query_gain = nullptr;  ///< [head_dim], copied; null is 1
  const float* key_gain = nullptr;
  LayerPosition position = LayerPosition::none;
  /// table: [position_rows, input_dim], copied. Row p is added to the token of X at position p, before the projections.
  /// Keys and values that come from X therefore have it too. So it is for sinusoidal, which has a row for every
  /// position.
  const float* position_table = nullptr;
  std::int64_t position_rows = 0;
  SinusoidalSplit sinusoidal_split = SinusoidalSplit::interleaved;
  double sinusoidal_base = 10000.0;
  /// How the weights are kept: float32, float16, bfloat16, or int8 with one scale for each output. They are rounded at
  /// creation and at updates. Gradients are those of the rounded weights.
  Dtype weight_dtype = Dtype::float32;
  /// rotary, with its arrays copied. Dynamic ntk and longrope with sequence_length 0 use the call's highest position
  /// + 1. They then refuse caches, whose keys were turned for another length.
  RotaryOptions rotary{};
};

/// What a call overwrites inside of a layer: queries and keys after norm and rotary embedding, values, and the heads
/// after their gain. Heads of keys and values are kv heads, and their rows are those of the call, which a cache then
/// stores. The mean is that of a head's rows over the batch, without padding. A row is computed as if the data had come
/// about by itself. AttentionInputs::probs overwrites weights. Not with `saved`.
struct LayerPatches {
  Patch query{}, key{}, value{}, head_outputs{};
};

/// What a call shows of the inside of a layer. Queries and keys are shown after norm and rotary embedding.
struct LayerViews : AttentionViews {
  View contributions;  ///< head_outputs times the head's rows of Wo, width output_dim; needs an output projection
};

struct LayerInputs {
  Layout layout = Layout::bse;  ///< bse: X [B, Sq, I]; bes: X [B, I, Sq]; contexts and Y likewise
  std::int64_t batch_size = 1, query_length = 0;
  std::int64_t key_length = 0;  ///< of the contexts; query_length if keys come from x; ignored without contexts
  ConstArray x{};               ///< float32 or float16; so are the contexts
  ConstArray key_context{};     ///< null: X
  ConstArray value_context{};   ///< null: the key context
  /// Keys and values are appended to the cache. The queries then attend to all that it holds. If the call fails the
  /// cache is as before, unless it is a ring that has dropped tokens for the new ones.
  KvCache* cache = nullptr;
  bool attend_only = false;  ///< with a cache: append nothing, attend to what it holds (cross-attention)
  /// [B], the number of leading tokens to append; null: query_lengths if keys come from X, else all.
  const std::int32_t* append_lengths = nullptr;
  LayerPatches patches{};
  /// [B, Sq]: where the tokens of X stand, for the layer's own positions and those of a rotary cache; null: at their
  /// indices. Queries stand there, and keys that come from X. Masks, windows and ALiBi go on by index.
  TokenPositions positions{};
  /// [planes, B, Skv], with as many planes as `positions`: where the tokens of the key context stand. It needs both,
  /// and a layer or cache that turns keys.
  const std::int32_t* key_positions = nullptr;
};

struct Forward;

/// What a call of forward kept for its gradient: projected queries, keys and values, heads and lse. It refers to the
/// arrays of that call (X, contexts, mask, bias, lists, formulas), which must stay as they are, and to the layer.
class SavedForward {
 public:
  ~SavedForward();
  SavedForward(const SavedForward&) = delete;
  SavedForward& operator=(const SavedForward&) = delete;
  [[nodiscard]] std::int64_t bytes() const;

 private:
  friend class Layer;
  explicit SavedForward(std::unique_ptr<Forward> forward);
  std::unique_ptr<Forward> forward_;
};

/// The gradient of LinearWeights. Null is not wanted. Element (i, o) is weight[i * in_stride + o * out_stride]. No two
/// elements may lie in one place.
struct LinearWeightGradients {
  float* weight = nullptr;
  std::int64_t in_stride = 0, out_stride = 1;
  float* bias = nullptr;
};

/// What Layer::backward reads beside the saved forward.
struct LayerBackwardInputs {
  ConstArray output_gradient;                         ///< like Y, float32 or float16
  const ScoreDerivative* score_derivative = nullptr;  ///< given if and only if the call had a score formula
  const float* lse_gradient = nullptr;                ///< [B, num_heads, Sq], of a loss that reads lse; null: 0
};

/// What Layer::backward computes, and where it writes it: float32. Null is not wanted. Everything is overwritten.
struct LayerGradients {
  float* input = nullptr;          ///< like X
  float* key_context = nullptr;    ///< like the key context; with the part of the values if they have no other
  float* value_context = nullptr;  ///< like the value context
  LinearWeightGradients query_weights{}, key_weights{}, value_weights{}, output_weights{};
  float* query_gain = nullptr;  ///< [head_dim], also if the layer has none; needs a norm
  float* key_gain = nullptr;
  float* position_table = nullptr;  ///< [position_rows, input_dim]
  /// Those of the attention inside of the layer. Query, key and value are ignored.
  BackwardOutputs attention{};
};

/// Other weights for a layer. What is null stays as it is.
struct LayerUpdate {
  LayerWeights weights{};
  const float* query_gain = nullptr;  ///< only if the layer was made with one; so are the next two
  const float* key_gain = nullptr;
  const float* position_table = nullptr;
};

/// A layer with its weights packed for the kernel. Calls on one pool must not overlap. Calls on several pools may.
///
/// A layer with sinusoidal or rotary positions keeps the sines and cosines of the positions that its calls have needed,
/// up to 32 MiB, and 64 positions at a time. Positions from 32,768 on are not kept, nor are the angles of a dynamic ntk
/// that follows the length of the call. What is kept changes no bit of any result.
class Layer {
 public:
  [[nodiscard]] static Status create(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options,
                                     std::unique_ptr<Layer>* layer);
  ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Of `masks` only mask, bias and probs are read. `attention.layout` and `attention.kv_layout` are ignored.
  /// `outputs.output` is Y [B, Sq, O] (bes: [B, O, Sq]), or null if it is not wanted. The other outputs are those of
  /// attention(). A ragged batch must not have a cache. Scratch: the projected queries, keys, values and heads. A
  /// forward runs three parallel loops: one from X to queries, keys and values, attention, and one from heads to Y.
  /// Attention has a second one if keys are split, and the cache one more.
  /// @param saved  if not null, it gets what `backward` needs. Such a call must not have a cache.
  [[nodiscard]] Status forward(ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                               const AttentionOptions& attention, const AttentionOutputs& outputs,
                               std::unique_ptr<SavedForward>* saved = nullptr, const LayerViews& views = {}) const;

  /// The gradient of a call of forward. A token whose gradient is 0 adds nothing to a weight, whatever it holds, and a
  /// head whose gradient is 0 nothing to a norm. The bits do not depend on the number of threads.
  [[nodiscard]] Status backward(ThreadPool& pool, const SavedForward& saved, const LayerBackwardInputs& inputs,
                                const LayerGradients& gradients) const;

  /// Packs other weights of the same shapes. It needs no memory. What was saved before must not be used after it.
  [[nodiscard]] Status update(const LayerUpdate& update);

  [[nodiscard]] const LayerShape& shape() const;
  [[nodiscard]] std::int64_t bytes() const;  ///< of packed weights, tables, and rows of positions

  struct Packed;

 private:
  explicit Layer(std::unique_ptr<Packed> packed);
  std::unique_ptr<Packed> packed_;
};

}  // namespace headwise
