#pragma once

#include <cstdint>
#include <memory>

#include "headwise/attention.h"
#include "headwise/position.h"

namespace headwise {

enum class QkNorm : std::int32_t { none = 0, rms = 1, l2 = 2 };
enum class LayerPosition : std::int32_t { none = 0, table = 1 /* added to X: learned or sinusoidal */, rotary = 2 };

/// The multi-head layer Y = concat(heads) Wo + bo with Q = X Wq + bq, K = C Wk + bk, V = C' Wv + bv.
struct LayerShape {
  std::int64_t input_dim = 1;        ///< width of X
  std::int64_t key_input_dim = 1;    ///< width of the key context
  std::int64_t value_input_dim = 1;  ///< width of the value context
  std::int64_t num_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 1;         ///< modelDim / numHeads
  std::int64_t value_head_dim = 1;
  std::int64_t output_dim = 1;       ///< width of Y; num_heads * value_head_dim without output projection
  bool output_projection = true;
};

/// Row-major [in, out] float32; biases may be null. Packed (copied) at creation.
struct LayerWeights {
  const float *wq, *bq;  ///< [input_dim, num_heads * head_dim]
  const float *wk, *bk;  ///< [key_input_dim, num_kv_heads * head_dim]
  const float *wv, *bv;  ///< [value_input_dim, num_kv_heads * value_head_dim]
  const float *wo, *bo;  ///< [num_heads * value_head_dim, output_dim]
};

struct LayerOptions {
  QkNorm qk_norm = QkNorm::none;  ///< per head, before rotary
  float qk_norm_epsilon = 1e-6f;
  const float* query_gain = nullptr;  ///< [head_dim], copied; null is 1
  const float* key_gain = nullptr;
  LayerPosition position = LayerPosition::none;
  const float* position_table = nullptr;  ///< table: [position_rows, input_dim], copied; added to X and, in
                                          ///< self-attention, thereby to the contexts
  std::int64_t position_rows = 0;
  RotaryOptions rotary;  ///< rotary: on Q and K; keys at 0.., queries at query_offset..; see LayerInputs
};

struct LayerInputs {
  Layout layout = Layout::bse;  ///< bse: X [B, Sq, I]; bes: X [B, I, Sq]
  std::int64_t batch_size = 1, query_length = 0, key_length = 0;
  const float* x = nullptr;
  const float* key_context = nullptr;    ///< null: x (then key_length = query_length)
  const float* value_context = nullptr;  ///< null: key_context
  KvCache* cache = nullptr;              ///< append the projected keys and values, then attend to the whole cache
  bool attend_only = false;              ///< with a cache: cross-attention to what it holds, nothing is projected
  /// First position of x per batch [B]; null: 0, or tokens ever appended when there is a cache.
  const std::int32_t* position_offset = nullptr;
};

/// A layer with its weights packed for the kernel. Immutable after creation; calls on one pool do not overlap.
class Layer {
 public:
  [[nodiscard]] static Status create(const LayerShape& shape, const LayerWeights& weights, const LayerOptions& options,
                                     std::unique_ptr<Layer>* layer);
  ~Layer();

  /// `attention.layout` is ignored (heads stay packed inside); outputs.output is Y [B, Sq, O] (bes: [B, O, Sq])
  /// float32; the other outputs are those of attention().
  [[nodiscard]] Status forward(ThreadPool& pool, const LayerInputs& inputs, const AttentionInputs& masks,
                               const AttentionOptions& attention, const AttentionOutputs& outputs) const;

  [[nodiscard]] const LayerShape& shape() const;
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct Packed;
  explicit Layer(std::unique_ptr<Packed> packed);
  std::unique_ptr<Packed> packed_;
};

}  // namespace headwise
