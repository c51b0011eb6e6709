#pragma once

#include <cstdint>
#include <vector>

#include "headwise/attention.h"

namespace headwise {

using Indices = std::vector<std::int32_t>;

/// A patch with data for the chosen heads and rows; a null pointer means all. The arguments must outlive it.
[[nodiscard]] inline Patch patch_with(const std::vector<float>& data, const Indices* heads = nullptr,
                                      const Indices* rows = nullptr) {
  Patch patch;
  patch.data = data.data();
  if (heads) patch.selection.heads = heads->data(), patch.selection.num_heads = std::ssize(*heads);
  if (rows) patch.selection.queries = rows->data(), patch.selection.num_queries = std::ssize(*rows);
  return patch;
}

/// A patch of the chosen heads and rows with their mean.
[[nodiscard]] inline Patch mean_patch(const Indices* heads = nullptr, const Indices* rows = nullptr) {
  static const std::vector<float> none;
  Patch patch = patch_with(none, heads, rows);
  patch.data = nullptr;
  patch.mean = true;
  return patch;
}

}  // namespace headwise
