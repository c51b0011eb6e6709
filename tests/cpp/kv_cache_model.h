#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headwise/kv_cache.h"
#include "kv_tokens.h"

namespace headwise {

/// Draws a number in 0..most.
using Upto = std::function<std::int64_t(std::int64_t most)>;

/// A batch of a cache: the tokens it holds or has dropped, in order. A number tells the batch of the test's tokens too.
using Appended = std::vector<std::int64_t>;

/// A cache of a random shape and its forks, with what a list of positions would do.
class KvCacheModel {
 public:
  /// @param seed  of the tokens
  KvCacheModel(const Upto& upto, std::uint32_t seed);
  /// Runs a random operation on one of the caches. Fails the running test if a cache then holds other rows than its
  /// list.
  void step(const std::string& after);

  struct Pair {
    std::unique_ptr<KvCache> cache;
    std::vector<Appended> model;  ///< [B]
  };

 private:
  Upto upto_;
  KvCacheShape shape_;
  Tokens tokens_;
  std::vector<Pair> pairs_;
};

}  // namespace headwise
