#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "headwise/arrival.h"
#include "headwise/attention.h"

namespace headwise {

/// Inputs that the calling thread copies while the other threads begin. Then it makes the arrays of the results.
class MeanwhileCopies : public Arrival {
 public:
  /// Copies the share [begin, end) of `pairs` of every array.
  using Copy = void (*)(double begin, double end, double pairs);
  using MakeResults = void (*)();

  MeanwhileCopies(Copy copy, MakeResults make_results) : copy_(copy), make_results_(make_results) {}

  /// Prepares for a call none of whose inputs has been copied. False if the inputs do not lie pair by pair, or if they
  /// are too small for an early start.
  [[nodiscard]] bool expect(const AttentionShape& shape, const AttentionOptions& options) {
    pairs_ = shape.batch_size * shape.num_kv_heads;
    const std::int64_t group = pairs_ > 0 ? shape.num_heads / shape.num_kv_heads : 0;
    const std::int64_t floats =
        group * shape.query_length * shape.head_dim + shape.key_length * (shape.head_dim + shape.value_dim);
    const std::int64_t pair_bytes = floats * static_cast<std::int64_t>(sizeof(float));
    const Layout layout = options.layout, kv_layout = options.kv_layout.value_or(layout);
    if (layout != Layout::bhsd || kv_layout != Layout::bhsd || pairs_ < 2 || pairs_ * pair_bytes < kLeastBytes)
      return false;
    step_ = std::max<std::int64_t>(kStepBytes / pair_bytes, 1);
    arrived_.store(0, std::memory_order_relaxed);
    return true;
  }

  void complete() override {
    for (std::int64_t begin = 0; begin < pairs_; begin += step_) {
      const std::int64_t end = std::min(begin + step_, pairs_);
      copy_(static_cast<double>(begin), static_cast<double>(end), static_cast<double>(pairs_));
      {
        const std::lock_guard lock(mutex_);
        arrived_.store(end, std::memory_order_release);
      }
      came_.notify_all();
    }
    make_results_();
  }

  void wait_for(std::int64_t pair) override {
    const std::int64_t last = std::min(pair, pairs_ - 1);  // nothing arrives after the last pair
    if (has(last)) return;
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this, last] { return has(last); });
  }

 private:
  [[nodiscard]] bool has(std::int64_t pair) const { return pair < arrived_.load(std::memory_order_acquire); }

  /// Fewer bytes are copied faster than threads wake.
  static constexpr std::int64_t kLeastBytes = 1 << 18;
  /// Bytes that are copied between two notifications.
  static constexpr std::int64_t kStepBytes = 1 << 16;

  const Copy copy_;
  const MakeResults make_results_;
  std::int64_t pairs_ = 0, step_ = 1;
  std::atomic<std::int64_t> arrived_ = 0;
  std::mutex mutex_;
  std::condition_variable came_;
};

}  // namespace headwise
