#pragma once

#include <cstdint>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/layer.h"
#include "headwise/thread_pool.h"
#include "layer/forward.h"
#include "layer/projection.h"
#include "layer/weight_gradient.h"

namespace headwise {

/// One call of the gradient: the steps of Forward in reverse.
///
///     dH = dY Wo^T                                        H: the heads
///     dQ, dK, dV = gradients of attention
///     dQ, dK = through rotary embedding and norm
///     dX = dQ Wq^T + dK Wk^T + dV Wv^T                    or those of the contexts
///     dW = (what was projected)^T (gradient of the result)
class LayerBackward {
 public:
  LayerBackward(const Forward& forward, ThreadPool& pool, const LayerBackwardInputs& inputs,
                const LayerGradients& gradients);
  [[nodiscard]] Error run();

 private:
  /// A projection on its way back.
  struct Way {
    const Projection* projection = nullptr;  ///< null: the layer has none
    ConstTokenRows tokens;                   ///< what it read
    ConstTokenRows gradient;                 ///< of what it gave
    std::int64_t in = 0, out = 0;
    LinearWeightGradients wanted;
    TokenRows target;   ///< the gradient of the tokens; a null array is not wanted
    bool adds = false;  ///< whether an earlier projection has written the target
    Projection back;
    WeightGradient weight;
  };

  [[nodiscard]] Error check() const;
  [[nodiscard]] Error allocate();
  [[nodiscard]] Error attend();
  void take_heads_back();
  void take_heads_back(const TokenRows& gradient, std::span<const float> raw, const HeadSteps& steps,
                       std::int64_t num_heads, float* gain_gradient);
  void add_to_table();

  [[nodiscard]] float* worker_scratch(int worker) {
    return scratch_.data() + worker * (scratch_.size() / pool_.size());
  }
  [[nodiscard]] TokenRows tokens_of(float* array, std::int64_t length, std::int64_t width) const;

  const Forward& forward_;
  const Layer::Packed& layer_;
  ThreadPool& pool_;
  const LayerBackwardInputs& inputs_;
  const LayerGradients& gradients_;

  Arrays arrays_;                                 ///< those that follow
  std::span<float> query_, key_, value_, heads_;  ///< gradients
  std::span<float> input_;                        ///< of X, if only the position table needs it
  std::span<double> gain_parts_;

  Buffer<float> scratch_;
  Way output_way_, query_way_, key_way_, value_way_;
};

}  // namespace headwise
